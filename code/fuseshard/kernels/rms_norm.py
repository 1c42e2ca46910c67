"""RMS norm and its gradients, each in one pass over memory.

    y = x / r * w,   r = sqrt(mean of x**2 over the row + eps)

R = rows, N = columns, S = R x N elements, P = programs of the backward kernel. Forward reads S
elements of x and writes S; backward reads 2 S and writes S + P x N. The weights, N elements, are
read by every program, but from memory only once: the caches are nearer.
"""

from typing import Any

import torch
import triton
import triton.language as tl

from fuseshard.kernels.checks import check_rows, check_shape, check_tensors
from fuseshard.kernels.plans import (
    ELEMENTS_PER_THREAD,
    FULL_GRID,
    RowPlan,
    plan_rows,
    warp_size_here,
)

EPS = 1e-6


@triton.jit
def rms_norm_kernel(
    y_ptr,  # [R, N]
    x_ptr,  # [R, N]
    weight_ptr,  # [N]
    eps,  # added to the mean square
    num_rows,  # R
    NUM_COLUMNS: tl.constexpr,  # N
    BLOCK_ROWS: tl.constexpr,  # rows of a program
    BLOCK_COLUMNS: tl.constexpr,  # N rounded up to a power of two
):
    """Normalise BLOCK_ROWS whole rows."""
    rows = tl.program_id(0) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)[:, None]
    columns = tl.arange(0, BLOCK_COLUMNS)[None, :]
    offsets = rows.to(tl.int64) * NUM_COLUMNS + columns
    inside = (rows < num_rows) & (columns < NUM_COLUMNS)
    # No eviction hints: on an H200, evict_first for x cost more than it saved for w.
    x = tl.load(x_ptr + offsets, inside, other=0.0).to(tl.float32)  # reads S elements
    mean_square = tl.sum(x * x, axis=1, keep_dims=True) / NUM_COLUMNS
    # w is loaded here, not above, so that it holds no registers while the row is reduced.
    w = tl.load(weight_ptr + columns, columns < NUM_COLUMNS, other=0.0)  # reads N elements
    y = x * tl.rsqrt(mean_square + eps) * w.to(tl.float32)
    tl.store(y_ptr + offsets, y, inside)  # writes S elements


@triton.jit
def rms_norm_backward_kernel(
    dx_ptr,  # [R, N]
    dweight_ptr,  # [P, N], float32: each program's share
    dy_ptr,  # [R, N]
    x_ptr,  # [R, N]
    weight_ptr,  # [N]
    eps,  # added to the mean square
    num_rows,  # R
    NUM_COLUMNS: tl.constexpr,  # N
    BLOCK_ROWS: tl.constexpr,  # rows that a program takes at a time
    BLOCK_COLUMNS: tl.constexpr,  # N rounded up to a power of two
):
    """Differentiate every P-th block of rows, and keep a share of dw in registers meanwhile.

    With n = x / r and g = dy * w:  dx = (g - n * mean(g * n)) / r,  dw = sum over rows of dy * n.
    """
    columns = tl.arange(0, BLOCK_COLUMNS)[None, :]
    w = tl.load(weight_ptr + columns, columns < NUM_COLUMNS, other=0.0).to(tl.float32)
    dw = tl.zeros([1, BLOCK_COLUMNS], tl.float32)
    step = tl.num_programs(0) * BLOCK_ROWS
    # Two stages: the next rows are on their way, to shared memory, while these are computed.
    for first in tl.range(tl.program_id(0) * BLOCK_ROWS, num_rows, step, num_stages=2):
        rows = first + tl.arange(0, BLOCK_ROWS)[:, None]
        offsets = rows.to(tl.int64) * NUM_COLUMNS + columns
        inside = (rows < num_rows) & (columns < NUM_COLUMNS)
        x = tl.load(x_ptr + offsets, inside, other=0.0).to(tl.float32)  # reads S elements
        dy = tl.load(dy_ptr + offsets, inside, other=0.0).to(tl.float32)  # reads S elements
        inverse = tl.rsqrt(tl.sum(x * x, axis=1, keep_dims=True) / NUM_COLUMNS + eps)
        n = x * inverse
        g = dy * w
        along = tl.sum(g * n, axis=1, keep_dims=True) / NUM_COLUMNS
        tl.store(dx_ptr + offsets, (g - n * along) * inverse, inside)  # writes S elements
        dw += tl.sum(dy * n, axis=0, keep_dims=True)
    share = dweight_ptr + tl.program_id(0) * NUM_COLUMNS
    tl.store(share + columns, dw, columns < NUM_COLUMNS)  # writes P x N elements


