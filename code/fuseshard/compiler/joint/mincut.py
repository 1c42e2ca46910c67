"""A partitioner by hand: what to save for the backward pass, as the cheapest cut of a network.

Every tensor of the forward pass becomes an edge, from its "in" to its "out", as wide as saving it
is expensive. Cutting the edge means saving the tensor. Flow runs from what must not be computed a
second time to what the backward pass needs.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import torch

# Private, checked on torch 2.13: which operators are cheap enough to run twice, a list of names in
# torch's own partitioner, and its merging of equal expressions. Both are read, not rebuilt.
from torch._functorch.compile_utils import fx_graph_cse
from torch._functorch.partitioners import OpTypes, get_default_op_list
from torch.fx import GraphModule, Node

from fuseshard.compiler.joint.graphs import (
    is_tangent,
    num_bytes,
    op_name,
    primals_of,
    results_of,
    split,
)
from fuseshard.compiler.joint.maxflow import Capacities, max_flow
from fuseshard.compiler.joint.records import BACKWARD, SOURCE, Flow, Value
from fuseshard.compiler.joint.trace import Partitioner

NEARER_IS_CHEAPER = 1.1
"""torch's factor for each step away from the backward pass: of two equal tensors, the later one"""
NOT_YET_IN_MEMORY = 2
"""torch's factor for a tensor that fusion would otherwise keep out of memory: write and read"""
SMALLER_BY = 4
"""torch calls an operator a reduction if its result is so many times smaller than its inputs"""
_FAR = 10**9


def network(values: Iterable[Value]) -> Capacities:
    """Lay out the network that is cut.

    Args:
        values: tensors of the forward pass.

    Returns:
        Edge -> capacity. Finite are only the edges from "in" to "out" of one tensor.
    """
    edges: dict[tuple[str, str], float] = {}
    for value in values:
        into, out = f"{value.name} in", f"{value.name} out"
        if value.pinned:
            edges[SOURCE, into] = inf
        edges[into, out] = value.capacity
        for user in value.users:
            edges[out, BACKWARD if user == BACKWARD else f"{user} in"] = inf
    return edges


def cheapest_cut(values: Sequence[Value]) -> tuple[tuple[str, ...], Flow]:
    """Choose what to save.

    Args:
        values: tensors of the forward pass, in order.

    Returns:
        Names of the tensors to save, in order, and the flow that proves that no choice is cheaper.
    """
    flow = max_flow(network(values), SOURCE, BACKWARD)
    cut = {start.removesuffix(" in") for start, _ in flow.cut}
    return tuple(value.name for value in values if value.name in cut), flow


def values_of(
    joint: GraphModule, num_outputs: int, *, static: Collection[str] = (), pin: bool = True
) -> list[Value]:
    """Read off a joint graph what could be saved, at what cost, and what must not run twice.

    Args:
        joint: with equal expressions merged, see `merged`.
        num_outputs: results of the function; the graph's other results are gradients.
        static: names of inputs that live on anyway, so that saving them is free: parameters.
        pin: False lets everything but inputs run twice, for comparison.

    Returns:
        The tensors that don't depend on a tangent, in the order of the graph.
    """
    reader = _Reader.of(joint, num_outputs, static, pin=pin)
    return [reader.value(node) for node in joint.graph.nodes if node in reader.candidates]


def merged(joint: GraphModule) -> GraphModule:
    """Drop what nobody uses and merge equal expressions, as torch does before it cuts.

    Args:
        joint: changed in place.

    Returns:
        The same graph module. After it, what the backward pass would compute again has one node.
    """
    joint.graph.eliminate_dead_code()
    joint.graph = fx_graph_cse(joint.graph)
    return joint


def partitioner(**rules: Any) -> Partitioner:
    """Make of all this a partitioner that AOTAutograd can call.

    Args:
        rules: passed on to `values_of`.
    """

    def by_hand(
        joint: GraphModule,
        _inputs: Any,
        *,
        num_fwd_outputs: int,
        static_lifetime_input_indices: Sequence[int] | None = None,
        **_settings: Any,
    ) -> tuple[GraphModule, GraphModule]:
        merged(joint)
        primals = primals_of(joint)
        static = {primals[index].name for index in static_lifetime_input_indices or ()}
        saved, _ = cheapest_cut(values_of(joint, num_fwd_outputs, static=static, **rules))
        forward, backward = split(joint, saved, num_fwd_outputs)
        return forward, backward

    return by_hand


