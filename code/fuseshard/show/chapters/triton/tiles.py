"""Registers, spills and load widths: what a tile, warps and alignment cost before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from fuseshard import palette
from fuseshard.compiler.gpu_study.records import TilePoint
from fuseshard.palette import Mark
from fuseshard.show.chapters.triton.names import target_name
from fuseshard.show.charts.variants import listed
from fuseshard.show.choices import Choice, choose
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.numbers import number
from fuseshard.show.records import Figure, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, plain, word

# One colour, since all of it is compiled code; dash and symbol tell the numbers of warps apart.
_LINES = (("solid", "square"), ("dash", "diamond"), ("dot", "triangle-up"), ("dashdot", "circle"))


@dataclass(frozen=True, kw_only=True)
class _Quantity:
    """What a figure shows of each point."""

    key: str
    axis: Word
    of: Callable[[TilePoint], float]


def tile_chooser(points: Sequence[TilePoint]) -> Choice:
    """Draw registers, spills and occupancy against the tile, one line a number of warps.

    Args:
        points: of one kernel; several GPUs and numbers of warps.
    """
    options: list[tuple[Text, Figure]] = []
    for target in dict.fromkeys(point.target for point in points):
        own = [point for point in points if point.target == target]
        for quantity in _quantities():
            label = word("{gpu}: {axis}", gpu=target_name(target), axis=quantity.axis)
            options.append((label, _figure(own, quantity)))
    return choose("tiles", word("Show"), options)


def _quantities() -> tuple[_Quantity, ...]:
    return (
        _Quantity(
            key="registers", axis=word("registers a thread"), of=lambda p: p.resources.registers
        ),
        _Quantity(key="spills", axis=word("spilled registers"), of=lambda p: p.resources.spills),
        _Quantity(
            key="occupancy",
            axis=word("occupancy (%)"),
            of=lambda p: 100 * p.resources.occupancy,
        ),
    )


def _figure(points: Sequence[TilePoint], quantity: _Quantity) -> Figure:
    target = points[0].target
    drawing = FigureBuilder(f"tiles-{target}-{quantity.key}", height=340)
    rows = sorted({point.varied for point in points})
    drawing.log_axis("x", word("rows in a tile"), rows, _whole)
    ticks = {"tickvals": rows, "ticktext": [drawing.say(plain(row)) for row in rows]}
    drawing.layout["xaxis"] |= ticks
    drawing.y_axis(quantity.axis, rangemode="tozero")
    for index, warps in enumerate(dict.fromkeys(point.num_warps for point in points)):
        own = [point for point in points if point.num_warps == warps]
        drawing.line(
            _warps(warps),
            [point.varied for point in own],
            [quantity.of(point) for point in own],
            _mark(index),
            show=_whole,
        )
    caption = word(
        "Softmax tiles on the {gpu}, {axis}: {finding}.",
        gpu=target_name(target),
        axis=quantity.axis,
        finding=spill_finding(points),
    )
    alt = word(
        "One line a number of warps, from {low} to {high} rows; the values go from {least} to "
        "{most}.",
        low=min(point.varied for point in points),
        high=max(point.varied for point in points),
        least=_whole(min(quantity.of(point) for point in points)),
        most=_whole(max(quantity.of(point) for point in points)),
    )
    return drawing.build(caption=caption, alt=alt, table=_table(points, quantity))


def _table(points: Sequence[TilePoint], quantity: _Quantity) -> Table:
    target = points[0].target
    caption = word("Softmax tiles on the {gpu}.", gpu=target_name(target))
    table = TableBuilder(f"tiles-{target}-{quantity.key}-table", caption)
    table.counts(word("Warps"), [point.num_warps for point in points])
    table.counts(word("Rows"), [point.varied for point in points])
    table.counts(word("Elements a thread"), [point.elements_per_thread for point in points])
    table.counts(word("Registers"), [point.resources.registers for point in points])
    table.counts(word("Spills"), [point.resources.spills for point in points])
    table.counts(word("Exchanges"), [point.resources.shuffles for point in points])
    table.counts(word("Barriers"), [point.resources.barriers for point in points])
    table.counts(word("Shared memory"), [p.resources.shared_bytes for p in points], "B")
    table.numbers(word("Occupancy"), [100 * point.resources.occupancy for point in points], "%")
    table.texts(word("limited by"), [limit_word(point.resources.limited_by) for point in points])
    return table.build()


def spill_finding(points: Sequence[TilePoint]) -> Word:
    """Say in a clause from how many elements a thread on registers spill, whatever the warps.

    Args:
        points: of one kernel on one GPU.
    """
    spilling = [point for point in points if point.resources.spills]
    fitting = [point for point in points if not point.resources.spills]
    if not spilling:
        return word(
            "nothing spills up to {most} elements a thread",
            most=max(point.elements_per_thread for point in points),
        )
    first = min(point.elements_per_thread for point in spilling)
    last = max((point.elements_per_thread for point in fitting), default=0)
    most = max(point.resources.spills for point in spilling)
    if last < first:
        return word(
            "up to {last} elements a thread nothing spills, whatever the warps; at {first} every "
            "tile does, up to {most} registers",
            last=last,
            first=first,
            most=most,
        )
    if last == first:
        return word(
            "below {last} elements a thread no tile spills, and at {last} it depends on the warps; "
            "up to {most} registers spill",
            last=last,
            most=most,
        )
    return word(
        "the first tile that spills has {first} elements a thread, the last that doesn't {last}; "
        "up to {most} registers spill",
        first=first,
        last=last,
        most=most,
    )


def full_finding(points: Sequence[TilePoint]) -> Word:
    """Say in a clause whether a tile that spills has full occupancy, which is worth nothing.

    Args:
        points: of one kernel on one GPU.
    """
    spilling = [point for point in points if point.resources.spills]
    full = [point for point in spilling if point.resources.occupancy == 1]
    if not full:
        return word("no tile that spills has full occupancy")
    worst = max(full, key=lambda point: point.resources.spills)
    return word(
        "with {warps} warps and {rows} rows the occupancy is 100 % again, because the "
        "assembler settles for {registers} registers and spills {spills}",
        warps=worst.num_warps,
        rows=worst.varied,
        registers=worst.resources.registers,
        spills=worst.resources.spills,
    )


def warps_finding(points: Sequence[TilePoint], rows: int) -> Word:
    """Say in a clause what the number of warps changes for one tile.

    Args:
        points: of one kernel on one GPU.
        rows: of the tile.
    """
    return listed(
        [
            word(
                "with {warps} {registers} registers, {exchanges} exchanges and {barriers} barriers",
                warps=_warps(point.num_warps),
                registers=point.resources.registers,
                exchanges=point.resources.shuffles,
                barriers=point.resources.barriers,
            )
            for point in points
            if point.varied == rows
        ]
    )


def limit_word(limit: str) -> Text:
    """Name what runs out first on a multiprocessor."""
    known: dict[str, Text] = {
        "registers": word("registers"),
        "shared memory": word("shared memory"),
        "threads": word("threads"),
        "blocks": word("blocks"),
    }
    return known.get(limit, plain(limit))


def _warps(count: int) -> Word:
    return word("{n} warps", n=count) if count > 1 else word("1 warp")


def _mark(index: int) -> Mark:
    dash, symbol = _LINES[index % len(_LINES)]
    return replace(palette.COMPILED, dash=dash, symbol=symbol)


def _whole(value: float) -> str:
    return number(round(value))