def rms_norm(
    x: torch.Tensor,
    weight: torch.Tensor,
    *,
    eps: float = EPS,
    rows_per_program: int | None = None,
    num_warps: int | None = None,
) -> torch.Tensor:
    """Divide each row by its root mean square and scale the columns; differentiable.

    Args:
        x: [..., N], contiguous, N up to 65536; float32, float16 or bfloat16; on a GPU, or on the
            CPU with the interpreter. Above 16384, backward 8192, a row is more than the registers
            hold.
        weight: [N], as x.
        eps: added to the mean square, so that a row of zeros stays one.
        rows_per_program: of the forward pass, a power of two; by default as plan_rows says.
        num_warps: of the forward pass; by default as plan_rows says.

    Returns:
        Like x; computed in float32 throughout and rounded once.
    """
    _check("rms_norm", rms_norm_kernel, x, weight)
    return _RmsNorm.apply(x, weight, eps, rows_per_program, num_warps)


def rms_norm_backward(
    dy: torch.Tensor,
    x: torch.Tensor,
    weight: torch.Tensor,
    *,
    eps: float = EPS,
    rows_per_program: int | None = None,
    num_warps: int | None = None,
    num_programs: int = FULL_GRID,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute both gradients of rms_norm in one pass, and add up the programs' shares of dw.

    Args:
        dy: like x: gradient of the result.
        x: as it was there.
        weight: as it was there.
        eps: as it was there.
        rows_per_program: that a program takes at a time.
        num_warps: of a program.
        num_programs: P; fewer where there aren't rows for so many.

    Returns:
        Gradients of x and of weight, in their type; the same in every run, as no two programs add
        to the same number.
    """
    _check("rms_norm_backward", rms_norm_backward_kernel, x, weight)
    check_tensors("rms_norm_backward", rms_norm_backward_kernel, x=x, dy=dy)
    check_shape("rms_norm_backward", tuple(x.shape), dy=dy)
    plan = plan_rows(
        x.shape[-1],
        elements_per_thread=ELEMENTS_PER_THREAD // 2,  # of x and dy, beside w and dw
        warp_size=warp_size_here(),
        rows_per_program=rows_per_program,
        num_warps=num_warps,
    )
    programs = min(num_programs, triton.cdiv(_num_rows(x), plan.rows_per_program))
    dx = torch.empty_like(x)
    shares = torch.empty(programs, x.shape[-1], dtype=torch.float32, device=x.device)
    arguments = (dx, shares, dy, x, weight, eps, _num_rows(x))
    with torch.cuda.device_of(x):
        rms_norm_backward_kernel[(programs,)](*arguments, **_options(x, plan))
    return dx, shares.sum(0).to(weight.dtype)


class _RmsNorm(torch.autograd.Function):
    """What autograd has to know: what to keep, and how to go back."""

    @staticmethod
    def forward(
        ctx: Any, x: torch.Tensor, weight: torch.Tensor, eps: float, *by_hand: int | None
    ) -> torch.Tensor:
        ctx.save_for_backward(x, weight)
        ctx.eps = eps
        rows_per_program, num_warps = by_hand
        plan = plan_rows(
            x.shape[-1],
            warp_size=warp_size_here(),
            rows_per_program=rows_per_program,
            num_warps=num_warps,
        )
        y = torch.empty_like(x)
        grid = (triton.cdiv(_num_rows(x), plan.rows_per_program),)
        arguments = (y, x, weight, eps, _num_rows(x))
        with torch.cuda.device_of(x):
            rms_norm_kernel[grid](*arguments, **_options(x, plan))
        return y

    @staticmethod
    def backward(ctx: Any, *dys: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        dy = dys[0].contiguous()  # it may come expanded, as that of sum() does
        return (*rms_norm_backward(dy, x, weight, eps=ctx.eps), None, None, None)


def _num_rows(x: torch.Tensor) -> int:
    return x.numel() // x.shape[-1]


def _options(x: torch.Tensor, plan: RowPlan) -> dict[str, int]:
    """Spell a plan out as the kernels' arguments."""
    return {
        "NUM_COLUMNS": x.shape[-1],
        "BLOCK_ROWS": plan.rows_per_program,
        "BLOCK_COLUMNS": plan.block_columns,
        "num_warps": plan.num_warps,
    }


def _check(caller: str, kernel: Any, x: torch.Tensor, weight: torch.Tensor) -> None:
    """Refuse what the kernels would misread."""
    check_tensors(caller, kernel, x=x, weight=weight)
    check_rows(caller, x=x)
    check_shape(caller, (x.shape[-1],), weight=weight)
