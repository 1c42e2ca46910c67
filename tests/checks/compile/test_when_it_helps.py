"""Checks of the chapter on when compiling helps: worked answers pass, listed wrong ones don't.

Oracles: the page's own solutions, and sums worked out by hand.
"""

import math
import re
from pathlib import Path

import pytest

from fuseshard.checks.compile.when_it_helps import (
    check_payback,
    check_share,
    check_speedup,
    fusion_share,
)

PAGE = Path("book/compile/when-it-helps.md").read_text("utf-8")


def solution(function: str):
    """The function of that name from the page's worked answer."""
    (code,) = re.findall(
        rf"````{{solution}}\n.*?```python\n([^`]*def {function}.*?)```", PAGE, re.S
    )
    names: dict[str, object] = {}
    exec(code, names)
    return names[function]


@pytest.mark.task("when-it-helps-speedup")
def test_the_worked_speedup_is_right() -> None:
    assert check_speedup(1680 / 450).state == "right"
    assert "1680/450 = 3.73" in PAGE


@pytest.mark.task("when-it-helps-speedup")
@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (1680 / 650, "overlap"),
        (1680 / 400, "isn't free"),
        (4, "calls have a price too"),
        (420 / 50, "ceiling"),
        (1680 / 250, "too large"),
        (450 / 1680, "too small"),
        ("3.73", "needs one number"),
    ],
)
def test_wrong_speedups_get_a_hint(answer, hint) -> None:
    check = check_speedup(answer)
    assert check.state == "wrong"
    assert hint in str(check.message)


@pytest.mark.task("when-it-helps-share")
def test_the_worked_share_is_right() -> None:
    assert check_share(solution("fusion_share")).state == "right"


@pytest.mark.task("when-it-helps-share")
def test_the_expected_share_is_the_geometric_mean_of_both_steps() -> None:
    assert math.isclose(fusion_share(9.0, 3.0, 1.0, 1.0), math.sqrt(1 / 3))


@pytest.mark.task("when-it-helps-share")
@pytest.mark.parametrize(
    "share",
    [
        lambda none, fusion, vectors, both: fusion / none,  # coming first only
        lambda none, fusion, vectors, both: both / vectors,  # coming second only
        lambda none, fusion, vectors, both: (fusion / none + both / vectors) / 2,  # arithmetic
        lambda none, fusion, vectors, both: (vectors / none * both / fusion) ** 0.5,  # vectors'
        lambda none, fusion, vectors, both: fusion / none * both / vectors,  # no root
        lambda none, fusion, vectors, both: (none / fusion * vectors / both) ** 0.5,  # upside down
    ],
)
def test_wrong_shares_are_rejected(share) -> None:
    assert check_share(share).state == "wrong"


@pytest.mark.task("when-it-helps-payback")
def test_the_worked_count_is_right() -> None:
    assert check_payback(solution("calls_to_pay")).state == "right"


@pytest.mark.task("when-it-helps-payback")
@pytest.mark.parametrize(
    "count",
    [
        lambda first, eager, compiled: math.ceil(first / (eager - compiled)),  # first call twice
        lambda first, eager, compiled: math.ceil(first / eager),  # no saving
        lambda first, eager, compiled: (first - compiled) / (eager - compiled),  # no whole number
        lambda first, eager, compiled: (
            math.floor((first - compiled) / (eager - compiled)) if eager > compiled else None
        ),
        lambda first, eager, compiled: (
            math.ceil((first - compiled) / (eager - compiled)) if eager > compiled else 0
        ),
        lambda first, eager, compiled: (
            math.ceil((first - compiled) / (eager - compiled)) if eager > compiled else None
        ),  # 0 calls where the first one pays at once
    ],
)
def test_wrong_counts_are_rejected(count) -> None:
    assert check_payback(count).state == "wrong"


def test_without_an_answer_every_check_is_open() -> None:
    states = {
        check_speedup(...).state,
        check_share(lambda none_s, fusion_s, vectors_s, both_s: ...).state,
        check_payback(lambda first_call_s, eager_s, compiled_s: ...).state,
    }
    assert states == {"open"}
