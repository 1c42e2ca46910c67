"""Attention in one kernel that never stores the scores: a small FlashAttention, forward only.

    out = softmax(scale * Q @ K.T) @ V, each query's softmax over the keys that it may see

G = batch x heads, T = positions, D = size of a head. Unfused, the scores are G x T x T elements,
written and read several times. Here a program keeps one tile of queries and walks along the keys
with an online softmax: it reads Q and writes out once, 2 G x T x D elements together; K and V,
2 G x T x D more, come from memory once and after that from the L2 cache.
"""

import torch
import triton
import triton.language as tl

from fuseshard.kernels.checks import check_no_gradient, check_shape, check_tensors
from fuseshard.kernels.plans import TilePlan, plan_attention, power_of_two, warp_size_here
from fuseshard.kernels.products import add_product, launch_options

LOG2_E = tl.constexpr(1.4426950408889634)
MAX_HEAD = 128
"""size of a head whose tiles fit in registers"""
MAX_GRID = 65535
"""programs in the second dim of a grid, CUDA's limit"""


@triton.jit
def attention_kernel(
    out_ptr,  # [G, T, D]
    lse_ptr,  # [G, T], float32: log of the sum of exp(scaled scores)
    q_ptr,  # [G, T, D]
    k_ptr,  # [G, T, D]
    v_ptr,  # [G, T, D]
    scale,  # of the scores, positive
    length,  # T
    D: tl.constexpr,  # size of a head
    IS_CAUSAL: tl.constexpr,  # whether a query sees no later keys
    BLOCK_Q: tl.constexpr,  # queries of a tile
    BLOCK_K: tl.constexpr,  # keys of a tile
    BLOCK_D: tl.constexpr,  # D rounded up to a power of two
):
    """Attend from BLOCK_Q positions of one head."""
    block = tl.num_programs(0) - 1 - tl.program_id(0)  # last ones first: they may see most keys
    start_of_head = tl.program_id(1).to(tl.int64) * length
    queries = block * BLOCK_Q + tl.arange(0, BLOCK_Q)
    dims = tl.arange(0, BLOCK_D)[None, :]
    q_offsets = start_of_head * D + queries[:, None] * D + dims
    q_inside = (queries[:, None] < length) & (dims < D)
    q = tl.load(q_ptr + q_offsets, q_inside, other=0.0)  # reads Q once
    last_key = tl.full([BLOCK_Q], length - 1, tl.int32)  # that each query sees
    end = length  # of the keys that any of them sees
    if IS_CAUSAL:
        last_key = tl.minimum(last_key, queries)
        end = tl.minimum(end, (block + 1) * BLOCK_Q)
    largest = tl.full([BLOCK_Q], -float("inf"), tl.float32)  # score so far
    total = tl.zeros([BLOCK_Q], tl.float32)  # of 2 ** (score - largest)
    acc = tl.zeros([BLOCK_Q, BLOCK_D], tl.float32)  # the same sum, of the values
    for start in range(0, end, BLOCK_K):
        keys = start + tl.arange(0, BLOCK_K)
        offsets = start_of_head * D + keys[:, None] * D + dims
        inside = (keys[:, None] < length) & (dims < D)
        k = tl.load(k_ptr + offsets, inside, other=0.0)  # reads K T / BLOCK_Q times
        v = tl.load(v_ptr + offsets, inside, other=0.0)  # reads V T / BLOCK_Q times
        scores = add_product(tl.zeros([BLOCK_Q, BLOCK_K], tl.float32), q, tl.trans(k))
        seen = tl.arange(0, BLOCK_K)[None, :] <= (last_key - start)[:, None]  # keys <= last_key
        scores = tl.where(seen, scores, -float("inf"))
        # Powers of 2 are what the hardware has: exp(x) = 2 ** (x * LOG2_E).
        new_largest = tl.maximum(largest, tl.max(scores, axis=1) * (scale * LOG2_E))
        p = tl.exp2(scores * (scale * LOG2_E) - new_largest[:, None])
        rescale = tl.exp2(largest - new_largest)  # of what was summed under the old maximum
        total = total * rescale + tl.sum(p, axis=1)
        acc = add_product(acc * rescale[:, None], p.to(v.dtype), v)
        largest = new_largest
    tl.store(out_ptr + q_offsets, acc / total[:, None], q_inside)  # writes out once
    lse = largest / LOG2_E + tl.log(total)
    tl.store(lse_ptr + start_of_head + queries, lse, queries < length)


def flash_attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    tiles: TilePlan | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute attention from every position to every other, or to the earlier ones.

    Args:
        q: [B, H, T, D], contiguous, D from 1 to 128, best 16, 32, 64 or 128; float32, float16 or
            bfloat16; on a GPU, or on the CPU with the interpreter. Tensor cores multiply the
            16-bit types only, and round the probabilities to them first.
        k: like q.
        v: like q.
        is_causal: whether a position sees only itself and earlier ones.
        scale: of the scores, positive; by default 1 / sqrt(D).
        tiles: rows are queries, columns keys, depth the head's size rounded up; by default as
            plan_attention says.

    Returns:
        Like q; and the log of the sum of exp(scaled scores), [B, H, T], float32, from which a
        backward pass could make the probabilities again.
    """
    check_tensors("flash_attention", attention_kernel, q=q, k=k, v=v)
    check_no_gradient("flash_attention", q=q, k=k, v=v)
    _check_heads(q, k, v)
    batch, num_heads, length, head_size = q.shape
    plan = tiles or plan_attention(q.dtype, head_size, warp_size=warp_size_here())
    scale = head_size**-0.5 if scale is None else scale
    _check_options(scale, plan, head_size)
    out = torch.empty_like(q)
    lse = q.new_empty(q.shape[:-1], dtype=torch.float32)
    grid = (triton.cdiv(length, plan.rows), batch * num_heads)
    arguments = (out, lse, q, k, v, scale, length)
    with torch.cuda.device_of(q):
        attention_kernel[grid](
            *arguments,
            D=head_size,
            IS_CAUSAL=is_causal,
            BLOCK_Q=plan.rows,
            BLOCK_K=plan.columns,
            BLOCK_D=plan.depth,
            **launch_options(plan),
        )
    return out, lse


def _check_heads(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> None:
    """Refuse shapes that the kernel would misread."""
    shape = tuple(q.shape)
    if q.dim() != 4 or not 1 <= shape[3] <= MAX_HEAD:
        raise ValueError(
            f"flash_attention: q has shape {shape}, must have (B, H, T, D) with D from 1 to "
            f"{MAX_HEAD} (a program holds tiles of whole heads); split larger heads."
        )
    if shape[0] * shape[1] > MAX_GRID:
        raise ValueError(
            f"flash_attention: q has {shape[0]} x {shape[1]} heads, must have at most {MAX_GRID} "
            "(the second dim of a grid); call it for a part of the batch at a time."
        )
    check_shape("flash_attention", shape, k=k, v=v)


def _check_options(scale: float, plan: TilePlan, head_size: int) -> None:
    """Refuse what would give wrong numbers without an error."""
    if not scale > 0:
        raise ValueError(
            f"flash_attention: scale is {scale}, must be positive (the largest score is looked "
            "for before scaling); negate q instead."
        )
    if plan.depth < head_size:
        raise ValueError(
            f"flash_attention: tiles.depth is {plan.depth}, must be at least D, {head_size} (a "
            f"tile holds whole heads); use {power_of_two(head_size)}."
        )
