"""What is captured of a training step. Oracle: the eager loop, and Dynamo's own counters."""

import pytest

from fuseshard.compiler.training import steps
from fuseshard.compiler.training.records import StepCapture


@pytest.fixture(scope="module")
def captures() -> dict[str, StepCapture]:
    return {capture.name: capture for capture in steps.step_captures()}


def test_graphs_are_those_of_the_page(captures: dict[str, StepCapture]) -> None:
    counts = {name: capture.graphs for name, capture in captures.items()}
    assert counts == {"loss": 1, "backward": 1, "whole": 2, "one graph": 1}


def test_the_backward_pass_is_compiled_wherever_it_is_called(
    captures: dict[str, StepCapture],
) -> None:
    assert set(captures["backward"].operations) == {"forward", "backward"}
    assert set(captures["whole"].operations) == {"forward", "backward", "inference"}
    assert set(captures["one graph"].operations) == {"inference"}
    # "loss" alone never calls backward, so nothing reaches the backend for it.
    assert set(captures["loss"].operations) == {"forward"}


def test_only_the_greedy_ways_break(captures: dict[str, StepCapture]) -> None:
    assert not captures["loss"].breaks and not captures["one graph"].breaks
    assert sum(captures["backward"].breaks.values()) == 1
    assert sum(captures["whole"].breaks.values()) == 4


@pytest.mark.parametrize("name", ["whole", "one graph"])
def test_compiled_steps_train_like_the_eager_loop(name: str) -> None:
    reference = steps.losses("whole", 4, compiled=False)
    compiled = steps.losses(name, 4, compiled=True)
    assert reference[0] - reference[-1] > 1e-2
    assert max(abs(a - b) for a, b in zip(reference, compiled, strict=True)) < 1e-5
    # The twin: a loop that never updates stays where it is.
    idle = steps.losses("backward", 4, compiled=False)
    assert abs(idle[-1] - reference[-1]) > 1e-2


def test_fullgraph_refuses_the_whole_step() -> None:
    assert "zero_grad" in steps.fullgraph_message()
