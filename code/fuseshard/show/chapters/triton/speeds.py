"""How fast hand-written kernels are on a GPU, beside Inductor's, the libraries' and a copy."""

from __future__ import annotations

from fuseshard.compiler.kernel_times.records import (
    BY_HAND,
    COPY,
    EAGER,
    INDUCTOR,
    FusedPoint,
    FusedTimes,
    RowTimes,
)
from fuseshard.show.beside.draw import beside
from fuseshard.show.cards import origin_line
from fuseshard.show.choices import Choice
from fuseshard.show.recorded import HasResult, nothing_recorded
from fuseshard.show.records import Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, plain, word


def rows_table(outcome: HasResult[RowTimes]) -> Table | Choice | Word:
    """Show which share of the copy's speed softmax and RMS norm reach, way by way.

    Args:
        outcome: of the experiment "triton.rows-gpu".
    """
    return beside(outcome, _rows_table)


def _rows_table(times: RowTimes) -> Table:
    tasks = {"softmax": plain("softmax"), "rms norm": plain("RMS norm")}
    points = times.points
    table = TableBuilder(
        "row-speeds", word("Bytes a second of a copy, and the share of it that each way reaches.")
    )
    table.texts(word("Operation"), [tasks[point.task] for point in points])
    table.texts(word("Type"), [plain(point.dtype) for point in points])
    table.counts(word("Columns"), [point.columns for point in points])
    speeds = [point.bytes_per_s(COPY) / 1e9 for point in points]
    table.numbers(word("Copy"), speeds, unit="GB/s")
    for way in (BY_HAND, INDUCTOR, EAGER):
        shares = [100 * point.share_of_copy(way) for point in points]
        table.numbers(way_word(way), shares, unit="%")
    return table.build(origin=origin_line(times.origin))


def rows_finding(times: RowTimes | None, share: float) -> Word:
    """Say in a clause at how many sizes the kernels by hand reach a share of the copy's speed.

    Args:
        times: recorded; None if it isn't yet.
        share: between 0 and 1.
    """
    if times is None:
        return nothing_recorded()
    reached = sum(point.share_of_copy(BY_HAND) >= share for point in times.points)
    least = min(point.share_of_copy(BY_HAND) for point in times.points)
    return word(
        "the kernels by hand reach {share} % of the copy's speed at {reached} of {n} sizes, and "
        "{least} % where they do worst",
        share=round(100 * share),
        reached=reached,
        n=len(times.points),
        least=round(100 * least),
    )


def fused_table(outcome: HasResult[FusedTimes]) -> Table | Choice | Word:
    """Show times and memory of the fused head and of attention, way by way.

    Args:
        outcome: of the experiment "triton.fused-gpu".
    """
    return beside(outcome, _fused_table)


def _fused_table(times: FusedTimes) -> Table:
    rows = [(point, timing) for point in times.points for timing in point.comparison.timings]
    table = TableBuilder(
        "fused-speeds", word("A head with its loss, and causal attention: times and memory.")
    )
    table.texts(word("Operation"), [_point_word(point) for point, _ in rows])
    table.texts(word("Computed by"), [way_word(timing.name) for _, timing in rows])
    table.seconds(word("Time"), [timing.median_s for _, timing in rows])
    rates = [point.flop / timing.median_s / 1e12 for point, timing in rows]
    table.numbers(word("Rate"), rates, unit="TFLOP/s")
    table.sizes(word("Peak memory"), [point.peak_bytes[timing.name] for point, timing in rows])
    return table.build(origin=origin_line(times.origin))


def _point_word(point: FusedPoint) -> Word:
    sizes = ", ".join(f"{letter} = {size}" for letter, size in point.shape.items())
    if point.task == "attention":
        return word("attention, {sizes}", sizes=sizes)
    return word("linear and cross-entropy, {sizes}", sizes=sizes)


def way_word(way: str) -> Text:
    """Name a way to compute.

    Args:
        way: of `compiler.kernel_times`; a library is called by its name.
    """
    known: dict[str, Text] = {
        BY_HAND: word("by hand"),
        INDUCTOR: plain("Inductor"),
        EAGER: word("eager mode"),
        COPY: word("copy"),
    }
    return known.get(way, plain(way))
