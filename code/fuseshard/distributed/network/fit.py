"""The line through a link's times, alpha + beta S, with intervals. No torch here."""

import math
from collections.abc import Sequence

from fuseshard.distributed.network.records import Estimate, Link, LinkTimes
from fuseshard.measure.statistics import interval_confidence, interval_depth, quartiles

MIN_ROUNDS = 8
"""fewer can't hold a median with 99 % confidence"""
MIN_SIZES = 3
"""through two points every line fits, and nothing tells that the model is wrong"""


def fit_link(times: LinkTimes) -> Link:
    """Fit alpha, beta and gamma to each round by itself; return the medians with their intervals.

    Within a round the line minimises the squares of *relative* errors, because the times span
    orders of magnitude. Over the rounds the intervals run between two of the sorted fits, so a
    round that something else on the machine has spoilt moves an end, not the number. If more are
    spoilt, the interval grows until it reaches 0, and `Link.verdict` says that nothing was
    measured.

    Args:
        times: at least `MIN_ROUNDS` rounds of at least `MIN_SIZES` sizes.

    Raises:
        ValueError: too few rounds or sizes, or a time that isn't positive.

    Source:
        Hockney 1994, doi:10.1016/S0167-8191(06)80021-9, for the model.
    """
    _check(times)
    lines = [_line(times.sizes_bytes, round_s) for round_s in times.rounds_s]
    alpha = _estimate([alpha for alpha, _ in lines])
    beta = _estimate([beta for _, beta in lines])
    adding = [_line(times.sizes_bytes, round_s) for round_s in times.adding_rounds_s]
    misfits = [
        (abs(alpha.value + beta.value * size - median) / median, size)
        for size, median in zip(times.sizes_bytes, times.medians_s(), strict=True)
    ]
    worst, worst_bytes = max(misfits)
    depth = interval_depth(len(lines))
    return Link(
        alpha_s=alpha,
        beta_s_per_byte=beta,
        gamma_s_per_byte=_estimate([gamma for _, gamma in adding]),
        confidence=interval_confidence(len(lines), depth),
        worst_misfit=worst,
        worst_misfit_bytes=worst_bytes,
    )


def _line(sizes: Sequence[int], seconds: Sequence[float]) -> tuple[float, float]:
    """Weighted least squares in closed form; weights 1 / t**2 make the errors relative."""
    weights = [1 / second**2 for second in seconds]
    total = sum(weights)
    mean_size = sum(w * n for w, n in zip(weights, sizes, strict=True)) / total
    mean_s = sum(w * t for w, t in zip(weights, seconds, strict=True)) / total
    spread = sum(w * (n - mean_size) ** 2 for w, n in zip(weights, sizes, strict=True))
    both = sum(
        w * (n - mean_size) * (t - mean_s) for w, n, t in zip(weights, sizes, seconds, strict=True)
    )
    beta = both / spread
    return mean_s - beta * mean_size, beta


def _estimate(values: Sequence[float]) -> Estimate:
    """Median, and the two order statistics between which it lies."""
    ordered = sorted(values)
    depth = interval_depth(len(ordered))
    _, median, _ = quartiles(ordered)
    return Estimate(value=median, low=ordered[depth - 1], high=ordered[-depth])


def _check(times: LinkTimes) -> None:
    num_rounds, num_sizes = len(times.rounds_s), len(set(times.sizes_bytes))
    if num_rounds < MIN_ROUNDS or num_sizes < MIN_SIZES:
        raise ValueError(
            f"fit_link: got {num_rounds} rounds of {num_sizes} different sizes, required are at "
            f"least {MIN_ROUNDS} and {MIN_SIZES} (for an interval of 99 %, and to see whether a "
            "line fits); measure more"
        )
    every = (*times.rounds_s, *times.adding_rounds_s)
    is_paired = len(times.adding_rounds_s) == num_rounds
    if not is_paired or any(len(round_s) != len(times.sizes_bytes) for round_s in every):
        raise ValueError(
            "fit_link: the rounds differ in their number of times, required is one a size for the "
            "messages and one for the additions (they are paired); pass one measurement's record"
        )
    if not all(0 < second < math.inf for round_s in every for second in round_s):
        raise ValueError(
            "fit_link: got a time of 0 s or less or one that isn't finite, required are positive "
            "ones (errors are taken relative to them); time more messages"
        )
