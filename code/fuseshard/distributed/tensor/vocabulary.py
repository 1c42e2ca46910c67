"""Embedding and cross-entropy with the vocabulary shared out: no rank ever has all logits.

N = ranks, B = sequences, T = tokens, D = width, V = vocabulary; a rank has V/N of the tokens.
"""

from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

from fuseshard.distributed.tensor.assemble import take
from fuseshard.distributed.tensor.exchange import Group
from fuseshard.distributed.tensor.placements import Ranges, own_ranges
from fuseshard.distributed.tensor_parallel import Crossing, reduce_from_group


class VocabularyParallelEmbedding(nn.Module):
    """Some rows of an embedding on each rank: [B, T] token numbers to [B, T, D]."""

    def __init__(
        self,
        embedding: nn.Embedding,
        group: Group = None,
        *,
        ranges: Sequence[Ranges] | None = None,
        leave: Crossing = reduce_from_group,
    ) -> None:
        """Keep this rank's rows.

        Args:
            embedding: the whole one, equal on all ranks; copied.
            group: ranks that take part; None means all.
            ranges: one range of tokens a rank; None means pieces as equal as they come.
            leave: how the ranks' terms become a result.
        """
        super().__init__()
        self.group, self.leave = group, leave
        rank, size = dist.get_rank(group), dist.get_world_size(group)
        mine = own_ranges(ranges, embedding.num_embeddings, rank, size)
        ((self.start, self.stop),) = mine
        self.weight = nn.Parameter(take(embedding.weight, 0, mine))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Look up the tokens that this rank has; the others' rows are zeros here."""
        is_elsewhere = (tokens < self.start) | (tokens >= self.stop)
        rows = functional.embedding((tokens - self.start).masked_fill(is_elsewhere, 0), self.weight)
        return self.leave(rows.masked_fill(is_elsewhere.unsqueeze(-1), 0.0), self.group)


def vocabulary_parallel_cross_entropy(
    logits: torch.Tensor, targets: torch.Tensor, start: int, group: Group = None
) -> torch.Tensor:
    """Return the mean cross-entropy of logits that are shared out along the vocabulary.

    loss = log(sum_v exp(l_v - m)) + m - l_target,  m = max_v l_v:  a maximum, a sum and one
    logit, so three numbers a token cross between ranks instead of V.

    Args:
        logits: [..., V/N] of this rank's tokens; not modified.
        targets: [...] token numbers, int64, equal on all ranks; none is left out, as torch's
            `ignore_index` would.
        start: number of this rank's first token.
        group: ranks that take part; None means all.

    Returns:
        scalar, equal on all ranks; its backward gives [..., V/N].

    Raises:
        ValueError: a target is negative.

    Communicates:
        three all-reduces of as many elements as `targets` has; backward nothing.

    Source:
        Shoeybi et al. 2019, section 3, arXiv:1909.08053.
    """
    if targets.numel() and int(targets.min()) < 0:
        raise ValueError(
            f"vocabulary_parallel_cross_entropy: targets holds {int(targets.min())}, must be "
            "token numbers from 0 on (no rank has such a token, so it would count as a logit "
            "of 0); leave these places out of logits and targets"
        )
    return _CrossEntropy.apply(logits, targets - start, group)


class _CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, logits: torch.Tensor, local_targets: torch.Tensor, group: Group
    ) -> torch.Tensor:
        """Targets are counted from this rank's first token: some are elsewhere."""
        largest = logits.amax(-1)
        dist.all_reduce(largest, op=dist.ReduceOp.MAX, group=group)  # m
        exponentials = (logits - largest.unsqueeze(-1)).exp()
        total = exponentials.sum(-1)
        dist.all_reduce(total, group=group)  # the sum over all tokens of the vocabulary
        is_elsewhere = (local_targets < 0) | (local_targets >= logits.shape[-1])
        local = local_targets.masked_fill(is_elsewhere, 0).unsqueeze(-1)
        at_target = logits.gather(-1, local).squeeze(-1).masked_fill(is_elsewhere, 0.0)
        dist.all_reduce(at_target, group=group)  # one rank has it, the others add 0
        ctx.save_for_backward(exponentials / total.unsqueeze(-1), local, is_elsewhere)
        return (total.log() + largest - at_target).mean()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """Softmax minus one at the target, where this rank has it."""
        softmax, local, is_elsewhere = ctx.saved_tensors
        ones = (~is_elsewhere).to(softmax.dtype).unsqueeze(-1)
        by_logit = softmax.scatter_add(-1, local, -ones)
        return by_logit * (gradient / is_elsewhere.numel()), None, None
