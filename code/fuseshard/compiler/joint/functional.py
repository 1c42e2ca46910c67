"""Functionalisation by hand: a graph that writes in place becomes one that doesn't.

Two ideas are enough. Memory has a *newest value*, and a write replaces the value instead of
changing the memory. A view is not memory but a *recipe*, a chain of operators from the memory's
newest value; whoever reads the view follows the chain, and whoever writes to it puts the written
part back, one link at a time.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx

aten = torch.ops.aten

PUT_BACK: dict[Any, Any] = {
    aten.slice.Tensor: aten.slice_scatter.default,
    aten.select.int: aten.select_scatter.default,
    aten.diagonal.default: aten.diagonal_scatter.default,
}
"""view -> the operator that puts a new part into the whole; it takes the whole, the part, and what
else the view took"""
OPPOSITE: dict[Any, Any] = {
    aten.t.default: aten.t.default,
    aten.transpose.int: aten.transpose.int,
}
"""view that shows all of the memory -> the view that undoes it"""


def pure(fn: Callable[..., Any], *args: torch.Tensor) -> GraphModule:
    """Trace a function and rewrite the graph so that only its last lines write to memory.

    Args:
        fn: may write in place to its arguments and to views; the views are those of `PUT_BACK`
            and `OPPOSITE`.
        args: its arguments; not modified.

    Returns:
        A graph of pure operators, and one `copy_` for each argument that `fn` wrote to.
    """
    impure = make_fx(fn)(*(arg.detach().clone() for arg in args))
    return Rewriter().rewrite(impure)


@dataclass
class Rewriter:
    """Copies a graph, node by node."""

    graph: Graph = field(default_factory=Graph)
    newest: dict[Node, Node] = field(default_factory=dict)
    """memory, named by the node that first returned it -> its newest value, in the copy"""
    recipes: dict[Node, tuple[Node, tuple[Node, ...]]] = field(default_factory=dict)
    """node -> the memory that it looks at, and the chain of views in between"""

    def rewrite(self, impure: GraphModule) -> GraphModule:
        """Return the pure copy."""
        *nodes, output = impure.graph.nodes
        inputs = {}
        for node in nodes:
            if node.op == "placeholder":
                inputs[node] = self.graph.placeholder(node.name)
                self._own(node, inputs[node])
            elif node.target in PUT_BACK or node.target in OPPOSITE:
                memory, chain = self.recipes[node.args[0]]
                self.recipes[node] = (memory, (*chain, node))
            elif _writes(node):
                self._write(node.args[0], self._call(_without_write(node), node))
                self.recipes[node] = self.recipes[node.args[0]]
            else:
                self._own(node, self._call(node.target, node))
        results = torch.fx.map_arg(output.args[0], self._read)
        for node, argument in inputs.items():
            if self.newest[node] is not argument:
                self.graph.call_function(aten.copy_.default, (argument, self.newest[node]))
        self.graph.output(results)
        return GraphModule(impure, self.graph)

    def _own(self, node: Node, value: Node) -> None:
        """Enter a node that returns memory of its own."""
        self.newest[node] = value
        self.recipes[node] = (node, ())

    def _call(self, target: Any, node: Node) -> Node:
        """Copy a call, with newest values for its arguments."""
        args: Any = torch.fx.map_arg(node.args, self._read)
        kwargs: Any = torch.fx.map_arg(node.kwargs, self._read)
        return self.graph.call_function(target, args, kwargs)

    def _read(self, node: Node) -> Node:
        """Follow the chain from the newest value."""
        memory, chain = self.recipes[node]
        return self._follow(self.newest[memory], chain)

    def _follow(self, value: Node, chain: tuple[Node, ...]) -> Node:
        for view in chain:
            take: Any = view.target
            value = self.graph.call_function(take, (value, *view.args[1:]))
        return value

    def _write(self, node: Node, part: Node) -> None:
        """Make the memory's newest value the one in which this part is new."""
        memory, chain = self.recipes[node]
        for length in reversed(range(len(chain))):
            view = chain[length]
            if view.target in OPPOSITE:
                part = self.graph.call_function(OPPOSITE[view.target], (part, *view.args[1:]))
            else:
                whole = self._follow(self.newest[memory], chain[:length])
                put_back = PUT_BACK[view.target]
                part = self.graph.call_function(put_back, (whole, part, *view.args[1:]))
        self.newest[memory] = part


def _writes(node: Node) -> bool:
    target: Any = node.target
    return node.op == "call_function" and bool(target._schema.is_mutable)


def _without_write(node: Node) -> Any:
    """Find the operator that computes the same without writing: mul for mul_."""
    target: Any = node.target
    name = target._schema.name.split("::")[1].removesuffix("_")
    return getattr(getattr(aten, name), target._overloadname)
