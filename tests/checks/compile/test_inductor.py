"""Checks of the chapter on Inductor: the worked answers pass, listed wrong ones don't.

Oracles: torch for graph counts, nodes and groups, torch.softmax for the module.
"""

import pytest
import torch

from fuseshard.checks.compile.inductor import (
    check_graphs,
    check_groups,
    check_peak,
    check_temperature,
    graph_counts,
    nodes_and_groups,
)
from fuseshard.compiler.inductor import head_with, softmax_by_hand
from fuseshard.compiler.stages import capture
from fuseshard.models.minigpt import MiniGPT


@pytest.fixture(scope="module")
def source() -> str:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    written = capture(head_with(softmax_by_hand), hidden()).source[0]
    torch.set_num_threads(threads)
    return written


def hidden() -> torch.Tensor:
    return torch.randn(7, 64, generator=torch.Generator().manual_seed(3))


def inputs() -> list[torch.Tensor]:
    head = MiniGPT().head.requires_grad_(False)
    return [head.weight, head.bias, hidden()]


HALF = "at::vec::Vectorized<float>(0.5f)"


@pytest.mark.task("inductor-temperature")
@pytest.mark.parametrize(
    ("old", "new"),
    [("tmp3.exp()", f"(tmp3 * {HALF}).exp()"), ("tmp0 - tmp2;", f"(tmp0 - tmp2) * {HALF};")],
)
def test_halving_the_exponent_is_right(source: str, old: str, new: str) -> None:
    assert old in source
    assert check_temperature(source.replace(old, new), inputs()).state == "right"


@pytest.mark.task("inductor-temperature")
@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        ("tmp3", "tmp3", "temperature 1"),
        ("tmp3.exp()", f"tmp3.exp() * {HALF}", "temperature 1"),
        ("tmp3.exp()", "(tmp3 + tmp3).exp()", "sharpens"),
        ("tmp0 / tmp2", f"tmp0 / tmp2 * {HALF}", "sum 1"),
        ("tmp3.exp()", f"(tmp3 * {HALF} * {HALF}).exp()", "another distribution"),
        ("tmp3.exp()", "tmp3.exp(", "doesn't run"),
        ("tmp0 / tmp2", "(tmp2 - tmp2) / (tmp2 - tmp2)", "no longer have the sum 1"),  # NaN
        ("return (buf4, )", "return (buf1, )", "another shape"),
    ],
)
def test_other_edits_are_rejected(source: str, old: str, new: str, hint: str) -> None:
    check = check_temperature(source.replace(old, new), inputs())
    assert check.state == "wrong"
    assert hint in str(check.message)


@pytest.mark.task("inductor-temperature")
def test_something_else_than_a_text_is_rejected() -> None:
    assert check_temperature(2.0, inputs()).state == "wrong"


@pytest.mark.task("inductor-graphs")
def test_the_worked_counts_are_right() -> None:
    assert graph_counts() == (0, 1, 1)
    assert check_graphs((0, 1, 1)).state == "right"


@pytest.mark.task("inductor-graphs")
@pytest.mark.parametrize("answer", [(1, 1, 1), (0, 0, 1), (0, 2, 1), (1, 1, 0), (0, 1), 1])
def test_wrong_counts_are_rejected(answer: object) -> None:
    assert check_graphs(answer).state == "wrong"


def test_without_an_answer_every_check_is_open() -> None:
    states = {
        check_temperature(..., inputs()).state,
        check_graphs(...).state,
    }
    assert states == {"open"}


def worked_peak(buffers: list[tuple[int, int, int]]) -> int:
    steps = range(1 + max(last for _, last, _ in buffers))
    return max(
        sum(size for first, last, size in buffers if first <= step <= last) for step in steps
    )


@pytest.mark.task("inductor-peak")
def test_the_worked_peak_is_right() -> None:
    assert check_peak(worked_peak).state == "right"
    assert check_peak(...).state == check_peak(lambda buffers: ...).state == "open"


@pytest.mark.task("inductor-peak")
@pytest.mark.parametrize(
    "answer",
    [
        lambda buffers: sum(size for _, _, size in buffers),  # everything at once
        lambda buffers: max(size for _, _, size in buffers),  # the largest alone
        lambda buffers: max(  # dead at its last step already
            sum(size for a, b, size in buffers if a <= step < b) for step in range(9)
        ),
        lambda buffers: max(  # at the ends only
            sum(size for a, b, size in buffers if step in (a, b)) for step in range(9)
        ),
        12,
    ],
)
def test_a_wrong_peak_is_wrong(answer: object) -> None:
    assert check_peak(answer).state == "wrong"


@pytest.mark.task("inductor-groups")
def test_the_worked_groups_are_what_inductor_makes() -> None:
    assert nodes_and_groups() == (3, 2)
    assert check_groups((3, 2)).state == "right"


@pytest.mark.task("inductor-groups")
@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        ((2, 3), "nodes come first"),
        ((4, 2), "computed inside its readers"),
        ((5, 3), "computed inside its readers"),
        ((2, 1), "so is a reduction"),
        ((3, 3), "share the loop over rows"),
        ((3, 1), "share the loop over rows"),
        (("three", 2), "have to be numbers"),
        (3, "two counts in a tuple"),
        ((3, 2, 1), "two counts in a tuple"),
    ],
)
def test_wrong_groups_get_a_hint(answer: object, hint: str) -> None:
    check = check_groups(answer)
    assert check.state == "wrong"
    assert hint in str(check.message)


@pytest.mark.task("inductor-groups")
def test_dots_for_groups_are_open() -> None:
    assert check_groups(...).state == "open"
