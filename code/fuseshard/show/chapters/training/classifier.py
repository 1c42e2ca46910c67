"""Draw the classifier's speed-up against the batch size, for fixed and for varying lengths."""

from __future__ import annotations

import math
from collections.abc import Mapping

from fuseshard import palette
from fuseshard.compiler.training.records import ClassifierSweep, LengthRuns
from fuseshard.measure.records import Sweep
from fuseshard.show.beside.draw import beside
from fuseshard.show.cards import origin_line
from fuseshard.show.chapters.training.words import recorded_marks
from fuseshard.show.charts.variants import known_variants, verdict_word
from fuseshard.show.choices import Choice, choose
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.numbers import TIMES_SIGN, factor, number
from fuseshard.show.recorded import HasResult, nothing_recorded
from fuseshard.show.records import Figure, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, plain, word


def live_choice(sweeps: Mapping[str, Sweep]) -> Choice:
    """Show the sweeps of this page, one way to feed texts at a time.

    Args:
        sweeps: "fixed", "padded" and "cut" -> eager and compiled over texts in a batch.
    """
    labels = {
        "fixed": word("every text full"),
        "padded": word("varying lengths, padded to the maximum"),
        "cut": word("varying lengths, each batch cut to its longest text"),
    }
    figures = [
        (label, speedup_figure(f"texts-{name}", {name: sweeps[name]}, {name: label}))
        for name, label in labels.items()
    ]
    return choose("batch-size", word("How the texts are fed"), figures)


def gpu_figure(outcome: HasResult[ClassifierSweep]) -> Figure | Choice | Word:
    """Draw the recorded sweep in both precisions, or say how to record it.

    Args:
        outcome: of the experiment, called on any machine.
    """
    return beside(outcome, _gpu_figure)


def _gpu_figure(found: ClassifierSweep) -> Figure:
    labels: dict[str, Text] = {name: plain(name) for name in found.sweeps}
    return speedup_figure("texts-gpu", found.sweeps, labels, whole=found)


def speedup_figure(
    name: str,
    sweeps: Mapping[str, Sweep],
    labels: Mapping[str, Text],
    *,
    whole: ClassifierSweep | None = None,
) -> Figure:
    """Draw by what factor compiling pays at each batch size, with intervals.

    Args:
        name: lower-case words joined by hyphens, unique on its page.
        sweeps: line -> "eager" and "compiled" over texts in a batch.
        labels: line -> its name in the legend.
        whole: the recorded result that they are part of; None for sweeps of this page.
    """
    drawing = FigureBuilder(name, height=360)
    first = next(iter(sweeps.values()))
    ratios = {
        line: [point.comparison.ratio for point in sweep.points] for line, sweep in sweeps.items()
    }
    drawing.log_axis("x", word("texts in a batch"), first.sizes, lambda n: number(round(n)))
    every = [ratio for line in ratios.values() for ratio in line]
    drawn = [1.0, *(end for ratio in every for end in (ratio.speedup_low, ratio.speedup_high))]
    drawing.log_axis("y", word("eager time / compiled time"), drawn, _short_factor)
    marks = recorded_marks() if whole else (palette.MEASURED,)
    for mark, (line, own) in zip(marks, ratios.items(), strict=False):
        spread = ([r.speedup_low for r in own], [r.speedup_high for r in own])
        middle = [r.speedup for r in own]
        drawing.line(labels[line], list(first.sizes), middle, mark, spread=spread, show=factor)
    _mark_equal(drawing)
    origin = whole.origin if whole else first.origin
    threads = None if whole else first.points[0].comparison.num_threads
    return drawing.build(
        caption=_caption(sweeps, labels),
        alt=_alt(sweeps, labels),
        table=_table(f"{name}-table", sweeps, labels),
        origin=origin_line(origin, num_threads=threads),
    )


def sweep_finding(sweep: Sweep) -> Word:
    """Say in a clause between which factors the speed-ups lie, and what the verdicts are.

    Args:
        sweep: "eager" and "compiled".
    """
    ratios = [point.comparison.ratio for point in sweep.points]
    verdicts = [ratio.verdict for ratio in ratios]
    return word(
        "the speed-up lies between {low} and {high}, and of {sizes} batch sizes compiling was "
        "measured to be faster at {faster} and slower at {slower}",
        low=factor(min(ratio.speedup for ratio in ratios)),
        high=factor(max(ratio.speedup for ratio in ratios)),
        sizes=len(ratios),
        faster=verdicts.count("faster"),
        slower=verdicts.count("slower"),
    )


def range_finding(sweep: ClassifierSweep | None, precision: str) -> Word:
    """Say in a clause between which factors the recorded speed-ups lie.

    Args:
        sweep: recorded; None if it isn't yet.
        precision: "float32" or "bfloat16".
    """
    if sweep is None:
        return nothing_recorded()
    speedups = [point.comparison.ratio.speedup for point in sweep.sweeps[precision].points]
    return word(
        "between {low} and {high} in {precision}",
        low=factor(min(speedups)),
        high=factor(max(speedups)),
        precision=precision,
    )


