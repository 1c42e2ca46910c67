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

from fuseshard.distributed.zero.flat import FlatParameters


class ShardedUnit:
    """One module's parameters as a shard, and the hooks that make them whole in time.

    Args:
        module: its forward and backward passes are what the unit must be whole for.
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
        self._num_ready = 0
        module.register_forward_pre_hook(self._before_forward)
        if reshard_after_forward:
            module.register_forward_hook(self._after_forward)
        module.register_full_backward_pre_hook(self._before_backward)
        for param in params:
            param.register_post_accumulate_grad_hook(self._gradient_ready)

    def gather(self) -> None:
        """Make the parameters whole, if they aren't."""
        if not self.flat.is_whole:
            self.flat.gather(self.shard)  # sends (N - 1)/N of the unit

    def _before_forward(self, *_: object) -> None:
        if self._num_ready:
            raise RuntimeError(
                f"ShardedUnit: the last backward pass left gradients for {self._num_ready} of "
                f"{len(self.flat.params)} parameters, required are all (a unit is reduced as a "
                "whole); use every parameter of a unit in each step, or make it smaller"
            )
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
        model: equal on all ranks; its parameters lose their values outside its passes.
        inner: modules inside it, none within another.
        group: ranks that share it; None means all.
        reshard_after_forward: for all units; None means True for inner modules and False for what
            is left, whose backward pass begins at once (torch's default too).

    Returns:
        one unit an inner module, in order, then the one of the model itself, if anything is left.

    Raises:
        ValueError: inner modules overlap, aren't in the model, or share parameters.

    Communicates:
        nothing yet.
    """
    rest = dict.fromkeys(model.parameters())
    _check_shared(model)
    owned = []
    for module in inner:
        params = list(module.parameters())
        if any(param not in rest for param in params):
            raise ValueError(
                f"shard_by_hand: a parameter of an inner {type(module).__name__} is in another "
                "unit or not in the model, required is one unit each (it would be freed twice); "
                "pass modules of the model, none within another"
            )
        for param in params:
            del rest[param]
        owned.append((module, params, reshard_after_forward is not False))
    if rest:
        owned.append((model, list(rest), reshard_after_forward is True))
    return [
        ShardedUnit(module, params, group, reshard_after_forward=reshard)
        for module, params, reshard in owned
    ]


@contextmanager
def whole(units: Sequence[ShardedUnit]) -> Iterator[None]:
    """Make all parameters readable inside the context, as for a checkpoint of the full model.

    Args:
        units: of one model; all ranks must enter.

    Communicates:
        one all-gather a unit that isn't whole.
    """
    gathered = [unit for unit in units if not unit.flat.is_whole]
    for unit in gathered:
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
