"""Checks for silent failures, on 2 and 3 gloo ranks. Oracle: tensors that differ in one bit."""

import pytest
import torch
import torch.distributed as dist
from torch import nn

from fuseshard.distributed.lab.detect import (
    fingerprint,
    require_plan,
    require_same,
    require_same_tensors,
    require_whole_heads,
)
from fuseshard.distributed.lab.exhibit import CALM_S, observe


def test_a_fingerprint_depends_on_every_bit_on_dtype_and_on_shape() -> None:
    tensor = torch.arange(7.0)
    other = tensor.clone()
    other.view(torch.int32)[6] ^= 1
    marks = [tensor, other, tensor.view(7, 1), tensor.view(torch.int32), torch.arange(6.0)]
    assert len({fingerprint(one) for one in marks}) == len(marks)
    assert fingerprint(tensor.clone()) == fingerprint(tensor)
    strided = torch.stack([tensor, -tensor], dim=1)[:, 0]
    assert fingerprint(strided) == fingerprint(tensor)
    assert fingerprint(torch.tensor(0.0)) != fingerprint(torch.tensor(-0.0))
    assert len(fingerprint(torch.empty(0))) == 12


def same(rank: int, group: dist.ProcessGroup) -> bool:
    require_same({"lr": 0.1}, group, name="the settings")
    require_same_tensors([("a", torch.arange(5)), ("b", torch.ones(1))], group)
    require_whole_heads(6, group)
    return True


def other_value(rank: int, group: dist.ProcessGroup) -> None:
    require_same({"lr": 0.1 * (1 + (rank == 1))}, group, name="the settings")


def other_tensor(rank: int, group: dist.ProcessGroup) -> None:
    odd = torch.ones(3)
    odd[2] += 1e-7 * (rank == 2)
    require_same_tensors([("a", torch.arange(5)), ("b", odd), ("c", odd)], group)


@pytest.mark.ranks
def test_equal_ranks_pass() -> None:
    assert observe(same, world_size=3, patience_s=CALM_S).results == (True, True, True)


@pytest.mark.ranks
@pytest.mark.parametrize(
    ("code", "starts"),
    [
        (other_value, "the settings differs: rank 0 has {'lr': 0.1}, rank 1 has {'lr': 0.2}, ra"),
        (other_tensor, "b differs: rank 0 has "),
    ],
)
def test_one_that_differs_raises_on_all_ranks(code, starts: str) -> None:
    seen = observe(code, world_size=3, patience_s=CALM_S)
    assert seen.speaker == "check" and seen.message.startswith(starts)
    assert len(seen.others) == 2
    assert all("CheckError" in reason for _, reason in seen.others)


def test_a_plan_is_held_against_the_names_of_layers() -> None:
    model = nn.ModuleDict({"layers": nn.ModuleList([nn.Linear(1, 1)]), "head": nn.Linear(1, 1)})
    require_plan(model, {"layers.*": 0, "head": 0, "": 0})
    with pytest.raises(RuntimeError, match=r"'haed' names no layer .*did you mean 'head'"):
        require_plan(model, {"head": 0, "haed": 0})
    with pytest.raises(RuntimeError, match=r"'blocks\.\*' names no layer of \['layers'"):
        require_plan(model, {"blocks.*": 0})
