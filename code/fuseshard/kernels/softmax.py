"""Softmax over the last dim, one pass over memory: each row stays in registers until it is done.

R = rows, N = columns, S = R x N elements. Unfused, softmax is five kernels that read 5 S + 2 R
elements and write 3 S + 2 R (fuseshard.kernels.reference); this one reads S and writes S.
"""

import torch
import triton
import triton.language as tl

from fuseshard.kernels.checks import check_no_gradient, check_rows, check_tensors
from fuseshard.kernels.plans import plan_rows, warp_size_here


@triton.jit
def softmax_kernel(
    out_ptr,  # [R, N]
    x_ptr,  # [R, N]
    num_rows,  # R
    NUM_COLUMNS: tl.constexpr,  # N; from it the compiler finds how wide loads can be
    BLOCK_ROWS: tl.constexpr,  # rows of a program
    BLOCK_COLUMNS: tl.constexpr,  # N rounded up to a power of two
):
    """Compute softmax of BLOCK_ROWS whole rows."""
    rows = tl.program_id(0) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)[:, None]
    columns = tl.arange(0, BLOCK_COLUMNS)[None, :]
    offsets = rows.to(tl.int64) * NUM_COLUMNS + columns
    inside = (rows < num_rows) & (columns < NUM_COLUMNS)
    # -inf where the row has ended: exp(-inf) adds 0 to the sum.
    x = tl.load(x_ptr + offsets, inside, other=-float("inf"))  # reads S elements
    x = x.to(tl.float32)
    # Without the maximum, exp(89) is more than float32 holds.
    numerator = tl.exp(x - tl.max(x, axis=1, keep_dims=True))
    denominator = tl.sum(numerator, axis=1, keep_dims=True)
    # One division a row; an element costs a multiplication.
    tl.store(out_ptr + offsets, numerator * (1 / denominator), inside)  # writes S elements


def softmax(
    x: torch.Tensor, *, rows_per_program: int | None = None, num_warps: int | None = None
) -> torch.Tensor:
    """Compute softmax over the last dim in one pass over memory.

    A width that isn't divisible by 4 (float32) or 8 (16-bit types) costs speed: rows then begin
    at addresses from which no 128 bits can be loaded at once.

    Args:
        x: [..., N], contiguous, N up to 65536; float32, float16 or bfloat16; on a GPU, or on the
            CPU with the interpreter. Above 32768, a row is more than the registers hold.
        rows_per_program: a power of two; by default as plan_rows says.
        num_warps: of a program, a power of two; by default as plan_rows says.

    Returns:
        Like x; computed in float32. A row that is all -inf gives NaN, as torch's does.
    """
    check_tensors("softmax", softmax_kernel, x=x)
    check_no_gradient("softmax", x=x)
    check_rows("softmax", x=x)
    num_columns = x.shape[-1]
    plan = plan_rows(
        num_columns,
        warp_size=warp_size_here(),
        rows_per_program=rows_per_program,
        num_warps=num_warps,
    )
    num_rows = x.numel() // num_columns
    out = torch.empty_like(x)
    grid = (triton.cdiv(num_rows, plan.rows_per_program),)
    with torch.cuda.device_of(x):
        softmax_kernel[grid](
            out,
            x,
            num_rows,
            NUM_COLUMNS=num_columns,
            BLOCK_ROWS=plan.rows_per_program,
            BLOCK_COLUMNS=plan.block_columns,
            num_warps=plan.num_warps,
        )
    return out
