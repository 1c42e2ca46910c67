"""How many graphs a call made Dynamo capture: the question to ask before any timing."""

from collections.abc import Callable
from typing import Any

import torch
from torch import fx

# Private, checked on torch 2.11 and 2.13: Dynamo's own statistics, and backends by their names.
from torch._dynamo import lookup_backend
from torch._dynamo.utils import counters


def graphs_captured(call: Callable[[], object]) -> int:
    """Run something and count the graphs that torch.compile captured meanwhile.

    Args:
        call: what to run, e.g. the first call of a compiled model.

    Returns:
        Number of graphs; 0 when nothing was compiled anew.
    """
    before = counters["stats"]["unique_graphs"]
    call()
    return int(counters["stats"]["unique_graphs"] - before)


class CountingBackend:
    """A backend that counts what it is given, and what is run of it.

    Args:
        inner: name of the backend that does the work.
    """

    def __init__(self, inner: str = "aot_eager") -> None:
        """Start at zero."""
        self._inner: Callable[..., Any] = lookup_backend(inner)
        self.num_graphs = 0
        """graphs compiled"""
        self.num_operations = 0
        """operations in the graphs that have run, by Dynamo's nodes"""

    def __call__(self, graph: fx.GraphModule, inputs: list[torch.Tensor]) -> Callable[..., Any]:
        """Compile a graph, and count when it runs."""
        self.num_graphs += 1
        size = num_operations(graph)
        compiled = self._inner(graph, inputs)

        def counted(*args: Any) -> Any:
            self.num_operations += size
            return compiled(*args)

        return counted


def num_operations(graph: fx.GraphModule) -> int:
    """Count the calls in a graph and in the graphs inside it, such as checkpointed regions.

    Args:
        graph: as Dynamo captured it.
    """
    graphs = [module for module in graph.modules() if isinstance(module, fx.GraphModule)]
    return sum(node.op.startswith("call") for one in graphs for node in one.graph.nodes)
