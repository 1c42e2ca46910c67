"""Which unit is whole when. Oracle: the order that fully_shard's documentation gives, by hand.

2 gloo ranks, one launch.
"""

import pytest
import torch
from torch import nn
from torch.distributed.fsdp import fully_shard

from fuseshard.distributed.fsdp import shard_by_hand
from fuseshard.distributed.launcher import run
from fuseshard.distributed.meter import CommMeter
from fuseshard.distributed.zero.residency import ResidencyRecorder

pytestmark = pytest.mark.ranks


def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 8), nn.Sequential(nn.Linear(8, 8)), nn.Linear(8, 2))


def by_hand(module, inner):
    shard_by_hand(module, inner)


def by_torch(module, inner):
    for part in inner:
        fully_shard(part)
    fully_shard(module)


def recorded(rank, size):
    """The same model sharded in three ways, one step each."""
    found = {}
    for name, shard in (("hand", by_hand), ("torch", by_torch), ("not", lambda *_: None)):
        module = model()
        shard(module, [module[1]])
        with CommMeter() as meter:
            recorder = ResidencyRecorder(module, {"rest": module, "inner": module[1]}, meter)
            module(torch.full((2, 3), rank + 1.0)).sum().backward()
        found[name] = recorder.record
    return found


@pytest.fixture(scope="module")
def outcome():
    return run(recorded, 2)[1]


@pytest.mark.parametrize("way", ["hand", "torch"])
def test_the_inner_unit_is_whole_only_while_it_computes(outcome, way) -> None:
    """In the backward pass torch asks for the next unit one unit ahead, without being told."""
    ahead = int(way == "torch")
    seen = [(m.phase, m.layer, m.whole, m.gathers) for m in outcome[way].moments]
    assert seen == [
        ("forward", "0", ("rest",), 1),
        ("forward", "1.0", ("rest", "inner"), 2),
        ("forward", "2", ("rest",), 2),
        ("backward", "2", ("rest",), 2 + ahead),
        ("backward", "1.0", ("rest", "inner"), 3),
        ("backward", "0", ("rest",), 3),
    ]


def test_bytes_are_those_of_the_whole_units(outcome) -> None:
    rest, inner = 4 * (3 * 8 + 8 + 8 * 2 + 2), 4 * (8 * 8 + 8)
    for way in ("hand", "torch"):
        assert [m.gathered_bytes for m in outcome[way].moments][:3] == [rest, rest + inner, rest]


def test_without_sharding_everything_is_always_whole(outcome) -> None:
    """Must-fail twin of the first test."""
    assert {m.whole for m in outcome["not"].moments} == {("rest", "inner")}
    assert outcome["not"].moments[-1].gathers == 0
