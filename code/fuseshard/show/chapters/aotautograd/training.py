"""A training step of MiniGPT at several memory budgets, from a recording."""

from __future__ import annotations

from fuseshard import palette
from fuseshard.compiler.joint.records import TrainingPoint, TrainingSweep
from fuseshard.measure.statistics import paired_ratio
from fuseshard.show.beside.draw import beside
from fuseshard.show.cards import origin_line
from fuseshard.show.chapters.aotautograd.trade import MIB, ratio_finding
from fuseshard.show.charts.variants import verdict_word
from fuseshard.show.choices import Choice
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.numbers import number, size
from fuseshard.show.recorded import HasResult, nothing_recorded
from fuseshard.show.records import Figure, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, plain, word

EAGER_WAYS = ("eager", "checkpoint")
"""names of the points that aren't budgets"""


def training_figure(outcome: HasResult[TrainingSweep]) -> Figure | Choice | Word:
    """Draw the memory of a recorded training step at several budgets, or say how to record it.

    Args:
        outcome: of the experiment, called on any machine.
    """
    return beside(outcome, _training_figure)


def _training_figure(sweep: TrainingSweep) -> Figure:
    drawing = FigureBuilder("training-memory", height=150 + 55 * len(sweep.points))
    rows = [_way(point.name) for point in sweep.points]
    drawing.rows(rows)
    drawing.x_axis(plain("MiB"), rangemode="tozero")
    drawing.layout["barmode"] = "group"
    for label, values, mark in (
        (word("kept for backward"), [p.saved_bytes for p in sweep.points], palette.IDLE),
        (word("peak of a step"), [_peak(p) for p in sweep.points], palette.MEASURED),
    ):
        drawing.bars(
            label,
            [value / MIB for value in values],
            rows,
            mark,
            hover=[size(value) for value in values],
            orientation="h",
        )
    return drawing.build(
        caption=word(
            "A training step of MiniGPT with {layers} layers of width {width} on {tokens} tokens: "
            "peaks are {peaks}; in time, {times}.",
            layers=sweep.num_layers,
            width=sweep.width,
            tokens=number(sweep.batch * sweep.tokens),
            peaks=peak_finding(sweep),
            times=time_finding(sweep),
        ),
        alt=word(
            "Two bars for eager mode, for eager mode with checkpoints, and for each budget: what "
            "is kept, and the peak."
        ),
        table=_training_table(sweep),
        origin=origin_line(sweep.origin),
    )


def peak_finding(sweep: TrainingSweep | None) -> Word:
    """Say in a clause how high the peak of a step is, and at which budget it is lowest.

    Args:
        sweep: live or recorded; None if it isn't recorded yet.
    """
    if sweep is None:
        return nothing_recorded()
    peaks = {point.name: _peak(point) for point in sweep.points}
    said = word(
        "{eager} in eager mode and {checkpoint} with checkpoints; compiled, {one} at budget 1",
        eager=size(peaks["eager"]),
        checkpoint=size(peaks["checkpoint"]),
        one=size(peaks["1.0"]),
    )
    budgets = [name for name in peaks if name not in EAGER_WAYS]
    lowest, last = min(budgets, key=lambda name: peaks[name]), min(budgets, key=float)
    if lowest == last:
        return word(
            "{said} and, lowest, {least} at budget {budget}",
            said=said,
            budget=lowest,
            least=size(peaks[lowest]),
        )
    return word(
        "{said}, lowest at budget {budget}, with {least}, and back up at {zero} at budget {last}",
        said=said,
        budget=lowest,
        least=size(peaks[lowest]),
        zero=size(peaks[last]),
        last=last,
    )


def kept_finding(sweep: TrainingSweep | None) -> Word:
    """Say in a clause how the bytes that are kept fall from the highest to the lowest budget.

    Args:
        sweep: live or recorded; None if it isn't recorded yet.
    """
    if sweep is None:
        return nothing_recorded()
    kept = {float(p.name): p.saved_bytes for p in sweep.points if p.name not in EAGER_WAYS}
    return word("{most} to {least}", most=size(kept[max(kept)]), least=size(kept[min(kept)]))


def time_finding(sweep: TrainingSweep | None) -> Word:
    """Say in a clause how checkpoints, budget 1 and smaller budgets do in time.

    Args:
        sweep: live or recorded; None if it isn't recorded yet.
    """
    if sweep is None:
        return nothing_recorded()
    against_eager = word(
        "{checkpoint}; {one}",
        checkpoint=ratio_finding(sweep.comparison, "checkpoint", "eager"),
        one=ratio_finding(sweep.comparison, "1.0", "eager"),
    )
    first = sweep.comparison["1.0"].rounds_s
    slower = [
        point.name
        for point in sweep.points
        if point.name not in (*EAGER_WAYS, "1.0")
        and paired_ratio(first, sweep.comparison[point.name].rounds_s).verdict == "slower"
    ]
    if not slower:
        return word(
            "{against_eager}, and no smaller budget was measured to be slower than budget 1",
            against_eager=against_eager,
        )
    return word(
        "{against_eager}; measured to be slower than budget 1, budgets: {slower}",
        against_eager=against_eager,
        slower=", ".join(slower),
    )


def _peak(point: TrainingPoint) -> int:
    """A step's peak in bytes; on a CPU, which counts none, what is kept."""
    return point.peak_bytes or point.saved_bytes


def _way(name: str) -> Text:
    known: dict[str, Text] = {"eager": word("eager"), "checkpoint": word("eager, checkpoints")}
    return known.get(name) or word("compiled, budget {budget}", budget=name)


def _training_table(sweep: TrainingSweep) -> Table:
    timings = [sweep.comparison[point.name] for point in sweep.points]
    table = TableBuilder("training-steps", word("A training step: memory and time of each way."))
    table.texts(word("Way"), [_way(point.name) for point in sweep.points])
    table.sizes(word("Kept for backward"), [point.saved_bytes for point in sweep.points])
    table.sizes(word("Peak"), [point.peak_bytes for point in sweep.points])
    table.seconds(word("Median"), [timing.median_s for timing in timings])
    table.seconds(word("Lower quartile"), [timing.low_s for timing in timings])
    table.seconds(word("Upper quartile"), [timing.high_s for timing in timings])
    table.texts(word("Verdict"), [verdict_word(timing.verdict) for timing in timings])
    return table.build()
