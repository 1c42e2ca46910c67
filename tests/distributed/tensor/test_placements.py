"""Placements and refusals. Oracles: MiniGPT's own parameters, and torch's way to cut a tensor."""

import dataclasses
import math

import pytest
import torch

from fuseshard.distributed.tensor.assemble import assemble, replicas_differ, take
from fuseshard.distributed.tensor.placements import (
    check_sizes,
    even_ranges,
    minigpt_placements,
    num_local_elements,
    own_ranges,
)
from fuseshard.models.minigpt import MiniGPT, MiniGPTConfig

CONFIG = MiniGPTConfig(vocabulary=31, width=24, num_layers=2, num_heads=12, context=20)


@dataclasses.dataclass
class Numbers:
    """Sizes that MiniGPTConfig itself would refuse."""

    vocabulary: object = 600
    width: object = 64
    num_layers: object = 4
    num_heads: object = 4
    context: object = 128


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 6, 12])
def test_placements_name_the_models_parameters_in_order_with_their_shapes(degree):
    shapes = {name: tuple(param.shape) for name, param in MiniGPT(CONFIG).named_parameters()}
    placements = minigpt_placements(CONFIG, degree)
    assert list(placements) == list(shapes)
    assert {name: placement.shape for name, placement in placements.items()} == shapes


@pytest.mark.parametrize("degree", [2, 3, 4])
def test_each_row_or_column_lives_on_one_rank(degree):
    for placement in minigpt_placements(CONFIG, degree).values():
        if placement.dim is not None:
            held = [i for ranges in placement.ranges for a, b in ranges for i in range(a, b)]
            assert sorted(held) == list(range(placement.shape[placement.dim])), placement.name


def test_a_rank_holds_whole_heads_of_queries_keys_and_values():
    qkv = minigpt_placements(CONFIG, 3)["blocks.1.attention.qkv.weight"]
    assert qkv.ranges[1] == ((8, 16), (32, 40), (56, 64))
    assert qkv.local_shape(1) == (24, 24)


def test_parts_put_together_are_the_whole():
    whole = {name: param.detach() for name, param in MiniGPT(CONFIG).named_parameters()}
    placements = minigpt_placements(CONFIG, 4)
    parts = [
        {
            name: tensor
            if placements[name].dim is None
            else take(tensor, placements[name].dim, placements[name].ranges[rank])
            for name, tensor in whole.items()
        }
        for rank in range(4)
    ]
    found = assemble(parts, placements)
    assert all(torch.equal(found[name], tensor) for name, tensor in whole.items())
    sizes = [sum(tensor.numel() for tensor in part.values()) for part in parts]
    assert sizes == [num_local_elements(placements, rank) for rank in range(4)]
    assert replicas_differ(parts, placements) == []
    parts[2]["norm.bias"] = parts[2]["norm.bias"] + 1
    assert replicas_differ(parts, placements) == ["norm.bias"]


def test_swapped_parts_are_another_tensor_and_odd_ones_are_refused():
    placements = {"head.bias": minigpt_placements(CONFIG, 4)["head.bias"]}
    parts = [{"head.bias": torch.arange(31.0).tensor_split(4)[rank]} for rank in range(4)]
    assert torch.equal(assemble(parts, placements)["head.bias"], torch.arange(31.0))
    swapped = [parts[1], parts[0], *parts[2:]]
    assert not torch.equal(assemble(swapped, placements)["head.bias"], torch.arange(31.0))
    with pytest.raises(ValueError, match=r"rank 0 has head.bias of shape \(7,\), must be \(8,\)"):
        assemble([parts[3], *parts[1:]], placements)


@pytest.mark.parametrize(("size", "parts"), [(12, 4), (13, 4), (7, 3), (5, 4), (4, 4), (9, 1)])
def test_even_ranges_are_those_of_tensor_split(size, parts):
    pieces = torch.arange(size).tensor_split(parts)
    found = [list(range(*pair)) for (pair,) in even_ranges(size, parts)]
    assert found == [piece.tolist() for piece in pieces]


@pytest.mark.parametrize(
    ("sizes", "degree", "length", "message"),
    [
        ({"num_heads": 6}, 4, None, r"num_heads is 6, must be a multiple of tp_degree 4 \(each "),
        ({"num_heads": 6}, 4, None, r"use tp_degree 1, 2, 3 or 6$"),
        ({"num_heads": 1}, 2, None, r"use tp_degree 1$"),
        ({"num_heads": 0}, 2, None, "num_heads is 0, must be a whole number of at least 1"),
        ({"num_heads": -4}, 2, None, "num_heads is -4, must be a whole number of at least 1"),
        ({"num_heads": math.nan}, 2, None, "num_heads is nan, must be a whole number"),
        ({"num_heads": 4.0}, 2, None, "num_heads is 4.0, must be a whole number"),
        ({"vocabulary": 3}, 4, None, "vocabulary is 3, must be at least tp_degree 4"),
        ({"vocabulary": 0}, 4, None, "vocabulary is 0, must be a whole number of at least 1"),
        ({"vocabulary": True}, 1, None, "vocabulary is True, must be a whole number"),
        ({}, 0, None, "tp_degree is 0, must be a whole number of at least 1"),
        ({}, -2, None, "tp_degree is -2, must be a whole number of at least 1"),
        ({}, math.nan, None, "tp_degree is nan, must be a whole number of at least 1"),
        ({}, 2.0, None, "tp_degree is 2.0, must be a whole number of at least 1"),
        ({}, True, None, "tp_degree is True, must be a whole number of at least 1"),
        ({}, "2", None, "tp_degree is '2', must be a whole number of at least 1"),
        ({}, 4, 10, "sequence_length is 10, must be a multiple of tp_degree 4"),
        ({}, 4, 0, "sequence_length is 0, must be a whole number of at least 1"),
    ],
)
def test_what_cant_be_shared_is_refused_with_value_rule_and_way_out(sizes, degree, length, message):
    with pytest.raises(ValueError, match=f"^tensor_parallel: .*{message}"):
        check_sizes(Numbers(**sizes), degree, sequence_length=length)


def test_a_fair_share_passes():
    check_sizes(Numbers(), 4, sequence_length=12)
    assert len(minigpt_placements(Numbers(), 4)) == 2 + 4 * 12 + 4


def test_ranges_given_must_be_one_a_rank_inside_the_dim():
    halves = even_ranges(9, 2)
    assert own_ranges(halves, 9, 1, 2) == ((5, 9),)
    assert own_ranges(None, 9, 1, 2) == ((5, 9),)
    with pytest.raises(ValueError, match="ranges has 2 entries, must have one for each of 3"):
        own_ranges(halves, 9, 1, 3)
    with pytest.raises(ValueError, match=r"ranges holds \(5, 9\), must lie between 0 and 8"):
        own_ranges(halves, 8, 1, 2)


@pytest.mark.parametrize("size", [0, -3, math.nan, 2.0])
def test_a_dim_of_no_length_is_refused(size):
    with pytest.raises(ValueError, match=f"size is {size}, must be a whole number of at least 1"):
        even_ranges(size, 2)


def test_more_parts_than_elements_are_refused():
    with pytest.raises(ValueError, match="the dim to cut has 3 elements, must be at least tp_deg"):
        even_ranges(3, 4)
