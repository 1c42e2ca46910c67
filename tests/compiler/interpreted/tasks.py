"""What the interpreting process of these tests is asked to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch._C._dynamo.guards
import triton
import triton.language as tl
from triton.language.extra import libdevice
from triton.runtime import interpreter

from fuseshard.compiler.described.replace import attributes
from fuseshard.compiler.gpu_code.records import GpuGraph
from fuseshard.compiler.interpreted import loaded, run
from fuseshard.compiler.interpreted.records import Interpreted

CALLS: list[str] = []


def start() -> None:
    torch.set_num_threads(1)
    run.prepare()


def run_graphs(
    graphs: Sequence[GpuGraph],
    inputs: Sequence[torch.Tensor],
    tangents: Sequence[torch.Tensor] | None = None,
    block: int | None = None,
) -> Interpreted:
    return run.run_graphs(graphs, inputs, tangents, block=block)


def outcome_without(
    shim: str, graphs: Sequence[GpuGraph], inputs: Sequence[torch.Tensor]
) -> Interpreted | str:
    """Run with one shim taken out; an error comes back in words."""
    loaded._module.cache_clear()  # what an earlier run loaded has been through the shim
    try:
        with run.prepare().without(shim):
            return run.run_graphs(graphs, inputs)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        loaded._module.cache_clear()


def with_layouts_ignored(graphs: Sequence[GpuGraph], inputs: Sequence[torch.Tensor]) -> Interpreted:
    """Run with neither the check of strides nor its repair."""
    loaded._module.cache_clear()
    try:
        with attributes(torch._C._dynamo.guards, assert_size_stride=lambda *_: None):
            return run.run_graphs(graphs, inputs)
    finally:
        loaded._module.cache_clear()


@triton.jit
def counted_larger(a, b):
    CALLS.append("combine")
    return tl.where(a > b, a, b)


@triton.jit
def rows_kernel(x_ptr, largest_ptr, prefix_ptr, rows: tl.constexpr, columns: tl.constexpr):
    at = tl.arange(0, rows)[:, None] * columns + tl.arange(0, columns)[None, :]
    x = tl.load(x_ptr + at)
    tl.store(largest_ptr + tl.arange(0, rows), tl.reduce(x, 1, counted_larger))
    tl.store(prefix_ptr + at, tl.associative_scan(x, 1, counted_larger, reverse=True))


def _rows(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    largest, prefix = torch.empty_like(x[:, 0]), torch.empty_like(x)
    rows_kernel[(1,)](x, largest, prefix, *x.shape)
    return largest, prefix


def combined_rows(x: torch.Tensor, without: bool) -> tuple[torch.Tensor, torch.Tensor, int]:
    """Reduce and scan, and count the calls of the combine function."""
    CALLS.clear()
    if without:
        with run.prepare().without("reductions"):
            return *run.call(_rows, x), len(CALLS)
    return *run.call(_rows, x), len(CALLS)


@triton.jit
def arithmetic_kernel(x_ptr, y_ptr, out_ptr, size: tl.constexpr):
    i = tl.arange(0, size)
    x, y = tl.load(x_ptr + i), tl.load(y_ptr + i)
    tl.store(out_ptr + i, x * y)
    tl.store(out_ptr + size + i, -x + y)
    tl.store(out_ptr + 2 * size + i, tl.where(x < y, x, y))
    tl.store(out_ptr + 3 * size + i, tl.fma(x, y, x))
    tl.store(out_ptr + 4 * size + i, tl.sum(x, 0))
    tl.store(out_ptr + 5 * size + i, tl.cumsum(y, 0))
    tl.store(out_ptr + 6 * size + i, (i - 3).to(tl.bfloat16))


def _arithmetic(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = x.new_zeros(7, len(x))
    arithmetic_kernel[(1,)](x, y, out, len(x))
    return out


def arithmetic(x: torch.Tensor, y: torch.Tensor, without: bool) -> torch.Tensor:
    """Compute with bfloat16 in a kernel, with or without the shim that makes it numbers."""
    if without:
        with run.prepare().without("rounding"):
            return run.call(_arithmetic, x, y)
    return run.call(_arithmetic, x, y)


@triton.jit
def product_kernel(a_ptr, b_ptr, out_ptr, size: tl.constexpr):
    at = tl.arange(0, size)[:, None] * size + tl.arange(0, size)[None, :]
    tl.store(out_ptr + at, tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at)))


def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    out = torch.empty(a.shape)
    run.call(lambda: product_kernel[(1,)](a, b, out, len(a)))
    return out


@triton.jit
def rounded_kernel(x_ptr, out_ptr, size: tl.constexpr, kind: tl.constexpr):
    i = tl.arange(0, size)
    tl.store(out_ptr + i, tl.load(x_ptr + i).to(kind).to(tl.float32))


def rounded(x: torch.Tensor, name: str) -> torch.Tensor:
    """Round float32 to one of Triton's formats and back."""
    out = torch.empty_like(x)
    run.call(lambda: rounded_kernel[(1,)](x, out, len(x), getattr(tl, name)))
    return out


@triton.jit
def unanswered_kernel(x_ptr):
    tl.store(x_ptr, libdevice.sinpi(tl.load(x_ptr)))


def unanswered(x: torch.Tensor) -> None:
    run.call(lambda: unanswered_kernel[(1,)](x))


@triton.jit
def atomic_kernel(x_ptr, out_ptr, size: tl.constexpr):
    i = tl.arange(0, size)
    tl.atomic_add(out_ptr + i * 0, tl.load(x_ptr + i))


def added(x: torch.Tensor) -> torch.Tensor:
    """Sum a tensor by atomic additions."""
    out = x.new_zeros(1)
    run.call(lambda: atomic_kernel[(1,)](x, out, len(x)))
    return out


@triton.jit
def square(x):
    return x * x


@triton.jit
def squares_kernel(x_ptr, out_ptr, size: tl.constexpr):
    i = tl.program_id(0) * size + tl.arange(0, size)
    tl.store(out_ptr + i, square(square(tl.load(x_ptr + i))))


def _squares(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    squares_kernel[(len(x) // 4,)](x, out, 4)
    return out


def squares_and_takeovers(x: torch.Tensor, without: bool) -> tuple[torch.Tensor, int]:
    """Run a kernel that calls functions, and count how often the language is taken over."""
    CALLS.clear()
    old = interpreter._patch_builtin

    def counted(*args: Any) -> None:
        CALLS.append("language")
        old(*args)

    with attributes(interpreter, _patch_builtin=counted):
        if without:
            with run.prepare().without("language"):
                return run.call(_squares, x), len(CALLS)
        return run.call(_squares, x), len(CALLS)


def warnings_state() -> dict[str, str]:
    """What NumPy does about infinities outside of a run."""
    return dict(np.geterr())


@triton.jit
def library_kernel(operands, out_ptr, size: tl.constexpr, function: tl.constexpr):
    i = tl.arange(0, size)
    if len(operands) == 1:
        result = function(tl.load(operands[0] + i))
    else:
        result = function(tl.load(operands[0] + i), tl.load(operands[1] + i))
    tl.store(out_ptr + i, result)


def library_call(name: str, *operands: torch.Tensor) -> torch.Tensor:
    """Compute one of libdevice's functions in a kernel."""
    out = torch.empty_like(operands[0])
    run.call(lambda: library_kernel[(1,)](operands, out, len(out), getattr(libdevice, name)))
    return out
