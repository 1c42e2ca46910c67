"""A training step of MiniGPT at several memory budgets, from a recording."""

from __future__ import annotations

from typing import Protocol

from fuseshard import palette
from fuseshard.compiler.joint.records import TrainingPoint, TrainingSweep
from fuseshard.measure.statistics import paired_ratio
from fuseshard.show.cards import origin_line
from fuseshard.show.chapters.aotautograd.trade import MIB, ratio_finding, timed_point
from fuseshard.show.charts.variants import verdict_word
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.numbers import number, size, time_unit
from fuseshard.show.records import Figure, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, word

EAGER_WAYS = ("eager", "checkpoint")
"""names of the points that aren't budgets"""


class HasTraining(Protocol):
    """An experiment's outcome, as `measure.experiments` makes it."""

    experiment_id: str

    @property
    def available(self) -> TrainingSweep | None:
        """The result; None if it isn't recorded yet."""


def training_figure(outcome: HasTraining) -> Figure | Word:
    """Draw a recorded training step at several budgets, or say how to record it.

    Args:
        outcome: of the experiment, called on any machine.
    """
    sweep = outcome.available
    if sweep is None:
        return word(
            "The experiment {id} needs a CUDA GPU and has not been recorded yet; make record does "
            "it on a machine with one.",
            id=outcome.experiment_id,
        )
    timings = [sweep.comparison[point.name] for point in sweep.points]
    symbol, unit_s = time_unit(timing.median_s for timing in timings)
    drawing = FigureBuilder("training-trade")
    # Room for the labels, which stand to the right of their points.
    widest = 1.25 * max(map(_peak, sweep.points)) / MIB
    drawing.x_axis(word("peak of a step (MiB)"), range=[0, widest])
    drawing.y_axis(word("time of a step ({unit})", unit=symbol), rangemode="tozero")
    drawing.layout["showlegend"] = False
    order = sorted(sweep.points, key=_peak)
    for point, timing in zip(sweep.points, timings, strict=True):
        mark = palette.EAGER if point.name in EAGER_WAYS else palette.COMPILED
        timed_point(
            drawing,
            _way(point.name),
            mark,
            num_bytes=_peak(point),
            timing=timing,
            unit_s=unit_s,
            is_label_below=order.index(point) % 2 == 0,
        )
    return drawing.build(
        caption=word(
            "A training step of MiniGPT with {layers} layers of width {width} on {tokens} tokens: "
            "{peaks}; {times}.",
            layers=sweep.num_layers,
            width=sweep.width,
            tokens=number(sweep.batch * sweep.tokens),
            peaks=peak_finding(sweep),
            times=time_finding(sweep),
        ),
        alt=word("One point for eager mode, one with checkpoints, and one for each budget."),
        table=_training_table(sweep),
        origin=origin_line(sweep.origin),
    )


def peak_finding(sweep: TrainingSweep | None) -> Word:
    """Say in a clause how high the peak of a step is, and at which budget it is lowest.

    Args:
        sweep: live or recorded; None if it isn't recorded yet.
    """
    if sweep is None:
        return word("nothing is recorded yet")
    peaks = {point.name: _peak(point) for point in sweep.points}
    said = word(
        "the peak is {eager} in eager mode and {checkpoint} with checkpoints; compiled it is {one} "
        "at budget 1",
        eager=size(peaks["eager"]),
        checkpoint=size(peaks["checkpoint"]),
        one=size(peaks["1.0"]),
    )
    budgets = [name for name in peaks if name not in EAGER_WAYS]
    lowest, last = min(budgets, key=lambda name: peaks[name]), min(budgets, key=float)
    if lowest == last:
        return word(
            "{said} and lowest at budget {budget}, with {least}",
            said=said,
            budget=lowest,
            least=size(peaks[lowest]),
        )
    return word(
        "{said}, lowest at budget {budget}, with {least}, and {zero} again at budget {last}",
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
        return word("nothing is recorded yet")
    kept = {float(p.name): p.saved_bytes for p in sweep.points if p.name not in EAGER_WAYS}
    return word("{most} to {least}", most=size(kept[max(kept)]), least=size(kept[min(kept)]))


def time_finding(sweep: TrainingSweep | None) -> Word:
    """Say in a clause how checkpoints, budget 1 and smaller budgets do in time.

    Args:
        sweep: live or recorded; None if it isn't recorded yet.
    """
    if sweep is None:
        return word("nothing is recorded yet")
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
            "{against_eager}, and no smaller budget was measured to be slower than that",
            against_eager=against_eager,
        )
    return word(
        "{against_eager}; measured to be slower than that, budgets: {slower}",
        against_eager=against_eager,
        slower=", ".join(slower),
    )


def _peak(point: TrainingPoint) -> int:
    """A step's peak in bytes; on a CPU, which counts none, what is kept."""
    return point.peak_bytes or point.saved_bytes


def _way(name: str) -> Text:
    known: dict[str, Text] = {"eager": word("eager"), "checkpoint": word("eager, checkpoints")}
    return known.get(name) or word("budget {budget}", budget=name)


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
