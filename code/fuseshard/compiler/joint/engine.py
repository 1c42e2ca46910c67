"""What the backward pass of a function with a graph break is made of, with compiled autograd too.

AOTAutograd differentiates each graph for itself, before the backward pass begins; compiled
autograd captures the whole run of the autograd engine, when it begins.
"""

from collections.abc import Callable
from typing import Any

import torch

# Private, checked on torch 2.11 and 2.13: the switch of PyTorch's tutorial on compiled autograd
# that takes a compiler of one's own, and Dynamo's explicit graph break.
from torch._dynamo import graph_break
from torch._dynamo.compiled_autograd import _enable
from torch.fx import GraphModule

from fuseshard.compiler.isolate import isolated
from fuseshard.compiler.joint.examples import rms_norm
from fuseshard.compiler.joint.limits import BACKEND
from fuseshard.compiler.joint.trace import readable


def broken(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Apply RMS norm, break the graph, and sum the sines.

    Args:
        x: [R, D]; not modified.
        weight: [D].

    Returns:
        One number.
    """
    normed = rms_norm(x, weight)
    graph_break()
    return torch.sin(normed).sum()


def compiled_nodes(result: torch.Tensor) -> int:
    """Count the nodes of an autograd graph behind which AOTAutograd's graphs stand.

    Args:
        result: of a compiled function.
    """
    waiting, seen = [result.grad_fn], set()
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            waiting += [parent for parent, _ in node.next_functions]
    return sum(type(node).__name__ == "CompiledFunctionBackward" for node in seen)


def run_backward(*inputs: torch.Tensor) -> tuple[int, list[str]]:
    """Compile `broken`, and run its backward pass under compiled autograd.

    Args:
        inputs: x and weight; the gradients of those that require one are written.

    Returns:
        Backward graphs that AOTAutograd had made, and the graphs that compiled autograd captured.
    """
    compiled = torch.compile(isolated(broken), backend=BACKEND, dynamic=False)
    result = compiled(*inputs)
    graphs: list[str] = []

    def keep(graph: GraphModule, _inputs: Any) -> Callable[..., Any]:
        graphs.append(readable(graph))
        return graph.forward

    with _enable(torch.compile(backend=keep, dynamic=False)):
        result.backward()
    return compiled_nodes(result), graphs
