"""Pure data. Oracle: times that we made ourselves, so that the true ratio is known."""

import itertools
import math
import random
from collections.abc import Callable

import pytest

from fuseshard.measure.statistics import (
    CONFIDENCE,
    interval_confidence,
    interval_depth,
    paired_ratio,
    quartiles,
    round_order,
)

ROUNDS = 15
SEEDS = 400


def noisy_machine(seed: int) -> Callable[[], float]:
    """Make a machine's slowness over time: a drift, a neighbour that comes and goes, spikes."""
    dice = random.Random(seed)
    drift, state = 1.0, 1.0

    def slowness() -> float:
        nonlocal drift, state
        drift *= 1.0 + dice.uniform(-0.01, 0.03)
        if dice.random() < 0.1:
            state = dice.choice([1.0, 1.0, 2.5])
        spike = dice.choice([10.0, 40.0]) if dice.random() < 0.04 else 1.0
        return drift * state * spike * dice.lognormvariate(0.0, 0.03)

    return slowness


def interleaved(seed: int, true_ratio: float) -> tuple[list[float], list[float]]:
    """Time two variants on the noisy machine, in the order that `clock.compare` uses."""
    slowness = noisy_machine(seed)
    times: tuple[list[float], list[float]] = ([], [])
    for round_index in range(ROUNDS):
        for i in round_order(2, round_index):
            times[i].append((1.0, true_ratio)[i] * slowness())
    return times


def one_after_the_other(seed: int) -> tuple[list[float], list[float]]:
    """Time equal variants A A A ... B B B ..., as a naive benchmark does."""
    slowness = noisy_machine(seed)
    return [slowness() for _ in range(ROUNDS)], [slowness() for _ in range(ROUNDS)]


def verdicts(pairs: list[tuple[list[float], list[float]]], verdict: str) -> int:
    return sum(paired_ratio(*pair).verdict == verdict for pair in pairs)


def test_equal_variants_on_a_noisy_machine_get_no_verdict() -> None:
    pairs = [interleaved(seed, true_ratio=1.0) for seed in range(SEEDS)]
    # At 99 % confidence 4 of 400 are expected to err; 12 or more would happen once in 1000.
    assert SEEDS - verdicts(pairs, "no difference measured") < 12


def test_the_same_machine_fools_whoever_times_one_after_the_other() -> None:
    """Must-fail twin: without rounds, the noise above does yield false verdicts."""
    pairs = [one_after_the_other(seed) for seed in range(SEEDS)]
    assert SEEDS - verdicts(pairs, "no difference measured") > SEEDS // 4


@pytest.mark.parametrize(("true_ratio", "verdict"), [(0.8, "faster"), (1.25, "slower")])
def test_a_fifth_is_found_when_the_machine_is_merely_restless(
    true_ratio: float, verdict: str
) -> None:
    found = 0
    for seed in range(SEEDS):
        dice = random.Random(seed)
        baseline = [dice.lognormvariate(0.05 * i, 0.05) for i in range(ROUNDS)]
        candidate = [true_ratio * dice.lognormvariate(0.05 * i, 0.05) for i in range(ROUNDS)]
        found += paired_ratio(baseline, candidate).verdict == verdict
    assert found > 0.95 * SEEDS


def test_a_false_verdict_never_points_the_wrong_way_for_a_real_difference() -> None:
    pairs = [interleaved(seed, true_ratio=0.8) for seed in range(SEEDS)]
    assert verdicts(pairs, "slower") == 0
    assert verdicts(pairs, "faster") > SEEDS // 3


def test_the_interval_holds_the_true_ratio_as_often_as_it_says() -> None:
    covered = 0
    for seed in range(SEEDS):
        ratio = paired_ratio(*interleaved(seed, true_ratio=1.5))
        covered += ratio.low <= 1.5 <= ratio.high
    assert covered >= 0.975 * SEEDS  # 99.3 % expected; 10 misses of 400 are 3.5 sigma away


def test_a_single_round_beyond_belief_does_not_move_the_interval() -> None:
    steady = paired_ratio([1.0] * ROUNDS, [1.5] * ROUNDS)
    spiky = paired_ratio([1.0] * ROUNDS, [1.5] * (ROUNDS - 1) + [1e6])
    assert (spiky.low, spiky.high) == (steady.low, steady.high) == (1.5, 1.5)
    assert paired_ratio([1.0] * 3, [1.5, 1.5, 1e6]).high == 1e6  # too few rounds to leave it out


def test_confidence_is_what_counting_all_outcomes_gives() -> None:
    """Oracle: all 2^9 ways in which nine rounds fall below or above the true median."""
    num_rounds, depth = 9, 2
    outcomes = list(itertools.product((0, 1), repeat=num_rounds))
    held = sum(depth <= sum(outcome) <= num_rounds - depth for outcome in outcomes)
    assert math.isclose(interval_confidence(num_rounds, depth), held / len(outcomes))
    assert not math.isclose(interval_confidence(num_rounds, depth + 1), held / len(outcomes))


@pytest.mark.parametrize("num_rounds", range(8, 60))
def test_depth_is_the_largest_that_keeps_the_confidence(num_rounds: int) -> None:
    depth = interval_depth(num_rounds)
    assert interval_confidence(num_rounds, depth) >= CONFIDENCE
    assert interval_confidence(num_rounds, depth + 1) < CONFIDENCE


def test_seven_rounds_are_too_few_for_a_verdict_and_eight_are_enough() -> None:
    assert paired_ratio([1.0] * 7, [9.0] * 7).verdict == "no difference measured"
    assert paired_ratio([1.0] * 8, [9.0] * 8).verdict == "slower"


def test_differences_under_two_percent_are_not_reported() -> None:
    assert paired_ratio([1.0] * ROUNDS, [1.019] * ROUNDS).verdict == "no difference measured"
    assert paired_ratio([1.0] * ROUNDS, [1.021] * ROUNDS).verdict == "slower"


def test_swapping_the_two_turns_the_verdict_round() -> None:
    baseline, candidate = interleaved(7, true_ratio=4.0)
    assert paired_ratio(baseline, candidate).verdict == "slower"
    assert paired_ratio(candidate, baseline).verdict == "faster"


def test_orders_are_permutations_drawn_once_for_ever_and_fair() -> None:
    orders = [round_order(2, i) for i in range(200)]
    assert all(sorted(order) == [0, 1] for order in orders)
    assert orders == [round_order(2, i) for i in range(200)]
    assert 70 < sum(order[0] for order in orders) < 130  # 100 expected, 4 sigma are 28


def test_quartiles_of_known_numbers() -> None:
    assert quartiles([4.0, 1.0, 3.0, 2.0, 5.0]) == (2.0, 3.0, 4.0)
    assert quartiles([7.0]) == (7.0, 7.0, 7.0)


@pytest.mark.parametrize(
    ("baseline", "candidate", "message"),
    [
        ([1.0], [1.0, 2.0], "got 1 and 2 rounds"),
        ([], [], "got 0 and 0 rounds"),
        ([1.0, 0.0], [1.0, 1.0], "got a time of 0 s"),
    ],
)
def test_rounds_that_are_no_pairs_are_refused(
    baseline: list[float], candidate: list[float], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        paired_ratio(baseline, candidate)
