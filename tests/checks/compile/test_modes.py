"""Checks of the chapter on modes: the worked answers of the page pass, listed wrong ones don't.

Oracles: the replayer itself, torch.compile for options, eager mode for collected results.
"""

import re
from pathlib import Path

import pytest
import torch

from fuseshard.checks.compile.modes import (
    check_collect,
    check_options,
    check_pays,
    check_replays,
    replays,
)

PAGE = Path(__file__).parents[3] / "book" / "compile" / "modes.md"


def worked(name: str) -> object:
    """Run the worked answer of the page and return what it defines under a name."""
    for code in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        if re.search(rf"\b{name}\b", code):
            defined: dict[str, object] = {}
            exec(code, defined)
            return defined[name]
    raise AssertionError(f"no worked answer defines {name}")


@pytest.mark.task("modes-replays")
def test_the_worked_numbers_are_right() -> None:
    (numbers,) = re.findall(r"`\((201, 3, 201, 201)\)`", PAGE.read_text(encoding="utf-8"))
    answer = tuple(int(number) for number in numbers.split(", "))
    assert replays() == answer
    assert check_replays(answer).state == "right"


@pytest.mark.task("modes-replays")
@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        ((3, 3, 21, 201), "eager mode"),
        ((201, 201, 201, 201), "Off: b"),
        ((21, 3, 21, 201), "Off: a, c"),
        ((3, 201), "needs 4 numbers"),
        (201, "needs 4 numbers"),
        (("201", 3, 201, 201), "Off: a"),
    ],
)
def test_wrong_numbers_get_a_hint(answer: object, hint: str) -> None:
    check = check_replays(answer)
    assert check.state == "wrong"
    assert hint in str(check.message)


@pytest.mark.task("modes-collect")
def test_the_worked_collection_is_right() -> None:
    assert check_collect(worked("collect")).state == "right"


@pytest.mark.task("modes-collect")
@pytest.mark.parametrize(
    ("collect", "hint"),
    [
        (lambda replay, batches: [replay(b) for b in batches], "Every entry is the last"),
        (
            lambda replay, batches: [r.clone() for r in [replay(b) for b in batches]],
            "Every entry is the last",
        ),
        (lambda replay, batches: [replay(b.clone()) for b in batches], "Every entry is the last"),
        (lambda replay, batches: [replay(batches[0]).clone()], "a list with 3"),
        (lambda replay, batches: [1, 2, 3], "must be tensors"),
        (lambda replay, batches: [b.clone() for b in batches], "other numbers"),
        (lambda replay: [], "TypeError"),
        (3, "needs a function"),
    ],
)
def test_other_collections_get_a_hint(collect: object, hint: str) -> None:
    check = check_collect(collect)
    assert check.state == "wrong"
    assert hint in str(check.message)


@pytest.mark.task("modes-options")
def test_the_worked_options_are_right() -> None:
    assert check_options(worked("mixed")).state == "right"


@pytest.mark.task("modes-options")
@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        ("reduce-overhead", "needs a dictionary"),
        ({"triton.cudagraphs": True}, "missing: 1"),
        ({"cudagraphs": True, "coordinate_descent_tuning": True}, "refuses it"),
        ({"triton.cudagraphs": 1, "coordinate_descent_tuning": True}, "refuses it"),
        (dict(torch._inductor.list_mode_options("max-autotune")), "matrix products"),
        (
            {"triton.cudagraphs": True, "coordinate_descent_tuning": True, "use_dce": False},
            "more than was asked",
        ),
        ({"triton.cudagraphs": False, "coordinate_descent_tuning": True}, "missing: 1"),
    ],
)
def test_other_options_get_a_hint(answer: object, hint: str) -> None:
    check = check_options(answer)
    assert check.state == "wrong"
    assert hint in str(check.message)


@pytest.mark.task("modes-pays")
def test_the_worked_formula_is_right() -> None:
    assert check_pays(worked("pays_after")).state == "right"


@pytest.mark.task("modes-pays")
@pytest.mark.parametrize(
    "formula",
    [
        lambda a, b, c, d: (a - c) / (d - b) if d > b else None,  # negative when ahead
        lambda a, b, c, d: a / (d - b) if d > b else None,  # the whole first call
        lambda a, b, c, d: max(a - c, 0) / (d - b) if d != b else None,  # negative when slower
        lambda a, b, c, d: max(a - c, 0) / (b - d) if b > d else None,  # the other way round
    ],
)
def test_wrong_formulas_are_rejected(formula) -> None:
    assert check_pays(formula).state == "wrong"


@pytest.mark.parametrize("check", [check_replays, check_collect, check_options, check_pays])
def test_dots_are_an_open_question(check) -> None:
    assert check(...).state == "open"
