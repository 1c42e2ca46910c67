"""A linear layer and the cross-entropy of its logits, without storing the logits.

    logits = hidden @ weight.T
    loss   = mean over tokens of lse - logits[target],   lse = log of the sum of exp(logits)

N = tokens, D = size of the hidden state, V = vocabulary, S = splits of the vocabulary. Unfused,
the logits are N x V elements, which cross-entropy and its gradient write and read several times:
for 8192 tokens and 50257 words they take 0.8 GB in bfloat16. Here a program makes one tile of
them at a time and keeps three numbers a token. It reads hidden and weight once for each tile that
they take part in, from the L2 cache for the most part, and writes 2 S x N numbers.
"""

from typing import Any

import torch
import triton
import triton.language as tl

from fuseshard.kernels.checks import check_linear
from fuseshard.kernels.logit_gradient import CHUNK_WORDS, mean_loss_gradients
from fuseshard.kernels.plans import TilePlan, plan_product, tiles_per_split, warp_size_here
from fuseshard.kernels.products import launch_options, rows_by_rows


@triton.jit
def cross_entropy_kernel(
    lse_ptr,  # [S, N], float32: over the columns of a split
    target_logit_ptr,  # [S, N], float32: -inf where the target is in another split
    hidden_ptr,  # [N, D]
    weight_ptr,  # [V, D]
    target_ptr,  # [N]
    num_tokens,  # N
    num_words,  # V
    tiles_per_split,  # tiles of BLOCK_V words
    D: tl.constexpr,  # summands of a logit
    BLOCK_N: tl.constexpr,  # tokens of a tile
    BLOCK_V: tl.constexpr,  # words of a tile
    BLOCK_D: tl.constexpr,  # summands at a time
):
    """Walk along one split of the vocabulary with BLOCK_N tokens."""
    tokens = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    target = tl.load(target_ptr + tokens, tokens < num_tokens, other=-1).to(tl.int32)
    target_logit = tl.full([BLOCK_N], -float("inf"), tl.float32)
    largest = tl.full([BLOCK_N], -float("inf"), tl.float32)  # logit so far
    total = tl.zeros([BLOCK_N], tl.float32)  # of exp(logit - largest)
    first = tl.program_id(1) * tiles_per_split
    last = tl.minimum(first + tiles_per_split, tl.cdiv(num_words, BLOCK_V))
    for tile in range(first, last):
        words = tile * BLOCK_V + tl.arange(0, BLOCK_V)
        logits = rows_by_rows(
            hidden_ptr, weight_ptr, tokens, words, num_tokens, num_words, D, BLOCK_D
        )
        logits = tl.where(words[None, :] < num_words, logits, -float("inf"))
        hit = tl.where(words[None, :] == target[:, None], logits, -float("inf"))
        target_logit = tl.maximum(target_logit, tl.max(hit, axis=1))
        new_largest = tl.maximum(largest, tl.max(logits, axis=1))
        # What was summed under the old maximum is made smaller, to fit what is added now.
        total *= tl.exp(largest - new_largest)
        total += tl.sum(tl.exp(logits - new_largest[:, None]), axis=1)
        largest = new_largest
    offsets = tl.program_id(1) * num_tokens + tokens
    tl.store(lse_ptr + offsets, largest + tl.log(total), tokens < num_tokens)
    tl.store(target_logit_ptr + offsets, target_logit, tokens < num_tokens)


def linear_cross_entropy(
    hidden: torch.Tensor,
    weight: torch.Tensor,
    target: torch.Tensor,
    *,
    tiles: TilePlan | None = None,
    num_splits: int | None = None,
    chunk_words: int = CHUNK_WORDS,
) -> torch.Tensor:
    """Compute the mean cross-entropy of hidden @ weight.T without storing it; differentiable.

    Args:
        hidden: [N, D], contiguous; float32, float16 or bfloat16; on a GPU, or on the CPU with the
            interpreter. Tensor cores multiply the 16-bit types only.
        weight: [V, D], as hidden.
        target: [N], int64, each from 0 to V - 1; one outside gives an infinite loss.
        tiles: rows are tokens, columns words; by default as plan_product says.
        num_splits: S; by default as many as make a full grid.
        chunk_words: of the backward pass, see mean_loss_gradients.

    Returns:
        The loss, float32, without dims.
    """
    return _LinearCrossEntropy.apply(hidden, weight, target, tiles, num_splits, chunk_words)


def token_losses(
    hidden: torch.Tensor,
    weight: torch.Tensor,
    target: torch.Tensor,
    *,
    tiles: TilePlan | None = None,
    num_splits: int | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute each token's cross-entropy: the forward pass of linear_cross_entropy.

    Args:
        hidden: as there.
        weight: as there.
        target: as there.
        tiles: as there.
        num_splits: as there; the result doesn't depend on it but for rounding.

    Returns:
        Losses and log of the sum of exp(logits), each [N], float32.
    """
    check_linear("linear_cross_entropy", cross_entropy_kernel, hidden, weight, target=target)
    num_tokens, num_words = hidden.shape[0], weight.shape[0]
    plan = tiles or plan_product(hidden.dtype, warp_size=warp_size_here())
    token_programs = triton.cdiv(num_tokens, plan.rows)
    word_tiles = triton.cdiv(num_words, plan.columns)
    share = tiles_per_split(word_tiles, num_splits, programs=token_programs)
    splits = triton.cdiv(word_tiles, share)
    lse = torch.empty(splits, num_tokens, dtype=torch.float32, device=hidden.device)
    target_logit = torch.empty_like(lse)
    arguments = (lse, target_logit, hidden, weight, target, num_tokens, num_words, share)
    with torch.cuda.device_of(hidden):
        cross_entropy_kernel[(token_programs, splits)](
            *arguments,
            D=hidden.shape[1],
            BLOCK_N=plan.rows,
            BLOCK_V=plan.columns,
            BLOCK_D=plan.depth,
            **launch_options(plan),
        )
    whole = torch.logsumexp(lse, 0)
    return whole - target_logit.amax(0), whole


class _LinearCrossEntropy(torch.autograd.Function):
    """What autograd has to know: what to keep, and how to go back."""

    @staticmethod
    def forward(
        ctx: Any, hidden: torch.Tensor, weight: torch.Tensor, target: torch.Tensor, *options: Any
    ) -> torch.Tensor:
        tiles, num_splits, chunk_words = options
        losses, lse = token_losses(hidden, weight, target, tiles=tiles, num_splits=num_splits)
        ctx.save_for_backward(hidden, weight, target, lse)
        ctx.options = {"tiles": tiles, "chunk_words": chunk_words}
        return losses.mean()

    @staticmethod
    def backward(ctx: Any, *d_losses: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        (d_loss,) = d_losses
        hidden, weight, target, lse = ctx.saved_tensors
        d_hidden, d_weight = mean_loss_gradients(hidden, weight, target, lse=lse, **ctx.options)
        return (d_hidden * d_loss).to(hidden.dtype), d_weight * d_loss, None, None, None, None
