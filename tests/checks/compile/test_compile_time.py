"""Checks of the chapter on compile time: the worked answers pass, listed wrong ones don't.

Oracles: the answers parsed from the page, torch for graph counts.
"""

import hashlib
import math
import re
from pathlib import Path
from typing import Any

import pytest

from fuseshard.checks.compile.compile_time import (
    check_key,
    check_payback,
    check_regions,
    region_counts,
)

PAGE = Path(__file__).parents[3] / "book" / "compile" / "compile-time.md"


def worked(exercise: str) -> dict[str, Any]:
    """Run the code of an exercise's solution."""
    text = PAGE.read_text("utf-8")
    after = text[text.index(f":name: {exercise}\n") :]
    found = re.search(r"\{solution\}.*?```python\n(.*?)```", after, re.DOTALL)
    assert found is not None
    names: dict[str, Any] = {}
    exec(found[1], names)
    return names


def test_without_an_answer_every_check_is_open() -> None:
    states = {
        check_payback(lambda first_s, eager_s, later_s: ...).state,
        check_key(lambda graph, shapes, version: ...).state,
        check_key(...).state,
        check_regions(...).state,
    }
    assert states == {"open"}


@pytest.mark.task("compile-time-payback")
def test_the_worked_payback_is_right() -> None:
    assert check_payback(worked("compile-time-payback")["calls_until_paid"]).state == "right"


@pytest.mark.task("compile-time-payback")
@pytest.mark.parametrize(
    "formula",
    [
        lambda first, eager, later: math.ceil(first / (eager - later)) if eager > later else None,
        lambda first, eager, later: (first - later) / (eager - later) if eager > later else None,
        lambda first, eager, later: max(1, math.ceil((first - later) / (eager - later))),
        lambda first, eager, later: max(1, math.ceil(first / eager)),
        lambda first, eager, later: (
            max(1, math.ceil((first - later) / (eager - later))) if eager > later else math.inf
        ),
    ],
)
def test_wrong_paybacks_are_rejected(formula: Any) -> None:
    assert check_payback(formula).state == "wrong"


@pytest.mark.task("compile-time-key")
def test_the_worked_key_is_right() -> None:
    assert check_key(worked("compile-time-key")["key"]).state == "right"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.task("compile-time-key")
@pytest.mark.parametrize(
    ("key", "hint"),
    [
        (lambda graph, shapes, version: digest(graph + version), "share a key"),
        (lambda graph, shapes, version: digest(graph + repr(shapes)), "another version"),
        (lambda graph, shapes, version: digest(repr(shapes) + version), "another operation"),
        (
            lambda graph, shapes, version: digest(
                f"{graph}|{[n for shape in shapes for n in shape]}|{version}"
            ),
            "two inputs",
        ),
        (
            lambda graph, shapes, version: digest(
                repr((graph, sorted(map(sorted, shapes)), version))
            ),
            "turned round",
        ),
        (
            lambda graph, shapes, version: digest(
                graph + "|" + "".join(str(n) for shape in shapes for n in shape) + "|" + version
            ),
            "same digits",
        ),
        (lambda graph, shapes, version: digest(graph + version + repr(shapes)), "another place"),
        (lambda graph, shapes, version: hash((graph, shapes, version)), "Python salts it"),
        (lambda graph, shapes, version: repr((graph, shapes, version)) + "/x", "slashes"),
        (lambda graph, shapes, version: None, "slashes"),
        (lambda graph, shapes: digest(graph), "raises TypeError"),
        ("a text", "needs a function"),
    ],
)
def test_wrong_keys_get_a_hint(key: Any, hint: str) -> None:
    check = check_key(key)
    assert check.state == "wrong"
    assert hint in str(check.message)


@pytest.mark.task("compile-time-key")
def test_a_key_that_changes_from_call_to_call_is_rejected() -> None:
    calls: list[int] = []

    def key(graph: str, shapes: tuple[tuple[int, ...], ...], version: str) -> str:
        calls.append(1)
        return digest(repr((graph, shapes, version, len(calls))))

    check = check_key(key)
    assert check.state == "wrong"
    assert "two keys" in str(check.message)


@pytest.mark.task("compile-time-regions")
def test_the_worked_counts_are_right() -> None:
    assert region_counts() == (1, 8, 1)
    assert check_regions((1, 8, 1)).state == "right"


@pytest.mark.task("compile-time-regions")
@pytest.mark.parametrize(
    "answer", [(12, 12, 12), (1, 12, 1), (1, 1, 1), (1, 8, 8), (8, 8, 1), (1, 8), 1]
)
def test_wrong_counts_are_rejected(answer: object) -> None:
    assert check_regions(answer).state == "wrong"
