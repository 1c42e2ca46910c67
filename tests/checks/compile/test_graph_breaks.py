"""Checks of the chapter on graph breaks: the worked answers pass, listed wrong ones don't.

Oracles: Dynamo for graph counts, eager mode for the clipped vector, a closed formula for bytes.
"""

import re
from pathlib import Path

import pytest
import torch

from fuseshard.checks.compile.graph_breaks import (
    PREDICTED,
    check_bytes,
    check_clip,
    check_predict,
    graph_counts,
)

PAGE = Path(__file__).parents[3] / "book/compile/graph-breaks.md"


def worked(name: str):
    """Take a worked answer out of the page."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    (code,) = [block for block in blocks if f"def {name}(" in block]
    names: dict[str, object] = {"torch": torch}
    exec(code, names)
    return names[name]


@pytest.mark.task("graph-breaks-predict")
def test_the_worked_counts_are_right() -> None:
    assert graph_counts() == (1, 2, 1, 0, 1)
    assert check_predict((1, 2, 1, 0, 1)).state == "right"


@pytest.mark.task("graph-breaks-predict")
@pytest.mark.parametrize("fn", PREDICTED)
def test_the_functions_of_the_exercise_are_those_of_the_check(fn) -> None:
    x = torch.tensor([-1.0, 2.0, 0.5, 3.0])
    assert torch.equal(worked(fn.__name__)(x), fn(x))


@pytest.mark.task("graph-breaks-predict")
@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        ((1, 2, 2, 0, 1), "last_print"),
        ((1, 2, 1, 3, 1), "print_each"),
        ((2, 2, 1, 0, 2), "by_dimension, catch"),
        ((1, 3, 1, 0, 1), "by_maximum"),
        ((1, 2, 1, 0), "5 counts"),
        (5, "5 counts"),
    ],
)
def test_wrong_counts_get_a_hint(answer: object, hint: str) -> None:
    check = check_predict(answer)
    assert check.state == "wrong"
    assert hint in str(check.message)


def by_branch(x):
    norm = x.norm()
    if norm > 1:
        x = x / norm
    return x


def by_where(x):
    norm = x.norm()
    return torch.where(norm > 1, x / norm, x)


def printing(x):
    print("clipping")
    return x / x.norm().clamp(min=1)


def half_printing(x):
    norm = x.norm()
    print(norm)
    return x / norm.clamp(min=1)


@pytest.mark.task("graph-breaks-clip")
def test_the_worked_clip_and_the_other_one_are_right() -> None:
    assert check_clip(worked("clip")).state == "right"
    assert check_clip(by_where).state == "right"


@pytest.mark.task("graph-breaks-clip")
@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (by_branch, "Data-dependent branching"),
        (lambda x: x / x.norm(), "a short vector"),
        (lambda x: x, "a long vector"),
        (lambda x: x / x.norm().clamp(max=1), "a long vector"),
        (lambda x: torch.where(x.norm() > 1, x / x.norm(), x / x.norm()), "a short vector"),
        (lambda x: x.clamp(-1, 1), "a long vector"),
        (lambda x: x.norm(), "a long vector"),
        (lambda x: x / x.missing, "AttributeError"),
        (printing, "breaks the graph"),
        (half_printing, "breaks the graph"),
        ("clip", "needs a function"),
    ],
)
def test_other_clips_are_rejected(answer: object, hint: str) -> None:
    check = check_clip(answer)
    assert check.state == "wrong"
    assert hint in str(check.message)


@pytest.mark.task("graph-breaks-bytes")
def test_the_worked_formula_is_right() -> None:
    assert check_bytes(worked("moved_bytes")).state == "right"


@pytest.mark.task("graph-breaks-bytes")
@pytest.mark.parametrize(
    "formula",
    [
        lambda operations, breaks, elements: 2 * operations * elements * 4,  # eager mode
        lambda operations, breaks, elements: 2 * breaks * elements * 4,  # breaks, not graphs
        lambda operations, breaks, elements: (breaks + 1) * elements * 4,  # writes only
        lambda operations, breaks, elements: 2 * (breaks + 1) * elements,  # elements, not bytes
        lambda operations, breaks, elements: 2 * (breaks + 1) * elements * 8,  # float64
    ],
)
def test_wrong_formulas_are_rejected(formula) -> None:
    assert check_bytes(formula).state == "wrong"


def test_without_an_answer_every_check_is_open() -> None:
    states = {
        check_predict(...).state,
        check_clip(lambda x: ...).state,
        check_clip(...).state,
        check_bytes(lambda operations, breaks, elements: ...).state,
    }
    assert states == {"open"}
