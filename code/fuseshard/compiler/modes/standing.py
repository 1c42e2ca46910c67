"""Which way to run a model was fastest, as far as the rounds can tell; no torch needed."""

from collections.abc import Sequence

from fuseshard.compiler.modes.records import ModePoint
from fuseshard.measure.records import Comparison, Ratio
from fuseshard.measure.statistics import paired_ratio


def ratio_between(comparison: Comparison, way: str, other: str) -> Ratio:
    """Return the time of one way over that of another, taken round by round.

    Args:
        comparison: with both.
        way: the one that is judged.
        other: what it is compared with.

    Returns:
        Ratio with interval and verdict; below 1, `way` is faster.
    """
    return paired_ratio(comparison[other].rounds_s, comparison[way].rounds_s)


def leaders(comparison: Comparison, ways: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return the ways that nothing was measured to be faster than.

    Args:
        comparison: of several ways.
        ways: the ones to look at; None means all.

    Returns:
        The way with the lowest median, and those between which and it no difference was measured.
    """
    names = [timing.name for timing in comparison.timings if ways is None or timing.name in ways]
    best = min(names, key=lambda name: comparison[name].median_s)
    return tuple(
        name
        for name in names
        if name == best or ratio_between(comparison, name, best).verdict != "slower"
    )


def calls_to_pay(point: ModePoint, way: str, other: str) -> float | None:
    """Return after how many calls a slower compile has paid for itself.

    Args:
        point: with first calls of both ways.
        way: the one that took longer to compile.
        other: the one that it has to make up for.

    Returns:
        Extra seconds of the first calls over seconds saved a call; 0 if there are none to make up
        for; None if `way` was not measured to be faster.
    """
    extra_s = sum(point.first_calls_s[way]) - sum(point.first_calls_s[other])
    if ratio_between(point.comparison, way, other).verdict != "faster":
        return None
    saved_s = point.comparison[other].median_s - point.comparison[way].median_s
    return max(extra_s, 0.0) / saved_s if saved_s > 0 else None
