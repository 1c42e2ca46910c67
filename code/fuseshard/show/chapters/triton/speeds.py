"""How fast hand-written kernels are on a GPU, beside Inductor's, the libraries' and a copy."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence

from fuseshard.compiler.kernel_times.records import (
    BY_HAND,
    COPY,
    EAGER,
    INDUCTOR,
    FusedPoint,
    FusedTask,
    FusedTimes,
    RowPoint,
    RowTimes,
)
from fuseshard.compiler.modes.standing import leaders, ratio_between
from fuseshard.show.beside.draw import beside
from fuseshard.show.cards import origin_line
from fuseshard.show.chapters.modes.ways import in_a_row
from fuseshard.show.charts.variants import as_value, listed
from fuseshard.show.choices import Choice
from fuseshard.show.numbers import factor, number
from fuseshard.show.recorded import HasResult, nothing_recorded
from fuseshard.show.records import Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, plain, word

BY_BYTES, BY_NUMBERS = 1.25, 1.75
"""times as long for twice as many numbers in the same bytes, where neither type is at the copy's
speed: below the first, time goes with the bytes, above the second with the numbers"""


def rows_table(outcome: HasResult[RowTimes]) -> Table | Choice | Word:
    """Show which share of the copy's speed softmax and RMS norm reach, way by way.

    Args:
        outcome: of the experiment "triton.rows-gpu".
    """
    return beside(outcome, _rows_table)


def _rows_table(times: RowTimes) -> Table:
    tasks = _tasks()
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


def beyond_finding(times: RowTimes | None) -> Word:
    """Say in a clause how many results are above the copy's speed, and by how much.

    Args:
        times: recorded; None if it isn't yet.
    """
    if times is None:
        return nothing_recorded()
    ways = (BY_HAND, INDUCTOR, EAGER)
    shares = [round(100 * point.share_of_copy(way)) for point in times.points for way in ways]
    return word(
        "{n} of {all} results come out above 100 %, at most {most} %",
        n=sum(share > 100 for share in shares),
        all=len(shares),
        most=max(shares),
    )


def held_back_finding(times: RowTimes | None, way: str, share: float) -> Word:
    """Say in a clause where a way misses a share of the copy's speed, and what the types tell.

    In the same bytes, bfloat16 has twice as many numbers as float32. Where both types miss the
    share, time that is as long for either goes with the bytes, and time that doubles with the
    numbers. Where one type reaches it, that type waits for memory, and the ratio tells no more.

    Args:
        times: recorded; None if it isn't yet.
        way: name of a variant.
        share: between 0 and 1.
    """
    if times is None:
        return nothing_recorded()
    parts: list[Text] = []
    for task, name in _tasks().items():
        points = [point for point in times.points if point.task == task]
        missing = [point for point in points if point.share_of_copy(way) < share]
        if missing:
            parts.append(
                word(
                    "{task} misses {share} % at {n} of {all} sizes: {why}",
                    task=as_value(name),
                    share=round(100 * share),
                    n=len(missing),
                    all=len(points),
                    why=in_a_row(_brakes(points, missing, way), apart=True),
                )
            )
    return listed(parts) if parts else word("no size misses {share} %", share=round(100 * share))


def _brakes(points: Sequence[RowPoint], missing: Sequence[RowPoint], way: str) -> list[Word]:
    """Sort the widths where a way is too slow by what its two types tell; one clause a sort."""
    found = {(point.dtype, point.columns): point for point in points}
    widths: dict[str, list[tuple[int, float]]] = {}
    for width in dict.fromkeys(point.columns for point in missing):
        single, half = found.get(("float32", width)), found.get(("bfloat16", width))
        slow = [point.dtype for point in missing if point.columns == width]
        if single is None or half is None:
            widths.setdefault("unpaired", []).append((width, 1.0))
            continue
        growth = single.bytes_per_s(way) / half.bytes_per_s(way)
        both = "numbers" if growth >= BY_NUMBERS else "bytes" if growth <= BY_BYTES else "part"
        widths.setdefault(slow[0] if len(slow) == 1 else both, []).append((width, growth))
    return [_brake_word(sort, found) for sort, found in widths.items()]


def _brake_word(sort: str, widths: Sequence[tuple[int, float]]) -> Word:
    columns = ", ".join(str(width) for width, _ in widths)
    ratio = number(statistics.median(growth for _, growth in widths), 2)
    said = {
        "numbers": word("time goes with the numbers"),
        "bytes": word("time goes with the bytes"),
        "part": word("time goes with the numbers in part"),
    }
    if sort in said:
        return word(
            "at {columns} columns in both types, and twice as many numbers in the same bytes take "
            "{ratio} times as long, so that {why}",
            columns=columns,
            ratio=ratio,
            why=said[sort],
        )
    if sort == "unpaired":
        return word("at {columns} columns, measured in one type alone", columns=columns)
    return word(
        "at {columns} columns in {dtype} alone, where bfloat16 takes {ratio} times as long as "
        "float32",
        columns=columns,
        dtype=sort,
        ratio=ratio,
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


def factor_finding(times: FusedTimes | None, task: FusedTask, way: str, other: str) -> Word:
    """Say in a clause by what factor one way is faster than another at each size.

    Args:
        times: recorded; None if it isn't yet.
        task: which operation.
        way: the one spoken of.
        other: what it is compared with; below 1 it is the faster one.
    """
    if times is None:
        return nothing_recorded()
    parts: list[Text] = []
    for point in _of(times, task):
        ratio = ratio_between(point.comparison, way, other)
        if ratio.verdict == "no difference measured":
            parts.append(word("no difference measured at {sizes}", sizes=_sizes(point)))
        else:
            parts.append(
                word("{factor} at {sizes}", factor=factor(ratio.speedup), sizes=_sizes(point))
            )
    return listed(parts)


def leader_finding(times: FusedTimes | None, task: FusedTask) -> Word:
    """Say in a clause at how many sizes nothing was measured to be faster than which way.

    Args:
        times: recorded; None if it isn't yet.
        task: which operation.
    """
    if times is None:
        return nothing_recorded()
    points = _of(times, task)
    counts = Counter(way for point in points for way in leaders(point.comparison))
    return in_a_row(
        [
            word("{way} at {n} of {all} sizes", way=as_value(way_word(way)), n=n, all=len(points))
            for way, n in counts.most_common()
        ]
    )


def memory_finding(times: FusedTimes | None, task: FusedTask, others: Sequence[str]) -> Word:
    """Say in a clause how many times the memory of the kernel by hand other ways take.

    Args:
        times: recorded; None if it isn't yet.
        task: which operation; its last size is spoken of.
        others: names of variants.
    """
    if times is None:
        return nothing_recorded()
    point = _of(times, task)[-1]
    own = point.peak_bytes[BY_HAND]
    ways = [
        word(
            "{way} {ratio}",
            way=as_value(way_word(way)),
            ratio=number(point.peak_bytes[way] / own, 2),
        )
        for way in others
    ]
    return word(
        "at {sizes}, counted in what the kernel by hand takes: {ways}",
        sizes=_sizes(point),
        ways=in_a_row(ways),
    )


def _of(times: FusedTimes, task: FusedTask) -> list[FusedPoint]:
    return [point for point in times.points if point.task == task]


def _tasks() -> dict[str, Text]:
    return {"softmax": plain("softmax"), "rms norm": plain("RMS norm")}


def _sizes(point: FusedPoint) -> str:
    return ", ".join(f"{letter} = {size}" for letter, size in point.shape.items())


def _point_word(point: FusedPoint) -> Word:
    sizes = _sizes(point)
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
