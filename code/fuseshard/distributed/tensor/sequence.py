"""Sequence parallelism: between parallel regions, each rank has some of the tokens.

N = ranks, B = sequences, T = tokens, D = width. An all-reduce is a reduce-scatter followed by an
all-gather; sequence parallelism moves them apart, so that norms, residuals and all that is saved
for them shrink to T/N tokens, for the same bytes.
"""

from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

from fuseshard.distributed.tensor.exchange import Group, all_gathered, reduce_scattered
from fuseshard.distributed.tensor_parallel import ColumnParallelLinear

SEQUENCE_DIM = 1
"""of activations, [B, T, D]"""


def gather_sequence(x: torch.Tensor, group: Group = None) -> torch.Tensor:
    """Enter a parallel region: all tokens together; backward the sum of one's own tokens.

    Args:
        x: [B, T/N, D], other tokens on each rank.
        group: ranks that take part; None means all.

    Communicates:
        forward one all-gather, backward one reduce-scatter, each of [B, T, D], see
        `all_gather_bytes` and `reduce_scatter_bytes`.

    Source:
        Korthikanti et al. 2022, section 4.2, arXiv:2205.05198.
    """
    return _GatherSequence.apply(x, group)


def scatter_sequence(x: torch.Tensor, group: Group = None) -> torch.Tensor:
    """Leave a parallel region: add up the ranks' terms, keep one's own tokens.

    Args:
        x: [B, T, D], one term of a sum on each rank; N divides T.
        group: ranks that take part; None means all.

    Raises:
        ValueError: N doesn't divide T.

    Communicates:
        forward one reduce-scatter, backward one all-gather, each of [B, T, D].

    Source:
        Korthikanti et al. 2022, section 4.2, arXiv:2205.05198.
    """
    return _ScatterSequence.apply(x, group)


class RegatheringLinear(ColumnParallelLinear):
    """A column-parallel layer on T/N tokens that saves only those, and gathers them twice.

    `gather_sequence` leaves the gathered input in memory for the weight's gradient, all T tokens
    on each rank. This layer fetches it again in the backward pass: less memory, and one
    all-gather of [B, T, D] more.
    """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Compute this rank's outputs for all tokens: [B, T/N, I] to [B, T, O/N]."""
        y = _RegatheredProduct.apply(x, self.weight, self.group)
        return y if self.bias is None else y + self.bias


def reduce_replicated_gradients(params: list[nn.Parameter], group: Group = None) -> None:
    """Add up the gradients of parameters that are whole on each rank but saw only some tokens.

    Norms, positions and biases behind a reduce-scatter need it under sequence parallelism, and
    only there. They travel in one flat tensor.

    Args:
        params: in the same order on all ranks, those without a gradient left out; gradients are
            overwritten.
        group: ranks that take part; None means all.

    Communicates:
        one all-reduce of all these gradients, see `all_reduce_bytes`.
    """
    gradients = [param.grad for param in params if param.grad is not None]
    if not gradients:
        return
    flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
    dist.all_reduce(flat, group=group)
    pieces = flat.split([gradient.numel() for gradient in gradients])
    for gradient, piece in zip(gradients, pieces, strict=True):
        gradient.copy_(piece.view_as(gradient))


class _GatherSequence(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, group: Group) -> torch.Tensor:
        ctx.group = group
        return all_gathered(x, SEQUENCE_DIM, group)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return reduce_scattered(gradient, SEQUENCE_DIM, ctx.group), None


class _ScatterSequence(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, group: Group) -> torch.Tensor:
        ctx.group = group
        return reduce_scattered(x, SEQUENCE_DIM, group)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return all_gathered(gradient, SEQUENCE_DIM, ctx.group), None


class _RegatheredProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, weight: torch.Tensor, group: Group) -> torch.Tensor:
        ctx.group = group
        ctx.save_for_backward(x, weight)
        return functional.linear(all_gathered(x, SEQUENCE_DIM, group), weight)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, None]:
        x, weight = ctx.saved_tensors
        whole = all_gathered(x, SEQUENCE_DIM, ctx.group)
        by_weight = gradient.flatten(0, 1).T @ whole.flatten(0, 1)
        return reduce_scattered(gradient @ weight, SEQUENCE_DIM, ctx.group), by_weight, None
