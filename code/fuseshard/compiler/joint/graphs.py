"""Reading, describing and copying graphs of ATen operators."""

from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node
from torch.multiprocessing.reductions import StorageWeakRef

from fuseshard.compiler.joint.records import Kind, Saved
from fuseshard.compiler.text import clean


def readable(graph: GraphModule) -> str:
    """Print a graph as Python with shapes.

    Args:
        graph: of `Traced` or `Halves`.
    """
    return clean(graph.print_readable(print_output=False))


def op_name(node: Node) -> str:
    """Name the operator of a node without its overload, e.g. aten.addmm; "" for an input.

    Args:
        node: of an ATen graph.
    """
    if node.op != "call_function":
        return ""
    packet = getattr(node.target, "overloadpacket", None)
    return str(packet) if packet is not None else getattr(node.target, "__name__", "")


def num_ops(graph: GraphModule) -> int:
    """Count the operators of a graph, the picking of one result of several left out.

    Args:
        graph: an ATen graph.
    """
    return sum(op_name(node) not in ("", "getitem") for node in graph.graph.nodes)


def is_tangent(node: Node) -> bool:
    """Tell whether a node of a joint graph is the gradient of one of the function's results.

    Args:
        node: of a joint graph.
    """
    return node.op == "placeholder" and "tangents" in str(node.target)


def primals_of(joint: GraphModule) -> list[Node]:
    """List the inputs of the function.

    Args:
        joint: the graph.
    """
    return [node for node in joint.graph.find_nodes(op="placeholder") if not is_tangent(node)]


def results_of(graph: GraphModule) -> list[Any]:
    """List what a graph returns; None where an input has no gradient.

    Args:
        graph: an ATen graph.
    """
    (output,) = graph.graph.find_nodes(op="output")
    results = output.args[0]
    return list(results) if isinstance(results, (list, tuple)) else [results]


def num_bytes(node: Node) -> int:
    """Add up the bytes of what a node returns.

    Args:
        node: of a graph that was traced with shapes.
    """
    parts = node.meta["val"]
    tensors = parts if isinstance(parts, (list, tuple)) else [parts]
    return sum(t.numel() * t.element_size() for t in tensors if isinstance(t, torch.Tensor))


def duplicate(joint: GraphModule) -> GraphModule:
    """Copy a joint graph node by node, so that a partitioner may change the copy.

    copy.deepcopy would also copy what describes the arguments, with a deprecated call of torch's.

    Args:
        joint: not modified.
    """
    graph = Graph()
    results = graph.graph_copy(joint.graph, {})
    (output,) = joint.graph.find_nodes(op="output")
    graph.output(results).meta = dict(output.meta)
    graph.set_codegen(joint.graph._codegen)
    copy = GraphModule(joint, graph)
    copy.meta = dict(joint.meta)
    return copy


def saved_of(joint: GraphModule, nodes: list[Node], inputs: list[torch.Tensor]) -> list[Saved]:
    """Describe tensors of a joint graph; a view counts as the memory that it looks at.

    Args:
        joint: the graph.
        nodes: which of its nodes.
        inputs: what its primals stand for.
    """
    kinds: dict[StorageWeakRef, Kind] = {
        _storage(node): "parameter" if isinstance(value, torch.nn.Parameter) else "input"
        for node, value in zip(primals_of(joint), inputs, strict=True)
    }
    return [
        Saved(
            name=node.name,
            op=op_name(node),
            shape=tuple(node.meta["val"].shape),
            kind=kinds.get(_storage(node), "activation"),
            num_bytes=node.meta["val"].untyped_storage().nbytes(),
        )
        for node in nodes
    ]


def split(joint: GraphModule, saved: Sequence[str], num_outputs: int) -> list[GraphModule]:
    """Copy a joint graph twice: up to what is saved, and from there on.

    Args:
        joint: not modified.
        saved: names of the tensors that pass from one to the other.
        num_outputs: results of the function.

    Returns:
        Forward and backward graph. What both need and nobody saved is in both.

    Raises:
        ValueError: a gradient needs a tensor that can't be computed from what is saved.
    """
    by_name = {node.name: node for node in joint.graph.nodes}
    kept = [by_name[name] for name in saved]
    tangents = [node for node in joint.graph.find_nodes(op="placeholder") if is_tangent(node)]
    results = results_of(joint)
    return [
        _copied(joint, primals_of(joint), [*results[:num_outputs], *kept]),
        _copied(joint, [*kept, *tangents], results[num_outputs:]),
    ]


def _copied(joint: GraphModule, inputs: Sequence[Node], outputs: Sequence[Any]) -> GraphModule:
    """Copy the part of a graph that leads from some nodes to others."""
    graph = Graph()
    copies: dict[Node, Node] = {}
    for node in inputs:
        copies[node] = graph.placeholder(node.name)
        copies[node].meta = node.meta
    for node in joint.graph.nodes:
        is_ready = node.op == "call_function" and all(n in copies for n in node.all_input_nodes)
        if is_ready and node not in copies:
            copies[node] = graph.node_copy(node, copies.__getitem__)
    missing = [node.name for node in outputs if isinstance(node, Node) and node not in copies]
    if missing:
        raise ValueError(
            f"split: {missing} can't be computed from {[node.name for node in inputs]}, must be "
            "(a cut has to lie on every way to the backward pass); save more."
        )
    output = graph.output(tuple(copies.get(n) if isinstance(n, Node) else n for n in outputs))
    # AOTAutograd reads descriptions of the results there; None for each is allowed.
    output.meta["desc"] = [None] * len(outputs)
    graph.eliminate_dead_code()
    return GraphModule(joint, graph)


def _storage(node: Node) -> StorageWeakRef:
    return StorageWeakRef(node.meta["val"].untyped_storage())
