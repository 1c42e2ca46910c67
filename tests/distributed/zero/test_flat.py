"""Flat parameters. Oracles: the parameters before, and a sum over ranks worked by hand.

3 gloo ranks; 11 elements, which 3 doesn't divide.
"""

import warnings

import pytest
import torch
from torch import nn

from fuseshard.distributed.launcher import run
from fuseshard.distributed.zero.flat import (
    FlatParameters,
    all_gather_single,
    reduce_scatter_single,
)

pytestmark = pytest.mark.ranks


def params():
    first = torch.arange(8.0).view(4, 2).t()  # strides that aren't contiguous
    return [nn.Parameter(first), nn.Parameter(torch.arange(3.0) + 8)]


def used(rank, size):
    """What a flat buffer does on one rank, step by step."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mine = params()
        flat = FlatParameters(mine)
        shard = flat.own.clone()
        flat.free()
        is_free = not flat.is_whole
        flat.gather(shard + 1)
        gathered = [param.detach().clone() for param in mine]
        mine[0].grad = torch.full((2, 4), float(rank + 1))
        reduced = flat.reduce_gradients()
    return is_free, gathered, shard, reduced, [param.grad for param in mine]


@pytest.fixture(scope="module")
def outcome():
    return run(used, 3)


def test_shards_are_parts_of_what_lies_end_to_end(outcome) -> None:
    laid = torch.cat([*(param.detach().flatten() for param in params()), torch.zeros(1)])
    assert torch.equal(torch.cat([shard for _, _, shard, _, _ in outcome]), laid)


def test_gathering_brings_back_values_that_were_freed(outcome) -> None:
    for is_free, gathered, _, _, _ in outcome:
        assert is_free
        assert all(torch.equal(a, b + 1) for a, b in zip(gathered, params(), strict=True))


def test_gradients_are_averaged_and_whole_ones_dropped(outcome) -> None:
    averaged = torch.cat([reduced for _, _, _, reduced, _ in outcome])
    assert torch.equal(averaged, torch.tensor([2.0] * 8 + [0.0] * 4))
    assert all(left == [None, None] for *_, left in outcome)


def moved(rank, size):
    """Our names for torch's collectives, and whether any call warned."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        whole = torch.empty(2 * size)
        all_gather_single(whole, torch.full((2,), float(rank)))
        shard = torch.empty(2)
        reduce_scatter_single(shard, torch.arange(2.0 * size) + rank)
    return whole, shard, len(caught)


def test_the_collectives_keep_torchs_meaning_and_do_not_warn() -> None:
    for rank, (whole, shard, num_warnings) in enumerate(run(moved, 3)):
        assert whole.tolist() == [0, 0, 1, 1, 2, 2]
        assert shard.tolist() == [3 * (2 * rank) + 3, 3 * (2 * rank + 1) + 3]
        assert num_warnings == 0


def test_no_parameters_are_refused() -> None:
    with pytest.raises(ValueError, match="got no parameters"):
        FlatParameters([])
