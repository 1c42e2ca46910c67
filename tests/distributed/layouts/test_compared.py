"""Layer 2: 3 and 4 gloo ranks. Oracles: one process, and the meter's count of bytes."""

import pytest
import torch

from fuseshard.distributed.layouts.compared import compare_layouts, put_together
from fuseshard.distributed.layouts.records import Layout
from fuseshard.distributed.layouts.workload import Workload
from fuseshard.models.minigpt import MiniGPTConfig

THREE = Workload(
    config=MiniGPTConfig(vocabulary=9, width=12, num_layers=3, num_heads=3, context=6),
    num_sequences=9,
    num_tokens=5,
    num_micro_batches=3,
)
FOUR = Workload(
    config=MiniGPTConfig(vocabulary=12, width=12, num_layers=2, num_heads=2, context=6),
    num_sequences=12,
    num_tokens=5,
    num_micro_batches=3,
)


@pytest.fixture(scope="module")
def by_three():
    return compare_layouts([Layout(tp=3), Layout(pp=3), Layout(fsdp=3), Layout(dp=3)], THREE)


@pytest.fixture(scope="module")
def by_four():
    cases = [Layout(dp=2, tp=2), Layout(pp=2, fsdp=2)]
    spoiled = [(Layout(fsdp=2, tp=2), "wrong axis"), (Layout(dp=2, tp=2), "summed")]
    return compare_layouts([*cases, *spoiled], FOUR)


def test_three_ranks_along_one_axis_are_one_process(by_three):
    assert [outcome.is_rounding for outcome in by_three] == [True] * 4


def test_two_axes_are_one_process(by_four):
    assert [outcome.is_rounding for outcome in by_four[:2]] == [True] * 2


def test_a_batch_shared_out_along_the_wrong_axis_is_a_bug(by_four):
    assert not by_four[2].is_rounding
    assert by_four[2].gradient_apart["float64"] > 1e-3
    assert by_four[2].loss_apart["float64"] > 1e-3


def test_summed_gradients_are_a_bug_that_the_loss_does_not_show(by_four):
    assert not by_four[3].is_rounding
    assert by_four[3].loss_apart["float64"] < 1e-12


def test_each_axis_sends_what_its_formula_says(by_three, by_four):
    for outcome in (*by_three, *by_four):
        assert [axis.axis for axis in outcome.axes] == list(outcome.layout.degrees)
        for axis in outcome.axes:
            assert axis.counted == pytest.approx(axis.formula, rel=1e-12)
            assert axis.num_calls > 0


def test_a_replica_that_went_astray_is_not_lost():
    good, bad = torch.ones(3), torch.tensor([1.0, 1.0, 7.0])
    loss = torch.tensor(2.0)
    found = put_together([{"w": good, "loss": loss}, {"w": bad}, {"w": good, "loss": 2 * loss}])
    assert torch.equal(found["w"], bad)
    assert found["loss"] == 3.0


@pytest.mark.parametrize(
    ("cases", "message"),
    [
        ([], "got no layouts"),
        ([Layout(tp=2)], "required is a divisor of 3, the number of heads"),
        ([Layout(tp=3), Layout(dp=9)], "dp 9 has 9 ranks, required are 3"),
        ([(Layout(tp=3), "sideways")], "spoiled is 'sideways', required is one of"),
    ],
)
def test_what_cannot_run_together_is_refused(cases, message):
    with pytest.raises(ValueError, match=message):
        compare_layouts(cases, THREE)


def test_a_layout_is_refused_before_any_process_starts():
    """With processes, another error would come first: that of the timeout."""
    with pytest.raises(ValueError, match="required is a divisor of 3, the number of heads"):
        compare_layouts([Layout(tp=2)], THREE, timeout=-1)
