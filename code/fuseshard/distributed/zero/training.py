"""One training step under each way to share a model out, behind one interface.

N = ranks of the group. The ways: `ddp`, the stages `zero1`, `zero2` and `zero3` by hand, and
torch's `fully_shard`; all compute the same parameters.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

from fuseshard.distributed.data_parallel import average_gradients
from fuseshard.distributed.fsdp import ShardedUnit, shard_by_hand, whole
from fuseshard.distributed.zero.formulas import check_positive
from fuseshard.distributed.zero.stages import update_by_hand

Variant = Literal["ddp", "zero1", "zero2", "zero3", "fully_shard"]
VARIANTS: tuple[Variant, ...] = get_args(Variant)


def _nothing() -> None:
    """Do nothing."""


@dataclass(frozen=True, kw_only=True)
class Training:
    """A model that is trained in one of the ways."""

    model: nn.Module
    "what is called; equal on all ranks when made"
    optimizer: torch.optim.Optimizer
    "AdamW on what this rank updates"
    kept: Sequence[torch.Tensor]
    "the parameters that stay on this rank between steps, or its shards of them"
    reduce: Callable[[], None] = field(default=_nothing)
    "after backward: average gradients, or check that hooks did so for all"
    gather: Callable[[], None] = field(default=_nothing)
    "after the optimizer: fetch the other ranks' updates, where parameters stay whole"
    read: Callable[[], dict[str, torch.Tensor]]
    "copies of all parameters, whole, by name; all ranks must call it"

    def step(self, loss: torch.Tensor) -> None:
        """Take one step: backward, average, update, and forget the gradients.

        Args:
            loss: mean over this rank's samples; shards of the batch must be equal in size.
        """
        loss.backward()
        self.reduce()
        self.optimizer.step()
        self.gather()
        self.optimizer.zero_grad()


def prepare(
    variant: Variant,
    model: nn.Module,
    inner: Sequence[nn.Module],
    group: dist.ProcessGroup | None = None,
    *,
    learning_rate: float = 1e-3,
    reshard_after_forward: bool | None = None,
) -> Training:
    """Share a model out among the ranks.

    Args:
        variant: which way.
        model: equal on all ranks; changed in place.
        inner: modules that are gathered and reduced together, none within another.
        group: ranks that take part; None means all, which `fully_shard` requires.
        learning_rate: AdamW's.
        reshard_after_forward: `zero3` and `fully_shard` alone, see `shard_by_hand`.

    Raises:
        ValueError: an unknown variant, or a learning rate that is no positive number.

    Communicates:
        nothing yet.
    """
    check_variant(variant)
    check_positive("learning_rate", learning_rate)
    if variant == "ddp":
        optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
        return Training(
            model=model,
            optimizer=optimizer,
            kept=list(model.parameters()),
            reduce=lambda: average_gradients(model, group),
            read=lambda: _copies(model),
        )
    if variant == "fully_shard":
        return _by_torch(model, inner, learning_rate, reshard_after_forward)
    if variant == "zero3":
        units = shard_by_hand(model, inner, group, reshard_after_forward=reshard_after_forward)
        return _sharded(model, units, learning_rate)
    return _updated(model, inner, group, is_eager=variant == "zero2", learning_rate=learning_rate)


def check_variant(variant: object) -> None:
    """Refuse an unknown way to train.

    Args:
        variant: one of `VARIANTS`.

    Raises:
        ValueError: it is something else.
    """
    if variant not in VARIANTS:
        raise ValueError(
            f"variant is {variant!r}, required is one of {', '.join(VARIANTS)} (there is code for "
            "these); pass one of them"
        )


def _updated(
    model: nn.Module,
    inner: Sequence[nn.Module],
    group: dist.ProcessGroup | None,
    *,
    is_eager: bool,
    learning_rate: float,
) -> Training:
    """ZeRO-1 and ZeRO-2."""
    units = update_by_hand(model, inner, group, is_eager=is_eager)

    def reduce() -> None:
        for unit in units:
            unit.reduce()

    def gather() -> None:
        for unit in units:
            unit.gather()

    return Training(
        model=model,
        optimizer=torch.optim.AdamW([unit.shard for unit in units], lr=learning_rate),
        kept=[unit.flat.full for unit in units],
        reduce=reduce,
        gather=gather,
        read=lambda: _copies(model),
    )


def _sharded(model: nn.Module, units: Sequence[ShardedUnit], learning_rate: float) -> Training:
    """ZeRO-3."""
    shards = [unit.shard for unit in units]

    def check() -> None:
        for unit in units:
            unit.check_reduced()

    def read() -> dict[str, torch.Tensor]:
        with whole(units):
            return _copies(model)

    optimizer = torch.optim.AdamW(shards, lr=learning_rate)
    return Training(model=model, optimizer=optimizer, kept=shards, reduce=check, read=read)


def _by_torch(
    model: nn.Module,
    inner: Sequence[nn.Module],
    learning_rate: float,
    reshard_after_forward: bool | None,
) -> Training:
    for module in inner:
        fully_shard(module, reshard_after_forward=reshard_after_forward)
    fully_shard(model, reshard_after_forward=reshard_after_forward)
    params = list(model.parameters())
    optimizer = torch.optim.AdamW(params, lr=learning_rate)
    return Training(model=model, optimizer=optimizer, kept=params, read=lambda: _copies(model))


def _copies(model: nn.Module) -> dict[str, torch.Tensor]:
    """Copies of all parameters by name; those that torch has sharded are gathered."""
    return {
        name: (param.full_tensor() if isinstance(param, DTensor) else param).detach().clone()
        for name, param in model.named_parameters()
    }
