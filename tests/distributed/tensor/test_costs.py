"""Formulas of what is sent. Oracles: the paper's counts, and a block's own parameters.

That runs send as much is tested in test_minigpt.py.
"""

import math

import pytest

from fuseshard.distributed.tensor.costs import (
    block_bytes,
    data_parallel_bytes,
    regathered_bytes,
    step_bytes,
)
from fuseshard.distributed.traffic import all_reduce_bytes
from fuseshard.models.minigpt import Block, MiniGPTConfig

CONFIG = MiniGPTConfig(vocabulary=31, width=24, num_layers=3, num_heads=4)


def test_a_block_sends_four_all_reduces_of_its_activation():
    assert block_bytes(10, 24, 2) == 4 * all_reduce_bytes(10 * 24 * 4, 2) == 3840
    assert block_bytes(10, 24, 4, element_bytes=2) == 4 * 1.5 * 10 * 24 * 2
    assert block_bytes(10, 24, 1) == 0


def test_a_step_is_its_blocks_two_ends_and_three_numbers_a_token():
    found = step_bytes(CONFIG, 10, 2)
    assert found == {"blocks": 3 * 3840, "ends": 2 * 960, "loss": 3 * 40}


def test_gathering_twice_sends_a_quarter_more_for_a_block():
    more = regathered_bytes(CONFIG, 10, 2) - 960 / 2  # without the head's
    assert more == 3 * block_bytes(10, 24, 2) / 4


def test_data_parallelism_sends_a_blocks_parameters():
    num_bytes = sum(param.nbytes for param in Block(CONFIG).parameters())
    assert data_parallel_bytes(CONFIG, 4) == all_reduce_bytes(num_bytes, 4)


@pytest.mark.parametrize("value", [0, -8, math.nan, 2.5])
@pytest.mark.parametrize(("name", "place"), [("num_tokens", 0), ("width", 1), ("tp_degree", 2)])
def test_what_counts_nothing_is_refused(name, place, value):
    arguments = [10, 24, 2]
    arguments[place] = value
    with pytest.raises(ValueError, match=f"{name} is {value}, must be a whole number of at least"):
        block_bytes(*arguments)
