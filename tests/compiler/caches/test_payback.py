"""Calls until compiling has paid. Oracle: adding the calls up one by one; pure arithmetic."""

import pytest

from fuseshard.compiler.caches.payback import calls_to_pay_back, payback, saved_s
from fuseshard.measure.records import Ratio


def counted(first_s: float, eager_s: float, ratio: float) -> int:
    """Add up both ways, call by call."""
    calls, eager_total, compiled_total = 1, eager_s, first_s
    while compiled_total > eager_total:
        calls += 1
        eager_total += eager_s
        compiled_total += ratio * eager_s
    return calls


@pytest.mark.parametrize(
    ("first_s", "eager_s", "ratio"),
    [(10.0, 0.5, 0.25), (10.0, 0.5, 0.96875), (0.5, 0.5, 0.5), (0.25, 0.5, 0.5), (7.0, 3.0, 0.125)],
)
def test_the_formula_counts_as_the_loop_does(first_s: float, eager_s: float, ratio: float) -> None:
    assert calls_to_pay_back(first_s, eager_s, ratio) == counted(first_s, eager_s, ratio)


def test_the_first_call_is_one_of_the_calls() -> None:
    """Must-fail twin: F / (e - r e), which forgets that the first call returned a result too."""
    naive = 10.0 / (0.5 - 0.25 * 0.5)
    assert calls_to_pay_back(10.0, 0.5, 0.25) == 27
    assert round(naive, 1) == 26.7
    assert calls_to_pay_back(10.0, 8.0, 0.5) == 2
    assert 10.0 / (8.0 - 4.0) == 2.5


@pytest.mark.parametrize("ratio", [1.0, 1.5])
def test_what_saves_nothing_never_pays(ratio: float) -> None:
    assert calls_to_pay_back(10.0, 0.5, ratio) is None


def test_seconds_saved_change_sign_where_it_has_paid() -> None:
    calls = calls_to_pay_back(10.0, 0.5, 0.25)
    assert calls is not None
    assert saved_s(calls - 1, 10.0, 0.5, 0.25) < 0 <= saved_s(calls, 10.0, 0.5, 0.25)


def test_the_interval_of_the_ratio_becomes_one_of_calls() -> None:
    ratio = Ratio(
        median=0.75, low=0.5, high=1.25, confidence=0.99, verdict="no difference measured"
    )
    found = payback(10.0, 0.5, ratio)
    assert (found.at_least, found.calls, found.at_most) == (
        calls_to_pay_back(10.0, 0.5, 0.5),
        calls_to_pay_back(10.0, 0.5, 0.75),
        None,
    )