def reach_finding(sweep: ClassifierSweep | None, precision: str, claimed: float) -> Word:
    """Say in a clause at how many batch sizes the recorded speed-up reaches a claimed one.

    Args:
        sweep: recorded; None if it isn't yet.
        precision: "float32" or "bfloat16".
        claimed: a speed-up, such as 1.2.
    """
    if sweep is None:
        return nothing_recorded()
    ratios = [point.comparison.ratio for point in sweep.sweeps[precision].points]
    return word(
        "in {precision} it surely reaches {claimed} at {sure} of {sizes} batch sizes and may reach "
        "it at {possible}",
        precision=precision,
        claimed=factor(claimed),
        sure=sum(ratio.speedup_low >= claimed for ratio in ratios),
        possible=sum(ratio.speedup_high >= claimed for ratio in ratios),
        sizes=len(ratios),
    )


def lengths_table(outcome: HasResult[LengthRuns]) -> Table | Choice | Word:
    """Show what each way to feed varying lengths costs and brings on the GPU.

    Args:
        outcome: of the experiment "training.classifier-lengths-gpu".
    """
    return beside(outcome, _lengths_table)


def _lengths_table(runs: LengthRuns) -> Table:
    names = length_words()
    ratios = [runs.comparison[name].ratio for name in runs.ways]
    table = TableBuilder("lengths-gpu", word("Batches of varying lengths on the GPU."))
    table.texts(word("Way"), [names[name] for name in runs.ways])
    table.counts(word("Graphs"), [way.graphs for way in runs.ways.values()])
    table.counts(word("Tokens of a pass"), [way.tokens for way in runs.ways.values()])
    table.seconds(word("First pass"), [way.first_pass_s for way in runs.ways.values()])
    table.seconds(word("Later pass"), [runs.comparison[name].median_s for name in runs.ways])
    table.numbers(word("Speed-up"), [r.speedup if r else None for r in ratios])
    return table.build(origin=origin_line(runs.origin))


def lengths_finding(runs: LengthRuns | None) -> Word:
    """Say in a clause between which factors the ways to feed varying lengths lie.

    Args:
        runs: recorded; None if it isn't yet.
    """
    if runs is None:
        return nothing_recorded()
    ratios = [timing.ratio for timing in runs.comparison.timings if timing.ratio]
    return word(
        "between {low} and {high}, depending on how they are fed",
        low=factor(min(ratio.speedup for ratio in ratios)),
        high=factor(max(ratio.speedup for ratio in ratios)),
    )


def length_words() -> dict[str, Word]:
    """Name the ways to feed texts of varying lengths."""
    return {
        "eager": word("eager, cut"),
        "padded": word("compiled, padded"),
        "bucketed": word("compiled, in buckets"),
        "dynamic": word("compiled, cut, dynamic"),
    }


def _mark_equal(drawing: FigureBuilder) -> None:
    ink = {"color": palette.INK[0], "width": 1, "dash": "dot"}
    equal = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 1, "y1": 1, "line": ink}
    drawing.layout["shapes"] = [equal]


def _short_factor(ratio: float) -> str:
    """Print a tick, which is round: 0.5 and not 0.500."""
    return f"{ratio:g}{TIMES_SIGN}"


def _caption(sweeps: Mapping[str, Sweep], labels: Mapping[str, Text]) -> Word:
    text = word("A training step of the classifier.")
    for line, sweep in sweeps.items():
        text = word(
            "{before} {label}: {finding}.",
            before=text,
            label=_value(labels[line]),
            finding=sweep_finding(sweep),
        )
    sure = min(p.comparison.ratio.confidence for sweep in sweeps.values() for p in sweep.points)
    return word(
        "{text} Points are medians, bands hold the true median with {percent} % confidence.",
        text=text,
        percent=math.floor(100 * sure),
    )


def _alt(sweeps: Mapping[str, Sweep], labels: Mapping[str, Text]) -> Word:
    text = word("Speed-up against texts in a batch, on logarithmic axes.")
    for line, sweep in sweeps.items():
        ends = [sweep.points[index].comparison.ratio.speedup for index in (0, -1)]
        text = word(
            "{before} {label}: from {first} to {last}.",
            before=text,
            label=_value(labels[line]),
            first=factor(ends[0]),
            last=factor(ends[1]),
        )
    return text


def _table(name: str, sweeps: Mapping[str, Sweep], labels: Mapping[str, Text]) -> Table:
    rows = [(line, point) for line, sweep in sweeps.items() for point in sweep.points]
    comparisons = [point.comparison for _, point in rows]
    ratios = [comparison.ratio for comparison in comparisons]
    table = TableBuilder(name, word("A training step of the classifier at each batch size."))
    table.texts(word("Texts are"), [labels[line] for line, _ in rows])
    table.counts(word("In a batch"), [point.size for _, point in rows])
    for variant in ("eager", "compiled"):
        label = known_variants()[variant].label
        table.seconds(label, [comparison[variant].median_s for comparison in comparisons])
    table.numbers(word("Speed-up"), [ratio.speedup for ratio in ratios])
    table.numbers(word("at least"), [ratio.speedup_low for ratio in ratios])
    table.numbers(word("at most"), [ratio.speedup_high for ratio in ratios])
    table.texts(word("Verdict"), [verdict_word(ratio.verdict) for ratio in ratios])
    return table.build()


def _value(text: Text) -> Word | str:
    return text if isinstance(text, Word) else str(text)
