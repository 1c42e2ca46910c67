"""Products of tiles, on tensor cores where the type has them.

M x N = the tile that a program makes, K = summands of each of its elements.
"""

from typing import Any

import triton
import triton.language as tl

from fuseshard.kernels.checks import is_interpreted
from fuseshard.kernels.plans import TilePlan


@triton.jit
def add_product(
    total,  # [M, N], float32
    a,  # [M, K], as stored
    b,  # [K, N], as stored
):
    """Add a @ b to total, in float32."""
    # Triton's interpreter keeps bfloat16 as 16-bit integers, and its dot would multiply those.
    # The products are the same in float32: two numbers of 8 bits give one of 16.
    if INTERPRETED:
        a, b = a.to(tl.float32), b.to(tl.float32)
    # "ieee": float32 tiles are multiplied in full, without tensor cores, whose tf32 keeps 11 bits.
    return tl.dot(a, b, total, input_precision="ieee")


INTERPRETED = tl.constexpr(is_interpreted(add_product))


@triton.jit
def rows_by_rows(
    a_ptr,  # [num_a, K]
    b_ptr,  # [num_b, K]
    a_rows,  # [M] rows of a
    b_rows,  # [N] rows of b
    num_a,  # rows of a; beyond them are zeros
    num_b,  # rows of b
    K: tl.constexpr,  # length of a row
    BLOCK_K: tl.constexpr,  # of it at a time
):
    """Multiply rows of a by rows of b: a tile of a @ b.T, float32."""
    total = tl.zeros([a_rows.shape[0], b_rows.shape[0]], tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)[None, :]
        a_offsets = a_rows[:, None].to(tl.int64) * K + k
        b_offsets = b_rows[:, None].to(tl.int64) * K + k
        a = tl.load(a_ptr + a_offsets, (a_rows[:, None] < num_a) & (k < K), other=0.0)
        b = tl.load(b_ptr + b_offsets, (b_rows[:, None] < num_b) & (k < K), other=0.0)
        total = add_product(total, a, tl.trans(b))
    return total


def launch_options(plan: TilePlan) -> dict[str, Any]:
    """Spell out what of a plan isn't a size of the tile."""
    return {"num_warps": plan.num_warps, "num_stages": plan.num_stages}
