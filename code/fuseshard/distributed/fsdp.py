"""Fully sharded data parallelism by hand: a module is whole only while it computes.

N = ranks of the group, S = bytes of all parameters. Each rank keeps 1/N of every unit and trains
that. A *unit* is a module whose parameters are gathered, freed and reduced together.

    before forward    all-gather: parameters whole
    after forward     free them (unless the unit keeps them for the backward pass)
    before backward   all-gather, if they were freed
    after backward    reduce-scatter the gradients, free parameters and whole gradients
    optimizer         AdamW on the shards, which knows nothing of all this

torch's own is `torch.distributed.fsdp.fully_shard`, which cuts each parameter on its first
dimension instead of a flat buffer, and overlaps communication with computation.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import nn

from fuseshard.distributed.zero.flat import FlatParameters, cut_in_units


class ShardedUnit:
    """One module's parameters as a shard, and the hooks that make them whole in time.

    Args:
        module: its passes are what the unit must be whole for; returns a tensor or a tuple.
        params: the unit's parameters; equal on all ranks, as nothing here makes them so.
        group: ranks that share them; None means all.
        reshard_after_forward: free the parameters after the forward pass, and gather them again
            for the backward pass.

    Communicates:
        in a step two all-gathers of the unit, or one without resharding, and one reduce-scatter.

    Source:
        Zhao et al. 2023, section 3, arXiv:2304.11277.
    """

    def __init__(
        self,
        module: nn.Module,
        params: Sequence[nn.Parameter],
        group: dist.ProcessGroup | None = None,
        *,
        reshard_after_forward: bool = True,
    ) -> None:
        self.flat = FlatParameters(params, group)
        self.shard = nn.Parameter(self.flat.own.clone())
        """[Q], what this rank keeps and trains; its gradient is that of the average loss"""
        self.flat.free()
        self._num_ready, self._gathered = 0, -1
        module.register_forward_pre_hook(self._before_forward)
        if reshard_after_forward:
            module.register_forward_hook(self._after_forward)
        module.register_full_backward_pre_hook(self._before_backward)
        for param in params:
            param.register_post_accumulate_grad_hook(self._gradient_ready)

    def gather(self) -> None:
        """Make the parameters whole, if they aren't, or were before the optimizer's last step."""
        written = self.shard._version  # counts writes; private, in 2.11 and 2.13
        if not self.flat.is_whole or self._gathered != written:
            self.flat.gather(self.shard)  # sends (N - 1)/N of the unit
            self._gathered = written

    def check_reduced(self) -> None:
        """Refuse to go on with a unit that the last backward pass left half done.

        Raises:
            RuntimeError: some of its gradients are there, and not all.
        """
        if self._num_ready:
            raise RuntimeError(
                f"ShardedUnit: the last backward pass left gradients for {self._num_ready} of "
                f"{len(self.flat.params)} parameters, required are all (a unit is reduced as a "
                "whole); use every parameter of a unit in each step, or make it smaller"
            )

    def _before_forward(self, *_: object) -> None:
        self.check_reduced()
        self.gather()

    def _after_forward(self, *_: object) -> None:
        self.flat.free()

    def _before_backward(self, *_: object) -> None:
        self.gather()

    def _gradient_ready(self, param: torch.Tensor) -> None:
        """Reduce and free once the unit's last gradient is there."""
        self._num_ready += 1
        if self._num_ready < len(self.flat.params):
            return
        self._num_ready = 0
        reduced = self.flat.reduce_gradients()  # sends (N - 1)/N of the unit
        self.shard.grad = reduced if self.shard.grad is None else self.shard.grad + reduced
        self.flat.free()


def shard_by_hand(
    model: nn.Module,
    inner: Sequence[nn.Module],
    group: dist.ProcessGroup | None = None,
    *,
    reshard_after_forward: bool | None = None,
) -> list[ShardedUnit]:
    """Make a unit of each inner module and one of what is left; train the units' shards.

    ```python
    units = shard_by_hand(model, list(model.blocks))
    optimizer = torch.optim.AdamW([unit.shard for unit in units])
    ```

    Args:
        model: equal on all ranks, which must use the same units in the same order in each step;
            its parameters lose their values outside its passes.
        inner: modules inside it, none within another.
        group: ranks that share it; None means all.
        reshard_after_forward: for all units; None means True for inner modules and False for what
            is left, whose backward pass begins at once (torch's default too).

    Returns:
        one unit an inner module, in order, then the one of the model itself, if anything is left.

    Raises:
        ValueError: inner modules overlap, aren't in the model or share parameters, or a unit's
            parameters can't share a buffer, see `FlatParameters`; nothing was changed.

    Communicates:
        nothing yet.
    """
    _check_shared(model)
    units = []
    for module, params in cut_in_units(model, inner, group):
        default = module is not model
        reshard = default if reshard_after_forward is None else reshard_after_forward
        units.append(ShardedUnit(module, params, group, reshard_after_forward=reshard))
    return units


@contextmanager
def whole(units: Sequence[ShardedUnit]) -> Iterator[None]:
    """Make all parameters readable inside the context, as for a checkpoint of the full model.

    Args:
        units: of one model; all ranks must enter.

    Communicates:
        one all-gather a unit that isn't whole, or was before the optimizer's last step.
    """
    gathered = [unit for unit in units if not unit.flat.is_whole]
    for unit in units:
        unit.gather()
    try:
        yield
    finally:
        for unit in gathered:
            unit.flat.free()


def _check_shared(model: nn.Module) -> None:
    """Refuse a parameter under two names: its two uses may need it at different times."""
    names: dict[nn.Parameter, str] = {}
    for name, param in model.named_parameters(remove_duplicate=False):
        if param in names:
            raise ValueError(
                f"shard_by_hand: {names[param]} and {name} are one parameter, required is one "
                "name each (two units would free it under each other); untie them"
            )
        names[param] = name
