"""Draw the same comparison at growing sizes, and the break-even point if there is one."""

from __future__ import annotations

from collections.abc import Mapping

from fuseshard.measure.records import Sweep
from fuseshard.show.cards import origin_line
from fuseshard.show.charts.variants import Variant, as_value, listed, variants_of, verdict_word
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.numbers import duration, number
from fuseshard.show.records import Figure, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, word


def sweep_figure(
    name: str,
    sweep: Sweep,
    *,
    subject: Word,
    size: Word,
    candidate: str | None = None,
    variants: Mapping[str, Variant] | None = None,
) -> Figure:
    """Draw median times with their spread against the size, both axes logarithmic.

    The caption says what the verdicts at the sizes allow: where the candidate starts to pay, or
    that it never does, or that the measurement can't tell.

    Args:
        name: lower-case words joined by hyphens, unique on its page.
        sweep: from `measure.clock.sweep`; sizes at least 1.
        subject: what was timed, as the start of the caption, without a full stop.
        size: what the sizes count, lower case, e.g. word("rows").
        candidate: variant that the caption speaks of; may be left out when there are two.
        variants: labels and marks of variants that the book doesn't know.
    """
    first = sweep.points[0].comparison
    known = variants_of([timing.name for timing in first.timings], variants)
    candidate = candidate or first.candidate()[0].name
    found = sweep.break_even(candidate)
    drawing = FigureBuilder(name)
    _draw_lines(drawing, sweep, known, size)
    if found.slower_until is not None and found.faster_from is not None:
        drawing.bracket(found.slower_until, found.faster_from, word("break-even"))
    labels = (known[first.baseline.name].in_sentence, known[candidate].in_sentence)
    return drawing.build(
        caption=word(
            "{subject}: {finding}. Lines are medians, bands the middle half of the rounds.",
            subject=subject,
            finding=break_even_finding(sweep, candidate, labels, size),
        ),
        alt=_alt(sweep, known, size),
        table=_table(f"{name}-table", sweep, candidate, known, subject=subject, size=size),
        origin=origin_line(sweep.origin, num_threads=first.num_threads),
    )


def break_even_finding(sweep: Sweep, candidate: str, labels: tuple[Text, Text], size: Word) -> Word:
    """Say in one clause what a sweep's verdicts allow to say about a candidate.

    Args:
        sweep: the measurement.
        candidate: name of the variant spoken of.
        labels: what a sentence calls the first variant, and the candidate.
        size: what the sizes count, lower case.
    """
    found = sweep.break_even(candidate)
    low, high = found.slower_until, found.faster_from
    who = {"label": as_value(labels[1]), "baseline": as_value(labels[0])}
    if low is None and high is None:
        return _undecided(sweep, candidate, who)
    if high == sweep.sizes[0]:
        return word("{label} is faster than {baseline} at every size tried", **who)
    if low == sweep.sizes[-1]:
        return word("{label} is slower than {baseline} at every size tried", **who)
    return _between(low, high, sweep.sizes[0], {**who, "size": size})


def _between(
    low: int | None, high: int | None, smallest: int, words: Mapping[str, Word | str]
) -> Word:
    """Say up to where a candidate loses and from where it wins; one of the two may be unknown."""
    if low is None:
        return word(
            "{label} is faster than {baseline} from {high} {size} on, "
            "and below that neither wins throughout",
            **words,
            high=number(high or 0),
        )
    if low == smallest:  # which may be 1, and no language says "1 rows"
        return _from_the_smallest(high, words)
    if high is None:
        return word(
            "{label} is slower than {baseline} up to {low} {size}, "
            "and above that neither wins throughout",
            **words,
            low=number(low),
        )
    return word(
        "{label} is slower than {baseline} up to {low} {size} and faster from {high} on",
        **words,
        low=number(low),
        high=number(high),
    )


def _from_the_smallest(high: int | None, words: Mapping[str, Word | str]) -> Word:
    """Say the same where the candidate loses at the smallest size only."""
    if high is None:
        without_size = {name: text for name, text in words.items() if name != "size"}
        return word(
            "{label} is slower than {baseline} at the smallest size tried, "
            "and above that neither wins throughout",
            **without_size,
        )
    return word(
        "{label} is slower than {baseline} at the smallest size tried and faster from {high} "
        "{size} on",
        **words,
        high=number(high),
    )


def _undecided(sweep: Sweep, candidate: str, who: Mapping[str, Word | str]) -> Word:
    verdicts = {point.comparison[candidate].verdict for point in sweep.points}
    if verdicts == {"no difference measured"}:
        return word("no difference between {label} and {baseline} was measured at any size", **who)
    # True also where it wins at the small sizes and loses at the large ones.
    return word(
        "{label} was not measured to be slower than {baseline} at the smallest size tried, "
        "nor faster at the largest",
        **who,
    )


def _draw_lines(
    drawing: FigureBuilder, sweep: Sweep, known: Mapping[str, Variant], size: Word
) -> None:
    timings = [timing for point in sweep.points for timing in point.comparison.timings]
    ends = [end for timing in timings for end in (timing.low_s, timing.high_s)]
    drawing.log_axis("x", size, sweep.sizes, lambda value: number(round(value)))
    drawing.log_axis("y", word("time per call"), ends, lambda value: duration(value, 1))
    for name, variant in known.items():
        own = [point.comparison[name] for point in sweep.points]
        drawing.line(
            variant.label,
            list(sweep.sizes),
            [timing.median_s for timing in own],
            variant.mark,
            spread=([timing.low_s for timing in own], [timing.high_s for timing in own]),
            show=duration,
        )


def _table(
    name: str,
    sweep: Sweep,
    candidate: str,
    known: Mapping[str, Variant],
    *,
    subject: Word,
    size: Word,
) -> Table:
    """Show medians and quartiles at each size, and the candidate's ratio and verdict."""
    table = TableBuilder(name, word("{subject}: times at each size.", subject=subject))
    table.counts(size, list(sweep.sizes))
    for variant_name, variant in known.items():
        label = as_value(variant.label)
        own = [point.comparison[variant_name] for point in sweep.points]
        table.seconds(word("{label}, median", label=label), [t.median_s for t in own])
        table.seconds(word("{label}, lower quartile", label=label), [t.low_s for t in own])
        table.seconds(word("{label}, upper quartile", label=label), [t.high_s for t in own])
    ratios = [point.comparison.candidate(candidate)[1] for point in sweep.points]
    table.numbers(word("Ratio"), [ratio.median for ratio in ratios])
    table.texts(word("Verdict"), [verdict_word(ratio.verdict) for ratio in ratios])
    return table.build()


def _alt(sweep: Sweep, known: Mapping[str, Variant], size: Word) -> Word:
    first, last = sweep.points[0], sweep.points[-1]
    courses = [
        word(
            "{label} goes from {start} to {end}",
            label=as_value(variant.in_sentence),
            start=duration(first.comparison[name].median_s),
            end=duration(last.comparison[name].median_s),
        )
        for name, variant in known.items()
    ]
    return word(
        "Lines on logarithmic axes, time per call against {size} from {low} to {high}: {courses}.",
        size=size,
        low=number(first.size),
        high=number(last.size),
        courses=listed(courses),
    )