def num_cheap_operators() -> int:
    """Count the operators that torch lets run twice."""
    return len(get_default_op_list().recomputable_ops)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Reader:
    """What is known of a joint graph before its values are described."""

    ops: OpTypes
    static: Collection[str]
    pin: bool
    candidates: set[Node]
    """nodes that don't depend on a tangent"""
    forward: set[Node]
    """of these, those that the function's own results need"""
    gradients: set[Node]
    """of these, those that are a gradient as they are"""
    distances: dict[Node, int]

    @classmethod
    def of(
        cls, joint: GraphModule, num_outputs: int, static: Collection[str], *, pin: bool
    ) -> "_Reader":
        """Sort the nodes of a joint graph."""
        results = results_of(joint)
        backward = _downstream(n for n in joint.graph.nodes if is_tangent(n))
        candidates = {n for n in joint.graph.nodes if n.op != "output" and n not in backward}
        primals = {n for n in candidates if n.op == "placeholder"}
        forward = _upstream(results[:num_outputs]) | primals
        distances: dict[Node, int] = {}
        for node in reversed(joint.graph.nodes):
            steps = [distances[user] + 1 for user in node.users]
            distances[node] = min([_FAR, *steps]) if node in forward else 0
            if node.op == "output":
                distances[node] = _FAR
        gradients = {n for n in results[num_outputs:] if n in candidates}
        return cls(
            ops=get_default_op_list(),
            static=static,
            pin=pin,
            candidates=candidates,
            forward=forward,
            gradients=gradients,
            distances=distances,
        )

    def value(self, node: Node) -> Value:
        """Describe one tensor."""
        users = [user.name for user in node.users if user in self.candidates]
        if node in self.gradients or any(
            user.op != "output" and user not in self.candidates for user in node.users
        ):
            users.append(BACKWARD)
        tensor = node.meta["val"]
        shape = tuple(tensor.shape) if isinstance(tensor, torch.Tensor) else ()
        return Value(
            name=node.name,
            op=op_name(node),
            shape=shape,
            num_bytes=num_bytes(node),
            distance=self.distances[node],
            capacity=self._capacity(node),
            users=tuple(users),
            pinned=self._pinned(node),
        )

    def _capacity(self, node: Node) -> float:
        if node.name in self.static:
            return 0
        if not isinstance(node.meta["val"], torch.Tensor):
            return inf  # several results at once can't be saved; each of them can
        steps = max(min(self.distances[node], 100), 1)
        weighted = int(num_bytes(node) * NEARER_IS_CHEAPER**steps)
        in_memory = node.op == "placeholder" or not all(
            self._fuses(node, user) for user in node.users
        )
        return weighted if in_memory else weighted * NOT_YET_IN_MEMORY

    def _pinned(self, node: Node) -> str:
        if node.op == "placeholder":
            return "an input"
        name = op_name(node)
        if not self.pin or node not in self.forward or name == "getitem" or self.ops.is_view(node):
            return ""
        if not self.ops.is_recomputable(node):
            return "expensive"
        if self._read_from_memory(node):
            return "has to be in memory"
        sources = [arg for arg in node.args if isinstance(arg, Node)]
        if SMALLER_BY * num_bytes(node) < sum(num_bytes(source) for source in sources):
            return "a reduction"
        return ""

    def _read_from_memory(self, node: Node) -> bool:
        """Tell whether something outside the forward pass reads a tensor without fusing with it."""
        for user in node.users:
            if user not in self.forward and not self._fuses(node, user):
                return True
            if self.ops.is_view(user) and self._read_from_memory(user):
                return True
        return False

    def _fuses(self, maker: Node, user: Node) -> bool:
        if op_name(user) == "aten.cat":
            return True
        return self.ops.is_fusible(maker) and self.ops.is_fusible(user)


def _downstream(nodes: Iterable[Node]) -> set[Node]:
    found, waiting = set(), list(nodes)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += [user for user in node.users if user.op != "output"]
    return found


def _upstream(nodes: Iterable[Any]) -> set[Node]:
    found, waiting = set(), [node for node in nodes if isinstance(node, Node)]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += node.all_input_nodes
    return found
