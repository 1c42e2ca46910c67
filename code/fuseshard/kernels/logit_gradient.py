"""Gradients of a linear layer's cross-entropy, with the logits made again instead of kept.

    d loss / d logits = (exp(logits - lse) - 1 at the target) / N
    d hidden = d logits @ weight,   d weight = d logits.T @ hidden

N = tokens, D = size of the hidden state, V = vocabulary, C = words of a chunk. The kernel makes
a tile of logits again and stores its gradient, for C words at a time: N x C elements instead of
N x V. Two products of the library use them up. All of it in one kernel would need a sum of
[tile, D] in registers, which have no room for it, or make each tile D / tile times.
"""

import torch
import triton
import triton.language as tl

from fuseshard.kernels.checks import check_linear, check_shape
from fuseshard.kernels.plans import TilePlan, plan_product, warp_size_here
from fuseshard.kernels.products import launch_options, rows_by_rows

CHUNK_WORDS = 8192
"""words whose gradients are stored at a time: enough for products that fill the chip"""


@triton.jit
def logit_gradient_kernel(
    out_ptr,  # [N, C]: gradient of the sum of the losses
    hidden_ptr,  # [N, D]
    weight_ptr,  # [C, D]
    target_ptr,  # [N], counted from the chunk's first word
    lse_ptr,  # [N], float32: over the whole vocabulary
    num_tokens,  # N
    num_words,  # C
    D: tl.constexpr,  # summands of a logit
    BLOCK_N: tl.constexpr,  # tokens of a tile
    BLOCK_V: tl.constexpr,  # words of a tile
    BLOCK_D: tl.constexpr,  # summands at a time
):
    """Make one tile of the gradient: the words' probabilities, less 1 at the target."""
    tokens = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    words = tl.program_id(1) * BLOCK_V + tl.arange(0, BLOCK_V)
    logits = rows_by_rows(hidden_ptr, weight_ptr, tokens, words, num_tokens, num_words, D, BLOCK_D)
    target = tl.load(target_ptr + tokens, tokens < num_tokens, other=-1).to(tl.int32)
    lse = tl.load(lse_ptr + tokens, tokens < num_tokens, other=0.0)
    is_target = words[None, :] == target[:, None]
    gradient = tl.exp(logits - lse[:, None]) - tl.where(is_target, 1.0, 0.0)
    offsets = tokens[:, None].to(tl.int64) * num_words + words[None, :]
    inside = (tokens[:, None] < num_tokens) & (words[None, :] < num_words)
    tl.store(out_ptr + offsets, gradient, inside)  # writes N x C elements


def mean_loss_gradients(
    hidden: torch.Tensor,
    weight: torch.Tensor,
    target: torch.Tensor,
    *,
    lse: torch.Tensor,
    tiles: TilePlan | None = None,
    chunk_words: int = CHUNK_WORDS,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute the gradients of the mean loss: the backward pass of linear_cross_entropy.

    Args:
        hidden: [N, D], as there.
        weight: [V, D], as there.
        target: [N], as there.
        lse: [N], float32, from token_losses.
        tiles: rows are tokens, columns words; by default as plan_product says.
        chunk_words: C, divisible by 8, so that chunks begin where 128 bits can be loaded.

    Returns:
        Gradients of hidden, [N, D] in float32, and of weight, [V, D] in its type.
    """
    check_linear("mean_loss_gradients", logit_gradient_kernel, hidden, weight, target=target)
    check_shape("mean_loss_gradients", tuple(target.shape), lse=lse)
    mean = 1 / max(1, hidden.shape[0])
    d_hidden = torch.zeros_like(hidden, dtype=torch.float32)
    d_weight = torch.empty_like(weight)
    for first in range(0, weight.shape[0], chunk_words):
        chunk = weight[first : first + chunk_words]
        d_logits = logit_gradients(hidden, chunk, target - first, lse=lse, tiles=tiles)
        # The mean's 1 / N comes with the product: in float16 a probability over N may be 0.
        d_hidden.add_(d_logits @ chunk, alpha=mean)
        d_chunk = d_weight[first : first + chunk_words]
        torch.addmm(d_chunk, d_logits.T, hidden, beta=0, alpha=mean, out=d_chunk)
    return d_hidden, d_weight


def logit_gradients(
    hidden: torch.Tensor,
    chunk: torch.Tensor,
    target: torch.Tensor,
    *,
    lse: torch.Tensor,
    tiles: TilePlan | None = None,
) -> torch.Tensor:
    """Compute the gradient of the sum of the losses for the logits of one chunk.

    Args:
        hidden: [N, D].
        chunk: [C, D]: rows of the weight.
        target: [N], counted from the chunk's first word; others are in other chunks.
        lse: [N], float32.
        tiles: as for mean_loss_gradients.

    Returns:
        [N, C], in hidden's type.
    """
    plan = tiles or plan_product(hidden.dtype, warp_size=warp_size_here())
    num_tokens, num_words = hidden.shape[0], chunk.shape[0]
    out = hidden.new_empty(num_tokens, num_words)
    grid = (triton.cdiv(num_tokens, plan.rows), triton.cdiv(num_words, plan.columns))
    arguments = (out, hidden, chunk, target, lse, num_tokens, num_words)
    with torch.cuda.device_of(hidden):
        logit_gradient_kernel[grid](
            *arguments,
            D=hidden.shape[1],
            BLOCK_N=plan.rows,
            BLOCK_V=plan.columns,
            BLOCK_D=plan.depth,
            **launch_options(plan),
        )
    return out
