"""PyTorch's plan for MiniGPT. Oracles: torch's own warnings, and rows reordered by hand."""

import warnings

import pytest
import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module

from fuseshard.distributed.launcher import run
from fuseshard.distributed.tensor.library import (
    HeadMajorAttention,
    check_plan,
    from_head_major,
    parallelize_minigpt,
    sequence_plan,
    tensor_plan,
    to_head_major,
    unmatched_keys,
)
from fuseshard.models.minigpt import Attention, MiniGPT, MiniGPTConfig

CONFIG = MiniGPTConfig(vocabulary=13, width=12, num_layers=2, num_heads=4, context=8)


def test_head_major_attention_is_attention():
    torch.manual_seed(0)
    attention = Attention(CONFIG).double()
    x = torch.randn(2, 5, 12, dtype=torch.float64)
    expected = attention(x)
    torch.testing.assert_close(HeadMajorAttention(attention)(x), expected, rtol=1e-13, atol=1e-14)


def test_rows_go_head_by_head_and_back():
    rows = torch.arange(24)  # queries 0 to 7, keys 8 to 15, values 16 to 23; 4 heads of 2
    moved = to_head_major(rows, 4)
    assert moved.tolist()[:6] == [0, 1, 8, 9, 16, 17]
    assert torch.equal(from_head_major(moved, 4), rows)


@pytest.mark.parametrize("key", ["blocks.*.feed_forward.up", "blocks.1.attention", "head", ""])
def test_keys_that_fit_are_found(key):
    assert unmatched_keys(MiniGPT(CONFIG), [key]) == []


@pytest.mark.parametrize(
    "key", ["blocks.*.feed_foward.up", "block.0.attention", "heads", "head.weight", "blocks.2.norm"]
)
def test_keys_that_fit_nothing_are_named(key):
    assert unmatched_keys(MiniGPT(CONFIG), ["head", key]) == [key]
    with pytest.raises(ValueError, match="must name modules that exist"):
        check_plan(MiniGPT(CONFIG), {key: None})


def test_our_plans_fit_the_model():
    for plan in (tensor_plan(), *sequence_plan()):
        check_plan(MiniGPT(CONFIG), plan)


def mistyped(rank, size):
    """What torch does with a key that fits nothing, and with one that fits."""
    mesh = init_device_mesh("cpu", (size,))
    found = []
    for key in ("feed_foward.up", "feed_forward.up"):
        model = nn.ModuleDict({"feed_forward": nn.ModuleDict({"up": nn.Linear(4, 6)})})
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            parallelize_module(model, mesh, {key: ColwiseParallel()})
        weight = model["feed_forward"]["up"].weight
        is_unmatched = bool(unmatched_keys(model, [key]))
        found.append((len(caught), isinstance(weight, DTensor), is_unmatched))
    return found


@pytest.mark.ranks
def test_torch_only_warns_of_a_key_that_we_name():
    assert run(mistyped, 2) == [[(1, False, True), (0, True, False)]] * 2


def refused(rank, size):
    model = MiniGPT(CONFIG)
    del model.head
    try:
        parallelize_minigpt(model, init_device_mesh("cpu", (size,)))
    except ValueError as error:
        return str(error)
    return ""


@pytest.mark.ranks
def test_a_model_that_the_plan_doesnt_fit_is_refused_before_it_is_split():
    assert all("the plan names ['head']" in message for message in run(refused, 2))
