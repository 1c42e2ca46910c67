"""Embedding and cross-entropy with the vocabulary shared out: no rank ever has all logits.

N = ranks, B = sequences, T = tokens, D = width, V = vocabulary; a rank has V/N of the tokens.
"""

from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

from fuseshard.distributed.tensor.assemble import take_parameter
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

        Raises:
            ValueError: it has a `padding_idx` or `max_norm`.
        """
        super().__init__()
        if embedding.padding_idx is not None or embedding.max_norm is not None:
            raise ValueError(
                f"VocabularyParallelEmbedding: got {embedding}, required is one without "
                "padding_idx and max_norm (rows are looked up under other numbers here, so they "
                "would be forgotten); make the embedding without them"
            )
        self.group, self.leave, self.num_embeddings = group, leave, embedding.num_embeddings
        rank, size = dist.get_rank(group), dist.get_world_size(group)
        mine = own_ranges(ranges, embedding.num_embeddings, rank, size)
        ((self.start, self.stop),) = mine
        self.weight = take_parameter(embedding.weight, 0, mine)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Look up the tokens that this rank has; the others' rows are zeros here."""
        check_tokens("tokens", tokens, self.num_embeddings)
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
        targets: [...] token numbers below V, int64, equal on all ranks; none is left out, as
            torch's `ignore_index` would. V is known to no rank here, see `check_tokens`.
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
    check_tokens("targets", targets)
    return _CrossEntropy.apply(logits, targets - start, group)


def check_tokens(name: str, tokens: torch.Tensor, vocabulary: int | None = None) -> None:
    """Refuse numbers of tokens that no rank has: each would add 0 to a sum, unseen.

    Args:
        name: of the argument.
        tokens: any shape; not modified.
        vocabulary: V, tokens that the ranks have together; None means unknown.

    Raises:
        ValueError: a number is negative, or too large.
    """
    if not tokens.numel():
        return
    least, most = int(tokens.min()), int(tokens.max())
    if least < 0 or (vocabulary is not None and most >= vocabulary):
        end = "on" if vocabulary is None else f"to {vocabulary - 1}"
        raise ValueError(
            f"tensor_parallel: {name} holds {least if least < 0 else most}, must be token numbers "
            f"from 0 {end} (no rank has another, so it would count as zeros); leave these places "
            "out"
        )


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
