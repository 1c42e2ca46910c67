"""Who is fastest, and when a compile has paid. Oracle: rounds made by hand."""

import pytest

from fuseshard.compiler.modes.records import ModePoint
from fuseshard.compiler.modes.standing import calls_to_pay, leaders, ratio_between
from fuseshard.measure.records import Comparison, Timing
from fuseshard.measure.statistics import quartiles

ROUNDS = 15


def timing(name: str, seconds: float) -> Timing:
    rounds = [seconds * (1 + 0.001 * (index % 3)) for index in range(ROUNDS)]
    low, median, high = quartiles(rounds)
    return Timing(
        name=name,
        first_call_s=1.0,
        rounds_s=tuple(rounds),
        calls_per_round=1,
        median_s=median,
        low_s=low,
        high_s=high,
        ratio=None,
    )


def comparison(**seconds: float) -> Comparison:
    return Comparison(timings=tuple(timing(n, s) for n, s in seconds.items()), num_threads=1)


def test_a_tie_has_two_leaders_and_the_slower_way_is_none() -> None:
    timed = comparison(eager=3.0, default=1.0, lite=1.01)
    assert leaders(timed) == ("default", "lite")  # 1 % is below what counts as an effect
    assert leaders(timed, ["eager", "lite"]) == ("lite",)
    assert leaders(comparison(eager=1.0, default=2.0)) == ("eager",)


def test_a_ratio_is_of_the_first_way_over_the_second() -> None:
    timed = comparison(eager=3.0, default=1.5)
    assert ratio_between(timed, "default", "eager").speedup == pytest.approx(2.0)
    assert ratio_between(timed, "eager", "default").verdict == "slower"


@pytest.mark.parametrize(
    ("slow_first_s", "slow_s", "calls"),
    [(30.0, 1.0, 20.0), (5.0, 1.0, 0.0), (30.0, 2.0, None), (30.0, 3.0, None)],
)
def test_a_longer_first_call_is_paid_back_by_what_each_call_saves(
    slow_first_s: float, slow_s: float, calls: float | None
) -> None:
    point = ModePoint(
        size=1,
        comparison=comparison(quick=2.0, slow=slow_s),
        first_calls_s={"quick": (8.0, 2.0), "slow": (slow_first_s - 1.0, 1.0)},
        errors={},
        traces={},
    )
    found = calls_to_pay(point, "slow", "quick")
    assert found == (None if calls is None else pytest.approx(calls, rel=0.01))
