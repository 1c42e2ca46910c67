"""What the times of modes allow to say, in clauses for sentences and captions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fuseshard.compiler.modes.records import Candidate, ModePoint, ModeSweep
from fuseshard.compiler.modes.standing import calls_to_pay, leaders, ratio_between
from fuseshard.measure.records import Comparison
from fuseshard.show.chapters.modes.ways import in_a_row, maker_word, variants
from fuseshard.show.charts.comparison import finding
from fuseshard.show.charts.variants import as_value
from fuseshard.show.numbers import duration, factor, number
from fuseshard.show.recorded import nothing_recorded
from fuseshard.show.words import Text, Word, word


def leader_finding(comparison: Comparison) -> Word:
    """Say in a clause which ways nothing was measured to be faster than.

    Args:
        comparison: of several ways.
    """
    names = leaders(comparison)
    known = variants(names)
    best = min(names, key=lambda name: comparison[name].median_s)
    time = duration(comparison[best].median_s)
    if len(names) == 1:
        return word("{way} is fastest, with {time}", way=as_value(known[best].label), time=time)
    return word(
        "between {ways} no difference was measured, and nothing is faster ({time})",
        ways=labels_of(names),
        time=time,
    )


def pair_finding(comparison: Comparison, way: str, other: str) -> Word:
    """Say in a clause what the rounds allow to say about two ways.

    Args:
        comparison: with both.
        way: the one spoken of.
        other: what it is compared with.
    """
    ratio = ratio_between(comparison, way, other)
    known = variants([way, other])
    timing = replace(comparison[way], ratio=ratio)
    return finding(timing, ratio, known[other].in_sentence, known[way].in_sentence)


def sizes_finding(sweep: ModeSweep | None) -> Word:
    """Say in a clause which way is fastest at each batch size, and which weren't tried there.

    Args:
        sweep: live or recorded; None if it isn't recorded yet.
    """
    if sweep is None:
        return nothing_recorded()
    return in_a_row([_size_finding(sweep, point) for point in sweep.points], apart=True)


def _size_finding(sweep: ModeSweep, point: ModePoint) -> Word:
    said = word(
        "at {size}, {finding}",
        size=number(point.size),
        finding=leader_finding(point.comparison),
    )
    missing = left_out(sweep, point)
    if not missing:
        return said
    return word("{finding} (not tried there: {ways})", finding=said, ways=labels_of(missing))


def left_out(sweep: ModeSweep, point: ModePoint) -> tuple[str, ...]:
    """Return the ways that ran at the smallest batch and had no time left at this one.

    Args:
        sweep: live or recorded.
        point: one of its points.
    """
    ran = {timing.name for timing in point.comparison.timings}
    return tuple(
        timing.name for timing in sweep.points[0].comparison.timings if timing.name not in ran
    )


def labels_of(ways: Sequence[str]) -> Word:
    """Join the labels of some ways with commas.

    Args:
        ways: names in a comparison, at least one.
    """
    known = variants(ways)
    return in_a_row([known[way].label for way in ways])


def against_finding(sweep: ModeSweep | None, way: str, other: str) -> Word:
    """Say in a clause by what factor one way is faster than another, if it is, at each size.

    Args:
        sweep: recorded; None if it isn't yet.
        way: the one spoken of.
        other: what it is compared with.
    """
    if sweep is None:
        return nothing_recorded()
    parts: list[Text] = []
    for point in sweep.points:
        names = {timing.name for timing in point.comparison.timings}
        if {way, other} <= names:
            ratio = ratio_between(point.comparison, way, other)
            size = number(point.size)
            parts.append(
                word("no difference measured at {size}", size=size)
                if ratio.verdict == "no difference measured"
                else word("{speedup} at {size}", speedup=factor(ratio.speedup), size=size)
            )
    return in_a_row(parts) if parts else nothing_recorded()


def processes_finding(sweep: ModeSweep | None, way: str) -> Word:
    """Say in a clause between which bounds the processes' speed-ups over eager mode lie.

    Args:
        sweep: recorded in several processes; None if it isn't yet.
        way: its name in the comparisons.

    Raises:
        ValueError: the sweep has no such way, or it is what the others are compared with.
    """
    if sweep is None:
        return nothing_recorded()
    parts: list[Text] = []
    for point in sweep.points:
        found = {timing.name: timing.ratio for timing in point.comparison.timings}
        ratio = found.get(way)
        if ratio is None:
            raise ValueError(
                f"processes_finding: {way!r} has no ratio at size {point.size}, must have one to "
                f"speak of; take one of {[name for name, one in found.items() if one]}."
            )
        parts.append(
            word(
                "{low} to {high} at {size}",
                low=factor(1 / ratio.high),
                high=factor(1 / ratio.low),
                size=number(point.size),
            )
        )
    return in_a_row(parts)


def launches_finding(sweep: ModeSweep | None, way: str) -> Word:
    """Say in a clause how many launches one call of a way takes at each batch size.

    Args:
        sweep: recorded; None if it isn't yet.
        way: its name in the comparisons.
    """
    if sweep is None:
        return nothing_recorded()
    counts = {p.size: p.traces[way].launches for p in sweep.points if way in p.traces}
    if len(set(counts.values())) == 1:
        return word("{n} launches at each of these sizes", n=next(iter(counts.values())))
    parts = [word("{n} at {size}", n=n, size=number(size)) for size, n in counts.items()]
    return in_a_row(parts) if parts else nothing_recorded()


def search_finding(sweeps: Sequence[ModeSweep | None], way: str, other: str) -> Word:
    """Say in a clause at how many batch sizes a mode that searches is faster than another.

    Args:
        sweeps: recorded; None for one that isn't yet.
        way: the mode that searches.
        other: the mode that it is compared with.
    """
    points = [point for sweep in sweeps if sweep is not None for point in sweep.points]
    both = [p for p in points if {way, other} <= {t.name for t in p.comparison.timings}]
    if not both:
        return nothing_recorded()
    faster = [p for p in both if ratio_between(p.comparison, way, other).verdict == "faster"]
    if not faster:
        return word(
            "at none of the {tried} batch sizes with both was {way} measured to be faster than "
            "{other}",
            tried=len(both),
            **_two(way, other),
        )
    return word(
        "{way} was measured to be faster than {other} at {faster} of the {tried} batch sizes with "
        "both",
        faster=len(faster),
        tried=len(both),
        **_two(way, other),
    )


def compile_finding(sweep: ModeSweep | None) -> Word:
    """Say in a clause how long the first call of each mode takes.

    Args:
        sweep: recorded; None if it isn't yet.
    """
    if sweep is None:
        return nothing_recorded()
    calls = sweep.points[0].first_calls_s
    return in_a_row(
        [
            word("{mode} takes {time}", mode=mode, time=duration(seconds[0]))
            for mode, seconds in calls.items()
        ]
    )


def payback_finding(sweep: ModeSweep | None, way: str, other: str) -> Word:
    """Say in a clause after how many calls a longer compile has paid for itself.

    Args:
        sweep: recorded; None if it isn't yet.
        way: the mode with the longer compile.
        other: the mode that it is compared with.
    """
    if sweep is None:
        return nothing_recorded()
    calls = calls_to_pay(sweep.points[0], way, other)
    if calls is None:
        return word(
            "never, since {way} was not measured to be faster than {other}", **_two(way, other)
        )
    return word(
        "after {calls} calls, {way} has made up for compiling longer than {other}",
        calls=number(round(calls)),
        **_two(way, other),
    )


def error_finding(sweep: ModeSweep | None) -> Word:
    """Say in a clause how far off eager mode is, and how far the worst other way.

    Args:
        sweep: recorded; None if it isn't yet.
    """
    if sweep is None:
        return nothing_recorded()
    eager = max(point.errors["eager"] for point in sweep.points)
    others = max(
        error for point in sweep.points for way, error in point.errors.items() if way != "eager"
    )
    return word(
        "the largest error is {eager} in eager mode and {others} in any other way",
        eager=number(eager, 2),
        others=number(others, 2),
    )


def candidate_finding(candidates: Sequence[Candidate]) -> Word:
    """Say in a clause which candidate won, and by what factor.

    Args:
        candidates: at least two, fastest first.
    """
    first, second, *_ = candidates
    return word(
        "{winner} won here, by a factor of {ratio}",
        winner=maker_word(first),
        ratio=number(second.seconds / first.seconds),
    )


def _two(way: str, other: str) -> dict[str, Word | str]:
    known = variants([way, other])
    return {"way": as_value(known[way].label), "other": as_value(known[other].label)}
