"""Layer 1. Oracle: the whole model; stages one after the other must give its very numbers."""

import pytest
import torch

from fuseshard.models.minigpt import MiniGPT, MiniGPTConfig
from fuseshard.models.minigpt_stages import cut_into_stages

CONFIG = MiniGPTConfig(vocabulary=31, width=12, num_layers=5, num_heads=3, context=9)
TOKENS = torch.randint(0, 31, (3, 7), generator=torch.Generator().manual_seed(1))


def chained(stages):
    x = TOKENS
    for stage in stages:
        x = stage(x)
    return x


@pytest.mark.parametrize("num_stages", [1, 2, 3, 5])
def test_stages_in_a_row_are_the_model(num_stages):
    model = MiniGPT(CONFIG)
    assert torch.equal(chained(cut_into_stages(model, num_stages)), model(TOKENS))


def test_stages_in_another_order_are_not_the_model():
    model = MiniGPT(CONFIG)
    first, second, third, last = cut_into_stages(model, 4)
    assert not torch.equal(chained([first, third, second, last]), model(TOKENS))


@pytest.mark.parametrize("num_stages", [1, 2, 3, 4, 5])
def test_each_parameter_is_in_one_stage_under_its_own_name(num_stages):
    model = MiniGPT(CONFIG)
    found = [
        pair for stage in cut_into_stages(model, num_stages) for pair in stage.named_parameters()
    ]
    assert sorted(name for name, _ in found) == sorted(name for name, _ in model.named_parameters())
    assert all(param is model.get_parameter(name) for name, param in found)


def test_blocks_that_dont_divide_evenly_go_to_earlier_stages():
    lengths = [len(stage.blocks) for stage in cut_into_stages(MiniGPT(CONFIG), 3)]
    assert lengths == [2, 2, 1]


@pytest.mark.parametrize("num_stages", [0, 6])
def test_more_stages_than_blocks_are_refused(num_stages):
    with pytest.raises(ValueError, match=f"num_stages is {num_stages}, required is 1 to 5"):
        cut_into_stages(MiniGPT(CONFIG), num_stages)
