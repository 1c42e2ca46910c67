"""Padding against compiling. Oracle: times made from known overhead and FLOP rate. No torch."""

from dataclasses import replace

import pytest

from fuseshard.compiler.recompiles.lengths import attention_flop, best_lengths, plan
from fuseshard.compiler.recompiles.trade import cheapest, trade
from fuseshard.measure.records import Comparison, Sweep, SweepPoint, Timing
from fuseshard.measure.statistics import paired_ratio

OVERHEAD_S, FLOP_S, COMPILE_S = 1e-5, 1e-9, 2.0
SEQUENCES = [3, 5, 5, 9, 40, 100]
PLANS = [plan(best_lengths(SEQUENCES, count), SEQUENCES) for count in (1, 2, 3)]


def timing(name: str, seconds: float, baseline_s: float | None = None) -> Timing:
    ratio = None if baseline_s is None else paired_ratio([baseline_s] * 9, [seconds] * 9)
    return Timing(
        name=name,
        first_call_s=COMPILE_S,
        rounds_s=(seconds,) * 9,
        calls_per_round=1,
        median_s=seconds,
        low_s=seconds,
        high_s=seconds,
        ratio=ratio,
    )


def sweep(slowdown: float) -> Sweep:
    points = []
    for length in (16, 256):
        static_s = OVERHEAD_S + FLOP_S * attention_flop(length)
        pair = (timing("static", static_s), timing("symbolic", slowdown * static_s, static_s))
        points.append(SweepPoint(size=length, comparison=Comparison(timings=pair, num_threads=1)))
    return Sweep(size_name="length", points=tuple(points))


def test_a_plan_takes_its_compiles_its_calls_and_its_padding() -> None:
    one, *_, symbolic = trade(PLANS, sweep(1.5), num_calls=600)
    assert one.compile_s == COMPILE_S
    useful_flop, done_flop = 100 * PLANS[0].useful_flop, 100 * PLANS[0].done_flop
    assert one.useful_s == pytest.approx(600 * OVERHEAD_S + FLOP_S * useful_flop)
    assert one.wasted_s == pytest.approx(FLOP_S * (done_flop - useful_flop))
    assert symbolic.useful_s == pytest.approx(1.5 * one.useful_s)
    assert (symbolic.compile_s, symbolic.wasted_s) == (COMPILE_S, 0)


def test_more_lengths_pay_with_more_calls() -> None:
    numbers = [cheapest(trade(PLANS, sweep(1e3), calls)[:-1]).num_lengths for calls in (1, 10**7)]
    assert numbers == [1, 3]


def test_a_symbol_that_costs_nothing_wins_and_a_slow_one_loses() -> None:
    assert cheapest(trade(PLANS, sweep(1.0), 10**6)).num_lengths is None
    assert cheapest(trade(PLANS, sweep(50.0), 10**6)).num_lengths is not None


def test_noise_that_makes_the_longer_one_faster_gives_no_negative_time() -> None:
    noisy = sweep(1.0)
    first, last = noisy.points
    upside_down = replace(
        noisy,
        points=(
            replace(first, comparison=last.comparison),
            replace(last, comparison=first.comparison),
        ),
    )
    for option in trade(PLANS, upside_down, 1000):
        assert min(option.compile_s, option.useful_s, option.wasted_s) >= 0
