"""Ways to train behind one interface. Oracle: their names, and what can't work is refused.

That they compute the same is in test_fsdp.py and test_stages.py.
"""

import math

import pytest
import torch
from torch import nn

from fuseshard.distributed.launcher import run
from fuseshard.distributed.zero.memory import optimizer_state_bytes
from fuseshard.distributed.zero.training import VARIANTS, check_variant, prepare


def test_an_unknown_way_is_refused() -> None:
    with pytest.raises(ValueError, match="variant is 'zero4', required is one of ddp, zero1"):
        prepare("zero4", nn.Linear(2, 2), [])
    for variant in VARIANTS:
        check_variant(variant)


@pytest.mark.parametrize("rate", [0, -1e-3, math.nan, math.inf, None])
def test_a_learning_rate_that_cannot_work_is_refused(rate) -> None:
    with pytest.raises(ValueError, match=r"learning_rate is .*, required is a positive"):
        prepare("ddp", nn.Linear(2, 2), [], learning_rate=rate)


def kept(rank, size):
    """For each way: elements kept between steps, and bytes of optimizer states."""
    found = {}
    for variant in VARIANTS:
        torch.manual_seed(0)
        module = nn.Sequential(nn.Linear(3, 8), nn.Linear(8, 4))
        training = prepare(variant, module, [module[0]])
        before = training.read()
        training.step(module(torch.full((2, 3), rank + 1.0)).mean())
        moved = any(not torch.equal(before[name], t) for name, t in training.read().items())
        numel = sum(
            t.to_local().numel() if hasattr(t, "to_local") else t.numel() for t in training.kept
        )
        found[variant] = (numel, optimizer_state_bytes(training.optimizer), moved)
    return found


@pytest.mark.ranks
def test_what_is_sharded_is_half_on_two_ranks() -> None:
    """68 parameters; an optimizer keeps 8 bytes each, and 4 a tensor for its counter."""
    assert (
        run(kept, 2)
        == [
            {
                "ddp": (68, 8 * 68 + 4 * 4, True),
                "zero1": (68, 8 * 34 + 4 * 2, True),
                "zero2": (68, 8 * 34 + 4 * 2, True),
                "zero3": (34, 8 * 34 + 4 * 2, True),
                "fully_shard": (34, 8 * 34 + 4 * 4, True),
            }
        ]
        * 2
    )
