"""From raw rounds to a verdict, without assuming anything about the shape of the noise.

Legend: n = rounds; a ratio is candidate over baseline within one round.
"""

import math
import random
import statistics
from collections.abc import Sequence

from fuseshard.measure.records import Ratio, Verdict

CONFIDENCE = 0.99
"""A page makes dozens of comparisons: at 0.95 one in twenty of the empty ones would lie."""

SMALLEST_EFFECT = 0.02
"""Differences under 2 % also come from where memory happened to be placed; we don't report them."""


def quartiles(samples: Sequence[float]) -> tuple[float, float, float]:
    """Return lower quartile, median and upper quartile.

    Args:
        samples: at least one number, in any order.

    Returns:
        The three values, in the unit of the samples.
    """
    if len(samples) == 1:
        return samples[0], samples[0], samples[0]
    low, median, high = statistics.quantiles(samples, n=4, method="inclusive")
    return low, median, high


def round_order(num_variants: int, round_index: int) -> list[int]:
    """Return the order in which a round times the variants: random, and the same every time.

    A drift or a rhythm of the machine favours whoever happens to run at the right moment. With a
    fixed order that is always the same variant; with a drawn one it is a fair coin each round,
    which is all that the interval of `paired_ratio` needs.

    Args:
        num_variants: how many variants a round times.
        round_index: zero-based.

    Returns:
        A permutation of range(num_variants).
    """
    order = list(range(num_variants))
    random.Random(round_index).shuffle(order)
    return order


def paired_ratio(baseline_s: Sequence[float], candidate_s: Sequence[float]) -> Ratio:
    """Return the median ratio of paired rounds with its interval, and what it allows to say.

    The interval runs between two of the sorted ratios. A round falls below the true median as
    often as above it, so the number of rounds below is a series of coin tosses, and the binomial
    distribution says how far in from both ends we may go. No bell curve is assumed: spikes move
    the extremes, not the interval.

    Args:
        baseline_s: seconds of the first variant, one value a round.
        candidate_s: seconds of the other variant in the same rounds.

    Returns:
        The ratio. Its verdict is "no difference measured" unless the whole interval lies beyond
        SMALLEST_EFFECT and there were enough rounds for CONFIDENCE.

    Raises:
        ValueError: the two differ in length, are empty, or hold a time that isn't positive.

    Source:
        Conover, Practical Nonparametric Statistics, 3rd edition, section 3.2.
    """
    if len(baseline_s) != len(candidate_s) or not baseline_s:
        raise ValueError(
            f"paired_ratio: got {len(baseline_s)} and {len(candidate_s)} rounds; required as many "
            "of both, at least 1, because each ratio is taken within a round."
        )
    if min(*baseline_s, *candidate_s) <= 0:
        raise ValueError("paired_ratio: got a time of 0 s or less; time more calls a round.")
    ratios = sorted(c / b for b, c in zip(baseline_s, candidate_s, strict=True))
    depth = interval_depth(len(ratios))
    low, high = ratios[depth - 1], ratios[-depth]
    confidence = interval_confidence(len(ratios), depth)
    return Ratio(
        median=statistics.median(ratios),
        low=low,
        high=high,
        confidence=confidence,
        verdict=_verdict(low, high, confidence),
    )


def interval_confidence(num_rounds: int, depth: int) -> float:
    """Return how surely the depth-th smallest to depth-th largest ratio hold the true median.

    Args:
        num_rounds: how many ratios there are.
        depth: 1 for the extremes, 2 for their neighbours, and so on.

    Returns:
        Probability that at least `depth` of the rounds fall on either side.
    """
    tail = sum(math.comb(num_rounds, below) for below in range(depth))
    return max(0.0, 1.0 - math.ldexp(tail, 1 - num_rounds))  # tail / 2**(n - 1)


def interval_depth(num_rounds: int) -> int:
    """Return how far in from both ends the interval may start at CONFIDENCE, at least 1.

    Args:
        num_rounds: how many ratios there are.

    Returns:
        Depth; 1 also when the extremes themselves fall short of CONFIDENCE.
    """
    depth = 1
    while interval_confidence(num_rounds, depth + 1) >= CONFIDENCE:
        depth += 1
    return depth


def _verdict(low: float, high: float, confidence: float) -> Verdict:
    if confidence < CONFIDENCE:
        return "no difference measured"
    if high < 1.0 / (1.0 + SMALLEST_EFFECT):
        return "faster"
    if low > 1.0 + SMALLEST_EFFECT:
        return "slower"
    return "no difference measured"
