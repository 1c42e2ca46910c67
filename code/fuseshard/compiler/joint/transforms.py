"""The transforms of torch.func inside compiled functions."""

from collections.abc import Callable
from typing import Any

import torch

# Private, checked on torch 2.11 and 2.13: makes a backend of compilers for AOTAutograd's graphs.
from torch._dynamo.backends.common import aot_autograd
from torch.func import grad, hessian, jacrev, jvp, vmap
from torch.fx import GraphModule
from torch.utils._pytree import tree_leaves

from fuseshard.compiler.isolate import isolated
from fuseshard.compiler.joint.examples import rms_norm
from fuseshard.compiler.joint.records import Transformed
from fuseshard.compiler.joint.trace import num_ops

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
    """Compile one of `transforms` without allowing a graph break, and compare it with eager mode.

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
