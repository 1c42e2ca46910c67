"""A backend that runs ATen graphs as they are and shows them to whoever wants to look."""

from collections.abc import Callable
from typing import Any

import torch

# Private, checked on torch 2.11 and 2.13: AOTAutograd as a backend.
from torch._dynamo.backends.common import aot_autograd

Look = Callable[[str, torch.fx.GraphModule], None]


def watching_backend(look: Look) -> Callable[..., Any]:
    """Make a backend for torch.compile that compiles nothing.

    Args:
        look: called with each graph and its kind: "forward", "backward", or "inference" for a
            graph without a gradient.
    """

    def watcher(kind: str) -> Callable[..., Any]:
        def compile_graph(graph: torch.fx.GraphModule, inputs: Any) -> Any:
            look(kind, graph)
            return _boxed(graph)

        return compile_graph

    forward, backward, inference = map(watcher, ("forward", "backward", "inference"))
    return aot_autograd(fw_compiler=forward, bw_compiler=backward, inference_compiler=inference)


def _boxed(graph: torch.fx.GraphModule) -> Callable[[list[Any]], Any]:
    """Give a graph the calling convention that AOTAutograd wants: one list of arguments."""

    def call(arguments: list[Any]) -> Any:
        return graph(*arguments)

    call._boxed_call = True  # type: ignore[attr-defined]
    return call
