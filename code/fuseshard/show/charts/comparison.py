"""Draw a comparison: medians with the middle half of the rounds, and what may be said of it."""

from __future__ import annotations

from collections.abc import Mapping

from fuseshard.measure.records import Comparison, Ratio, Timing
from fuseshard.show.cards import origin_line
from fuseshard.show.charts.variants import Variant, as_value, listed, variants_of, verdict_word
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.numbers import duration, factor, time_unit
from fuseshard.show.records import Figure, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, word


def comparison_figure(
    name: str,
    comparison: Comparison,
    *,
    subject: Word,
    variants: Mapping[str, Variant] | None = None,
    has_first_calls: bool = True,
) -> Figure:
    """Draw one dot a variant, with a bar over the middle half of its rounds.

    Args:
        name: lower-case words joined by hyphens, unique on its page.
        comparison: from `measure.clock.compare`.
        subject: what was timed, as the start of the caption, without a full stop.
        variants: labels and marks of variants that the book doesn't know.
        has_first_calls: as `comparison_table` takes it.
    """
    known = variants_of([timing.name for timing in comparison.timings], variants)
    symbol, unit_s = time_unit(timing.median_s for timing in comparison.timings)
    drawing = FigureBuilder(name, height=130 + 60 * len(comparison.timings))
    drawing.x_axis(word("time per call ({unit})", unit=symbol), rangemode="tozero")
    drawing.rows([known[timing.name].label for timing in comparison.timings])
    drawing.layout["showlegend"] = False  # the rows carry the names
    for timing in comparison.timings:
        low, middle, high = (
            value / unit_s for value in (timing.low_s, timing.median_s, timing.high_s)
        )
        bar = {"array": [high - middle], "arrayminus": [middle - low], "thickness": 3, "width": 8}
        variant = known[timing.name]
        drawing.points(
            variant.label,
            [middle],
            [variant.label],
            variant.mark,
            hover=[duration(timing.median_s)],
            error_x={"type": "data", "symmetric": False, "color": variant.mark.light, **bar},
        )
    return drawing.build(
        caption=_caption(comparison, subject, known),
        alt=_alt(comparison, known),
        table=comparison_table(
            f"{name}-table",
            comparison,
            subject=subject,
            variants=variants,
            has_first_calls=has_first_calls,
        ),
        origin=origin_line(comparison.origin, num_threads=comparison.num_threads),
    )


def comparison_table(
    name: str,
    comparison: Comparison,
    *,
    subject: Word,
    variants: Mapping[str, Variant] | None = None,
    has_first_calls: bool = True,
) -> Table:
    """Show first call, median, quartiles, ratio with its interval, and verdict of each variant.

    Args:
        name: lower-case words joined by hyphens, unique on its page.
        comparison: from `measure.clock.compare`.
        subject: what was timed, as the start of the caption, without a full stop.
        variants: labels and marks of variants that the book doesn't know.
        has_first_calls: False leaves first calls out, where variants were called before the
            comparison, or may have found what they needed on disk.
    """
    timings = comparison.timings
    known = variants_of([timing.name for timing in timings], variants)
    ratios = [timing.ratio for timing in timings]
    table = TableBuilder(name, word("{subject}: times of one call.", subject=subject))
    table.texts(word("Variant"), [known[timing.name].label for timing in timings])
    if has_first_calls:
        table.seconds(word("First call"), [timing.first_call_s for timing in timings])
    table.seconds(word("Median"), [timing.median_s for timing in timings])
    table.seconds(word("Lower quartile"), [timing.low_s for timing in timings])
    table.seconds(word("Upper quartile"), [timing.high_s for timing in timings])
    table.numbers(word("Ratio to the first"), [r.median if r else None for r in ratios])
    table.numbers(word("Ratio, at least"), [r.low if r else None for r in ratios])
    table.numbers(word("Ratio, at most"), [r.high if r else None for r in ratios])
    table.texts(word("Verdict"), [verdict_word(timing.verdict) for timing in timings])
    return table.build(origin=origin_line(comparison.origin, num_threads=comparison.num_threads))


def finding(timing: Timing, ratio: Ratio, baseline: Text, label: Text) -> Word:
    """Say in one sentence what the rounds allow to say about a variant.

    Args:
        timing: the variant's.
        ratio: of the variant to the first.
        baseline: what a sentence calls the first variant.
        label: what it calls the variant.
    """
    names = {"label": as_value(label), "baseline": as_value(baseline)}
    if timing.verdict == "faster":
        return word(
            "{label} is {speedup} as fast as {baseline} (between {low} and {high})",
            **names,
            speedup=factor(ratio.speedup),
            low=factor(ratio.speedup_low),
            high=factor(ratio.speedup_high),
        )
    if timing.verdict == "slower":
        return word(
            "{label} takes {ratio} the time of {baseline} (between {low} and {high})",
            **names,
            ratio=factor(ratio.median),
            low=factor(ratio.low),
            high=factor(ratio.high),
        )
    return word(
        "between {label} and {baseline} no difference was measured (ratio {low} to {high})",
        **names,
        low=factor(ratio.low),
        high=factor(ratio.high),
    )


def _caption(comparison: Comparison, subject: Word, known: Mapping[str, Variant]) -> Word:
    baseline = known[comparison.baseline.name].in_sentence
    findings = [
        finding(timing, timing.ratio, baseline, known[timing.name].in_sentence)
        for timing in comparison.timings
        if timing.ratio is not None
    ]
    if not findings:
        return word(
            "{subject}: dots are medians, bars the middle half of the rounds.", subject=subject
        )
    return word(
        "{subject}: {findings}. Dots are medians, bars the middle half of the rounds.",
        subject=subject,
        findings=listed(findings),
    )


def _alt(comparison: Comparison, known: Mapping[str, Variant]) -> Word:
    medians = [
        word("{label}, {time}", label=as_value(known[t.name].label), time=duration(t.median_s))
        for t in comparison.timings
    ]
    return word(
        "One dot per variant on an axis of time per call: {medians}.", medians=listed(medians)
    )
