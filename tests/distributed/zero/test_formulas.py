"""What sharded training keeps and sends. Oracle: the ZeRO paper's own table, worked by hand."""

import math

import pytest

from fuseshard.distributed.zero.formulas import (
    check_positive,
    check_stage,
    check_world_size,
    model_state_bytes,
    step_traffic_bytes,
)
from fuseshard.distributed.zero.records import FLOAT32, MIXED


@pytest.mark.parametrize(("stage", "gigabytes"), [(0, 120), (1, 31.4), (2, 16.6), (3, 1.9)])
def test_the_papers_example_comes_out(stage, gigabytes) -> None:
    """Figure 1 of arXiv:1910.02054: 7.5e9 parameters, 64 ranks, mixed precision."""
    states = model_state_bytes(7.5e9, 64, stage, each=MIXED)
    assert states.total / 1e9 == pytest.approx(gigabytes, abs=0.05)


@pytest.mark.parametrize("each", [FLOAT32, MIXED])
def test_a_parameter_takes_16_bytes(each) -> None:
    assert each.total == 16
    assert model_state_bytes(1, 1, 3, each=each).total == 16


def test_each_stage_divides_one_thing_more() -> None:
    found = [model_state_bytes(10, 2, stage) for stage in range(4)]
    assert [s.optimizer_states for s in found] == [80, 40, 40, 40]
    assert [s.gradients for s in found] == [40, 40, 20, 20]
    assert [s.parameters for s in found] == [40, 40, 40, 20]


@pytest.mark.parametrize(
    ("stage", "kept", "rounds"),
    [(0, 0, 2), (1, 0, 2), (2, 0, 2), (3, 0, 3), (3, 4000, 2), (3, 1000, 2.75)],
)
def test_traffic_is_two_to_three_times_the_parameters(stage, kept, rounds) -> None:
    assert step_traffic_bytes(4000, 4, stage, kept_bytes=kept) == rounds * 3000


@pytest.mark.parametrize("kept", [-1, 4001, math.nan])
def test_what_is_no_part_of_the_parameters_is_refused(kept) -> None:
    with pytest.raises(ValueError, match="kept_bytes is"):
        step_traffic_bytes(4000, 4, 3, kept_bytes=kept)


def test_one_rank_sends_nothing_and_keeps_all() -> None:
    assert step_traffic_bytes(4000, 1, 3) == 0
    assert model_state_bytes(10, 1, 3) == model_state_bytes(10, 1, 0)


@pytest.mark.parametrize("world_size", [0, -1, 2.0, True, "2", math.nan])
def test_a_world_that_cannot_be_is_refused(world_size) -> None:
    with pytest.raises(ValueError, match=r"world_size is .*, required is a whole number"):
        check_world_size(world_size)
    with pytest.raises(ValueError, match="world_size"):
        model_state_bytes(10, world_size, 3)
    with pytest.raises(ValueError, match="world_size"):
        step_traffic_bytes(10, world_size, 3)
    check_world_size(2)


@pytest.mark.parametrize("stage", [4, -1, "3", True, math.nan, None])
def test_an_unknown_stage_is_refused(stage) -> None:
    with pytest.raises(ValueError, match=r"stage is .*, required is 0, 1, 2 or 3"):
        check_stage(stage)
    with pytest.raises(ValueError, match="stage"):
        model_state_bytes(10, 2, stage)
    check_stage(3)


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, "1", None, True])
def test_what_is_no_positive_number_is_refused(value) -> None:
    with pytest.raises(ValueError, match=r"parameters is .*, required is a positive, finite"):
        check_positive("parameters", value)
    with pytest.raises(ValueError, match="positive"):
        model_state_bytes(value, 2, 3)
    check_positive("parameters", 1.5)
