"""Checks of the chapter on AOTAutograd: the worked answers pass, listed wrong ones don't.

Oracles: eager autograd, torch's own partitioner, bytes counted on a compiled function.
"""

import re
from pathlib import Path
from typing import Any

import pytest
import torch

from fuseshard.checks.compile import aotautograd as checks
from fuseshard.checks.compile.aotautograd import (
    check_bytes,
    check_pure,
    check_saved,
    check_swish,
    kept_bytes,
    push,
    saved_names,
)

PAGES = ("book/compile/aotautograd.md", "book/es/compile/aotautograd.md")


def page_text(page: str) -> str:
    return Path(__file__).parents[3].joinpath(page).read_text(encoding="utf-8")


def solutions(page: str) -> dict[str, Any]:
    """Run the worked solutions of a page; return what they define."""
    defined: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```$", page_text(page), re.DOTALL | re.MULTILINE):
        exec(block, defined)  # the page's own code, which readers are told is right
    return defined


@pytest.mark.parametrize("page", PAGES)
def test_the_worked_solutions_of_the_page_are_right(page: str) -> None:
    defined = solutions(page)
    assert check_swish(defined["swish_backward"]).state == "right"
    assert check_saved((defined["as_it_is"], defined["summed"])).state == "right"
    assert check_bytes(defined["kept_at_99"]).state == "right"
    assert check_pure(defined["pure_push"]).state == "right"


@pytest.mark.parametrize("page", PAGES)
def test_the_page_asks_its_exercises_by_the_names_of_the_checks(page: str) -> None:
    named = re.findall(r"^:name: (\S+)$", page_text(page), re.MULTILINE)
    assert named == [checks.SWISH, checks.SAVED, checks.BYTES, checks.PURE]


@pytest.mark.task("aotautograd-swish")
@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda x, t: x.sigmoid() * (1 + x * (1 - x.sigmoid())), "the tangent is still missing"),
        (lambda x, t: t * x.sigmoid(), "has two terms"),
        (lambda x, t: t * x * x.sigmoid() * (1 - x.sigmoid()), "has two terms"),
        (lambda x, t: t * x, "isn't right yet"),
        (lambda x, t: (t * x).sum(), "the shape of x"),
        (lambda x: x, "It raises TypeError"),
        (7, "needs a function"),
    ],
)
def test_other_backward_passes_get_a_hint(answer: object, hint: str) -> None:
    check = check_swish(answer)
    assert check.state == "wrong"
    assert hint in str(check.message)


@pytest.mark.task("aotautograd-saved")
def test_the_expected_names_are_torchs() -> None:
    assert saved_names() == ({"x", "exp"}, {"x"})


@pytest.mark.task("aotautograd-saved")
@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (({"x", "exp"}, {"x", "exp"}), "The first is right"),
        (({"x"}, "x"), "The second is right"),
        (({"sigmoid", "tanh", "exp"}, {"sigmoid", "tanh", "exp"}), "Neither yet"),
        ({"x"}, "two collections"),
        ((7, 12), "Neither yet"),
    ],
)
def test_other_names_get_a_hint(answer: object, hint: str) -> None:
    check = check_saved(answer)
    assert check.state == "wrong"
    assert hint in str(check.message)


@pytest.mark.task("aotautograd-bytes")
def test_the_expected_bytes_are_counted() -> None:
    assert kept_bytes(7, 12) == 4 * 7 * (5 * 12 + 2)


@pytest.mark.task("aotautograd-bytes")
@pytest.mark.parametrize(
    "formula",
    [
        lambda rows, width: 4 * rows * (10 * width + 2),  # nothing given up
        lambda rows, width: 4 * rows * 5 * width,  # mean and scale forgotten
        lambda rows, width: rows * (5 * width + 2),  # numbers, not bytes
        lambda rows, width: 4 * rows * (4 * width + 2),  # the input forgotten
        lambda rows, width: 4 * rows * width,  # budget 0
    ],
)
def test_other_formulas_are_rejected(formula: object) -> None:
    assert check_bytes(formula).state == "wrong"


def _writes_to_the_caller(queue: torch.Tensor, row: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return push(queue, row), queue


def _writes_to_a_copy(queue: torch.Tensor, row: torch.Tensor) -> tuple[torch.Tensor, ...]:
    queue = queue.clone()
    return push(queue, row), queue


def _keeps_the_first(queue: torch.Tensor, row: torch.Tensor) -> tuple[torch.Tensor, ...]:
    newest = torch.cat([queue[:-1], row[None]])
    return newest.sum(dim=0), newest


@pytest.mark.task("aotautograd-pure")
@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (_writes_to_the_caller, "has changed"),
        (_writes_to_a_copy, "still writes in place: copy_"),
        (_keeps_the_first, "differ"),
        (lambda queue, row: torch.cat([queue[1:], row[None]]), "two results"),
        (lambda queue: queue, "It raises TypeError"),
        ("push", "needs a function"),
    ],
)
def test_other_versions_get_a_hint(answer: object, hint: str) -> None:
    check = check_pure(answer)
    assert check.state == "wrong"
    assert hint in str(check.message)


def test_without_an_answer_every_check_is_open() -> None:
    states = {
        check_swish(lambda x, tangent: ...).state,
        check_saved((..., ...)).state,
        check_bytes(lambda rows, width: ...).state,
        check_pure(lambda queue, row: ...).state,
        *(check(...).state for check in (check_swish, check_saved, check_bytes, check_pure)),
    }
    assert states == {"open"}
