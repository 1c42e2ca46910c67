"""ZeRO's stages 1 and 2 by hand: whole parameters, sharded optimizer states and gradients.

N = ranks of the group, Q = elements of a shard.
"""

from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import nn

from fuseshard.distributed.zero.flat import FlatParameters, cut_in_units


class UpdatedUnit:
    """Whole parameters of which this rank updates a shard: stage 1, and stage 2 if it is eager.

    The shard is a view of the parameters, so that it takes no memory of its own.

    Args:
        params: equal on all ranks, and kept so.
        group: ranks that share the work; None means all.
        is_eager: reduce as soon as the last gradient is ready and drop the whole gradients (stage
            2), instead of when `reduce` is called after the backward pass (stage 1).

    Communicates:
        in a step one reduce-scatter and one all-gather of the parameters.

    Source:
        Rajbhandari et al. 2020, section 5, arXiv:1910.02054.
    """

    def __init__(
        self,
        params: Sequence[nn.Parameter],
        group: dist.ProcessGroup | None = None,
        *,
        is_eager: bool,
    ) -> None:
        self.flat = FlatParameters(params, group)
        self.shard = nn.Parameter(self.flat.own)
        """[Q], the part of the parameters that this rank updates"""
        self._num_ready = 0
        if is_eager:
            for param in params:
                param.register_post_accumulate_grad_hook(self._gradient_ready)

    def reduce(self) -> None:
        """Average the gradients into `shard.grad`; whole gradients are dropped."""
        if any(param.grad is not None for param in self.flat.params):
            reduced = self.flat.reduce_gradients()  # sends (N - 1)/N of the unit
            self.shard.grad = reduced if self.shard.grad is None else self.shard.grad + reduced
        self._num_ready = 0

    def gather(self) -> None:
        """Fetch what the other ranks have updated."""
        self.flat.gather(self.shard)  # sends (N - 1)/N of the unit

    def _gradient_ready(self, param: torch.Tensor) -> None:
        self._num_ready += 1
        if self._num_ready == len(self.flat.params):
            self.reduce()


def update_by_hand(
    model: nn.Module,
    inner: Sequence[nn.Module],
    group: dist.ProcessGroup | None = None,
    *,
    is_eager: bool,
) -> list[UpdatedUnit]:
    """Make a unit of each inner module and one of what is left.

    Args:
        model: equal on all ranks, which must use the same units in the same order in each step;
            its parameters stay whole.
        inner: modules inside it, none within another.
        group: ranks that share the work; None means all.
        is_eager: as for `UpdatedUnit`: False is stage 1, True stage 2.

    Returns:
        one unit an inner module, in order, then one of what is left, if anything is.

    Raises:
        ValueError: see `cut_in_units`; nothing was changed.

    Communicates:
        nothing yet.
    """
    units = cut_in_units(model, inner, group)
    return [UpdatedUnit(params, group, is_eager=is_eager) for _, params in units]
