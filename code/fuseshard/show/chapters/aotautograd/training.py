"""A training step of MiniGPT at several memory budgets, from a recording."""

from __future__ import annotations

from typing import Protocol

from fuseshard import palette
from fuseshard.compiler.joint.records import TrainingSweep
from fuseshard.show.cards import origin_line
from fuseshard.show.chapters.aotautograd.trade import ratio_finding, timed_point
from fuseshard.show.charts.variants import verdict_word
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.numbers import number, size, time_unit
from fuseshard.show.records import Figure, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, plain, word


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
    drawing.x_axis(word("peak of a step (MiB)"), rangemode="tozero")
    drawing.y_axis(word("time of a step ({unit})", unit=symbol), rangemode="tozero")
    drawing.layout["showlegend"] = False
    for point, timing in zip(sweep.points, timings, strict=True):
        mark = palette.EAGER if point.name in ("eager", "checkpoint") else palette.COMPILED
        timed_point(
            drawing,
            _way(point.name),
            mark,
            num_bytes=point.peak_bytes or point.saved_bytes,
            timing=timing,
            unit_s=unit_s,
        )
    return drawing.build(
        caption=word(
            "A training step of MiniGPT with {layers} layers of width {width} on {tokens} tokens: "
            "{finding}.",
            layers=sweep.num_layers,
            width=sweep.width,
            tokens=number(sweep.batch * sweep.tokens),
            finding=training_finding(sweep),
        ),
        alt=word("One point for eager mode, one with checkpoints, and one for each budget."),
        table=_training_table(sweep),
        origin=origin_line(sweep.origin),
    )


def training_finding(sweep: TrainingSweep | None) -> Word:
    """Say in a clause what the default budget and a budget of 0 do to memory and time.

    Args:
        sweep: live or recorded; None if it isn't recorded yet.
    """
    if sweep is None:
        return word("nothing is recorded yet")
    peaks = {point.name: point.peak_bytes or point.saved_bytes for point in sweep.points}
    return word(
        "the peak is {eager} in eager mode, {checkpoint} with checkpoints, {one} compiled at "
        "budget 1 and {zero} at budget 0; {finding}",
        eager=size(peaks["eager"]),
        checkpoint=size(peaks["checkpoint"]),
        one=size(peaks["1.0"]),
        zero=size(peaks["0.0"]),
        finding=ratio_finding(sweep.comparison, "0.0", "eager"),
    )


def _way(name: str) -> Text:
    known: dict[str, Text] = {"eager": word("eager"), "checkpoint": word("eager, checkpoints")}
    return known.get(name) or plain(name)


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
