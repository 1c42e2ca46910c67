"""What else goes through the door of the joint graph, and what goes past it.

The transforms of torch.func are traced like any other operators. Compiled autograd doesn't wait at
that door: AOTAutograd differentiates each graph for itself, before the backward pass begins, while
compiled autograd captures the whole run of the autograd engine, when it begins.
"""

from collections.abc import Callable
from typing import Any

import torch

# Private, checked on torch 2.11 and 2.13: what makes a backend of compilers for AOTAutograd's
# graphs, Dynamo's explicit graph break, and the switch of PyTorch's tutorial on compiled autograd
# that takes a compiler of one's own.
from torch._dynamo import graph_break
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.compiled_autograd import _enable
from torch.func import grad, hessian, jacrev, jvp, vmap
from torch.fx import GraphModule
from torch.utils._pytree import tree_leaves

from fuseshard.compiler.isolate import isolated
from fuseshard.compiler.joint.examples import rms_norm
from fuseshard.compiler.joint.graphs import num_ops, readable
from fuseshard.compiler.joint.limits import BACKEND
from fuseshard.compiler.joint.records import Transformed

ROWS, WIDTH = 5, 3
"""sizes of the input: small, because a Hessian has the square of its elements"""

Fn = Callable[..., Any]


def loss(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Sum the squares of RMS norm.

    Args:
        x: [R, D] or [D]; not modified.
        weight: [D].

    Returns:
        One number.
    """
    return rms_norm(x, weight).square().sum()


def transforms() -> dict[str, Callable[[], Fn]]:
    """Return, for each transform, what makes a transformed function of x, [R, D], and a weight."""
    return {
        "grad": lambda: grad(loss),
        "vmap": lambda: vmap(rms_norm, in_dims=(0, None)),
        "vmap(grad)": lambda: vmap(grad(loss, argnums=1), in_dims=(0, None)),
        "jvp": lambda: lambda x, w: jvp(rms_norm, (x, w), (torch.ones_like(x), w)),
        "jacrev": lambda: jacrev(rms_norm),
        "hessian": lambda: lambda x, w: hessian(loss)(x[0], w),
    }


def compile_transform(name: str) -> Transformed:
    """Compile one of `transforms` into one graph, and compare it with eager mode.

    Args:
        name: one of their names.

    Returns:
        What came out.
    """
    make = transforms()[name]

    def fn(x: torch.Tensor, weight: torch.Tensor) -> Any:
        return make()(x, weight)

    generator = torch.Generator().manual_seed(0)
    x, weight = (torch.randn(s, generator=generator) for s in ((ROWS, WIDTH), (WIDTH,)))
    sizes: list[int] = []

    def uncompiled(graph: GraphModule, inputs: Any) -> Callable[..., Any]:
        sizes.append(num_ops(graph))
        return graph.forward

    backend = aot_autograd(fw_compiler=uncompiled)
    compiled = torch.compile(isolated(fn), backend=backend, dynamic=False, fullgraph=True)
    pairs = zip(tree_leaves(compiled(x, weight)), tree_leaves(fn(x, weight)), strict=True)
    return Transformed(
        name=name,
        num_graphs=len(sizes),
        num_ops=sum(sizes),
        difference=max(float((got - expected).abs().max()) for got, expected in pairs),
    )


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
