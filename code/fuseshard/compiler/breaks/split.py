"""Cutting a program at its breaks, by hand: pieces, and the values that cross from one to the next.

A program is an FX graph: straight-line code in which each value has a name and is made once.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from fuseshard.compiler.isolate import isolated


@dataclass(frozen=True, kw_only=True)
class Piece:
    """Operations between two breaks, or one break."""

    is_break: bool
    inputs: tuple[str, ...]
    """values made earlier and used here: what must be handed over"""
    outputs: tuple[str, ...]
    """values made here and used later: what must be kept"""
    run: Callable[..., tuple[Any, ...]]
    """takes the inputs, returns the outputs"""


def trace(fn: Callable[..., Any], breaks: Collection[Callable[..., Any]]) -> fx.Graph:
    """Write a function down as straight-line code, with each break as a single call.

    Args:
        fn: takes tensors; calls operations and the functions in `breaks`, no other.
        breaks: the functions that no graph can hold, known to `fn` as globals.
    """
    return fx.Tracer(autowrap_functions=tuple(breaks)).trace(fn)


def split(program: fx.Graph, breaks: Collection[Callable[..., Any]]) -> list[Piece]:
    """Cut a program at its breaks.

    Args:
        program: straight-line code, from `trace`.
        breaks: the functions that no graph can hold.

    Returns:
        The pieces in their order, none of them empty.
    """
    runs: list[list[fx.Node]] = [[]]
    for node in program.nodes:
        if node.target in breaks:
            runs += [[node], []]  # a break stands alone, and what follows begins anew
        elif node.op not in {"placeholder", "output"}:
            runs[-1].append(node)
    return [piece_of(nodes, is_break=nodes[0].target in breaks) for nodes in runs if nodes]


def run(program: fx.Graph, pieces: Sequence[Piece], *args: Any) -> Any:
    """Run pieces one after the other, passing on by name what later ones need.

    Args:
        program: where the pieces come from; names arguments and result.
        pieces: from `split`.
        args: the program's arguments.
    """
    names = [node.name for node in program.nodes if node.op == "placeholder"]
    values = dict(zip(names, args, strict=True))
    for piece in pieces:
        results = piece.run(*(values[name] for name in piece.inputs))
        values |= zip(piece.outputs, results, strict=True)
    (output,) = (node for node in program.nodes if node.op == "output")
    return fx.node.map_arg(output.args[0], lambda node: values[node.name])


def piece_of(nodes: list[fx.Node], *, is_break: bool) -> Piece:
    """Find what crosses the borders of some nodes, and make them callable.

    Args:
        nodes: neighbours in a program.
        is_break: whether they are a break.
    """
    inside = set(nodes)
    used = dict.fromkeys(value for node in nodes for value in node.all_input_nodes)
    inputs = [value for value in used if value not in inside]
    outputs = [node for node in nodes if not set(node.users) <= inside]
    graph = fx.Graph()
    copies = {value: graph.placeholder(value.name) for value in inputs}
    for node in nodes:
        copies[node] = graph.node_copy(node, copies.__getitem__)
    graph.output(tuple(copies[node] for node in outputs))
    return Piece(
        is_break=is_break,
        inputs=tuple(value.name for value in inputs),
        outputs=tuple(node.name for node in outputs),
        run=fx.GraphModule(torch.nn.Module(), graph),
    )


def library_pieces(fn: Callable[..., Any], *args: Any) -> list[tuple[int, int]]:
    """Count inputs and outputs of each graph that Dynamo makes of a function.

    Args:
        fn: what to compile; a private copy is compiled, and run once.
        args: its arguments.
    """
    counts: list[tuple[int, int]] = []

    def backend(graph: fx.GraphModule, _: list[torch.Tensor]) -> Callable[..., Any]:
        inputs = graph.graph.find_nodes(op="placeholder")
        (output,) = graph.graph.find_nodes(op="output")
        counts.append((len(inputs), len(output.args[0])))
        return graph.forward

    torch.compile(isolated(fn), backend=backend)(*args)
    return counts
