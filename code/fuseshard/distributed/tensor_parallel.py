"""Tensor parallelism by hand: one matrix product shared out among ranks.

N = ranks of the group, B = sequences, T = tokens, I = features in, O = features out.

    column-parallel          row-parallel
    Y = X [W_0 | W_1]        Y = [X_0 | X_1] [W_0]  = X_0 W_0 + X_1 W_1
      = [X W_0 | X W_1]                      [W_1]

A column-parallel layer needs the whole X and yields slices of Y; a row-parallel one takes slices
of X and yields terms of Y, which have to be added up. One after the other, slices never have to
be put together. (nn.Linear stores W transposed: its rows are the columns above.)
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

from fuseshard.distributed.tensor.assemble import take_parameter
from fuseshard.distributed.tensor.exchange import Group, all_gathered, all_reduced, own_piece
from fuseshard.distributed.tensor.placements import Ranges, own_ranges

Crossing = Callable[[torch.Tensor, Group], torch.Tensor]
"""what happens to a tensor on its way into or out of the region in which ranks differ"""


def copy_to_group(x: torch.Tensor, group: Group = None) -> torch.Tensor:
    """Enter a parallel region with an x that is equal on all ranks: Megatron-LM's f.

    Forward there is nothing to do. Backward each rank knows how *its* slice depends on x, and
    the gradient is the sum.

    Args:
        x: any shape, equal on all ranks.
        group: ranks that take part; None means all.

    Communicates:
        forward nothing; backward one all-reduce of x's size, see `all_reduce_bytes`.

    Source:
        Shoeybi et al. 2019, section 3, arXiv:1909.08053.
    """
    return _Copy.apply(x, group)


def reduce_from_group(x: torch.Tensor, group: Group = None) -> torch.Tensor:
    """Leave a parallel region by adding up the ranks' terms: Megatron-LM's g.

    Backward there is nothing to do: each term has the gradient of the sum.

    Args:
        x: any shape, one term of a sum on each rank; not modified.
        group: ranks that take part; None means all.

    Communicates:
        forward one all-reduce of x's size, see `all_reduce_bytes`; backward nothing.

    Source:
        Shoeybi et al. 2019, section 3, arXiv:1909.08053.
    """
    return _Reduce.apply(x, group)


def gather_from_group(x: torch.Tensor, group: Group = None) -> torch.Tensor:
    """Put the ranks' slices together along the last dim; backward take one's own slice.

    Args:
        x: [..., O/N], of the same size on all ranks.
        group: ranks that take part; None means all.

    Communicates:
        forward one all-gather of N times x's size, see `all_gather_bytes`; backward nothing.
    """
    return _Gather.apply(x, group)


def scatter_to_group(x: torch.Tensor, group: Group = None) -> torch.Tensor:
    """Take one's own slice along the last dim; backward put the gradients together.

    Args:
        x: [..., I], equal on all ranks; N divides I.
        group: ranks that take part; None means all.

    Raises:
        ValueError: N doesn't divide I.

    Communicates:
        forward nothing; backward one all-gather of x's size, see `all_gather_bytes`.
    """
    return _Scatter.apply(x, group)


class ColumnParallelLinear(nn.Module):
    """Some outputs of a linear layer on each rank: [..., I] to [..., O/N]."""

    def __init__(
        self,
        linear: nn.Linear,
        group: Group = None,
        *,
        ranges: Sequence[Ranges] | None = None,
        enter: Crossing = copy_to_group,
    ) -> None:
        """Keep this rank's rows of weight and bias.

        Args:
            linear: the whole layer, equal on all ranks; copied.
            group: ranks that take part; None means all.
            ranges: which outputs each rank holds; None means equal pieces in order.
            enter: how the input gets in.
        """
        super().__init__()
        self.group, self.enter = group, enter
        rank, size = dist.get_rank(group), dist.get_world_size(group)
        mine = own_ranges(ranges, linear.out_features, rank, size)
        self.weight = take_parameter(linear.weight, 0, mine)
        self.bias = None if linear.bias is None else take_parameter(linear.bias, 0, mine)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Compute this rank's outputs."""
        return functional.linear(self.enter(x, self.group), self.weight, self.bias)


class RowParallelLinear(nn.Module):
    """Some inputs of a linear layer on each rank: [..., I/N] to [..., O]."""

    def __init__(
        self,
        linear: nn.Linear,
        group: Group = None,
        *,
        ranges: Sequence[Ranges] | None = None,
        leave: Crossing = reduce_from_group,
    ) -> None:
        """Keep this rank's columns of the weight, and the whole bias.

        Args:
            linear: the whole layer, equal on all ranks; copied.
            group: ranks that take part; None means all.
            ranges: which inputs each rank holds; None means equal pieces in order.
            leave: how the terms become a result.
        """
        super().__init__()
        self.group, self.leave = group, leave
        rank, size = dist.get_rank(group), dist.get_world_size(group)
        mine = own_ranges(ranges, linear.in_features, rank, size)
        self.weight = take_parameter(linear.weight, 1, mine)
        self.bias = deepcopy(linear.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Add the ranks' terms, then the bias: before, it would be added N times."""
        y = self.leave(functional.linear(x, self.weight), self.group)
        return y if self.bias is None else y + self.bias


class _Copy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, group: Group) -> torch.Tensor:
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return all_reduced(gradient, ctx.group), None  # 2 (N - 1)/N of x's elements


class _Reduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, group: Group) -> torch.Tensor:
        return all_reduced(x, group)  # 2 (N - 1)/N of x's elements

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return gradient, None


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, group: Group) -> torch.Tensor:
        ctx.group = group
        return all_gathered(x, -1, group)  # (N - 1) times x's elements

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return own_piece(gradient, -1, ctx.group), None


class _Scatter(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, group: Group) -> torch.Tensor:
        ctx.group = group
        return own_piece(x, -1, group)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return all_gathered(gradient, -1, ctx.group), None  # (N - 1)/N of x's elements
