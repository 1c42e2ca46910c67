"""What single lines of Python become, depending on who decomposes them."""

from collections.abc import Callable, Mapping

import torch

# Private, checked on torch 2.11 and 2.13: the core ATen table is what `torch.export`'s
# `run_decompositions` takes by default, the other is Inductor's own.
from torch._decomp import core_aten_decompositions
from torch._inductor.decomposition import select_decomp_table
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional

from fuseshard.compiler.joint.graphs import op_name
from fuseshard.compiler.joint.records import Lowering
from fuseshard.compiler.joint.trace import Table

ROWS, WIDTH, RESULTS = 7, 12, 5
"""sizes of the examples: none divides another"""

_NOT_COUNTED = ("", "getitem", "detach", "alias")
"""inputs and results, the picking of one of several results, and the marks that autograd leaves"""


def tables() -> dict[str, Table]:
    """Return the tables of decompositions: "none", "core" (ATen) and "inductor"."""
    return {"none": {}, "core": core_aten_decompositions(), "inductor": select_decomp_table()}


def lower(
    python: str, fn: Callable[..., torch.Tensor], shapes: Mapping[str, tuple[int, ...]]
) -> Lowering:
    """Trace one line below autograd, with each table of decompositions.

    Args:
        python: the line as a reader would write it.
        fn: what it computes.
        shapes: name of each argument -> its shape; all of them get a gradient.

    Returns:
        The operators.
    """
    generator = torch.Generator().manual_seed(0)
    args = [torch.randn(shape, generator=generator) for shape in shapes.values()]
    tangent = torch.randn_like(fn(*args))

    def both(*args: torch.Tensor) -> tuple[torch.Tensor, ...]:
        tracked = [arg.detach().requires_grad_() for arg in args]
        result = fn(*tracked)
        return (result, *torch.autograd.grad(result, tracked, tangent))

    forward = {name: _traced(fn, table, args) for name, table in tables().items()}
    joint = {name: _traced(both, table, args) for name, table in tables().items()}
    return Lowering(
        python=python,
        ops={name: _ops(graph) for name, graph in forward.items()},
        num_joint_ops={name: len(_ops(graph)) for name, graph in joint.items()},
    )


def examples() -> tuple[Lowering, ...]:
    """Lower the lines that MiniGPT is made of, and RMS norm."""
    x, weight, bias = (ROWS, WIDTH), (RESULTS, WIDTH), (RESULTS,)
    deep = (2, ROWS, WIDTH)
    scale = (WIDTH,)
    return (
        lower("linear(x, w)", functional.linear, {"x": x, "w": weight}),
        lower("linear(x, w, b)", functional.linear, {"x": x, "w": weight, "b": bias}),
        lower("linear(x3d, w, b)", functional.linear, {"x": deep, "w": weight, "b": bias}),
        lower("softmax(x, -1)", lambda x: torch.softmax(x, -1), {"x": x}),
        lower("gelu(x)", functional.gelu, {"x": x}),
        lower(
            "layer_norm(x, w, b)",
            lambda x, w, b: functional.layer_norm(x, scale, w, b),
            {"x": x, "w": scale, "b": scale},
        ),
        lower(
            "rms_norm(x, w)",
            lambda x, w: functional.rms_norm(x, scale, w),
            {"x": x, "w": scale},
        ),
    )


def _traced(fn: Callable[..., object], table: Table, args: list[torch.Tensor]) -> GraphModule:
    graph: GraphModule = make_fx(fn, decomposition_table=dict(table))(*args)
    graph.graph.eliminate_dead_code()
    return graph


def _ops(graph: GraphModule) -> tuple[str, ...]:
    names = [op_name(node).removeprefix("aten.") for node in graph.graph.nodes]
    return tuple(name for name in names if name not in _NOT_COUNTED)
