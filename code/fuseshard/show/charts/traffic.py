"""Draw bytes that were counted against bytes that a formula foretold."""

from __future__ import annotations

from collections.abc import Sequence

from fuseshard import palette
from fuseshard.show.charts.variants import listed
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.numbers import number, size_unit
from fuseshard.show.records import Figure, Origin, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Word, plain, word

_ALL_DIGITS = 12
"""more than any count of bytes here has; rounding would hide a difference"""


def bytes_figure(
    name: str,
    world_sizes: Sequence[int],
    measured_bytes: Sequence[int],
    formula_bytes: Sequence[float],
    *,
    subject: Word,
    origin: Origin | None = None,
) -> Figure:
    """Draw counted bytes as bars and the formula's as crosses; equal ones meet.

    Args:
        name: lower-case words joined by hyphens, unique on its page.
        world_sizes: numbers of ranks.
        measured_bytes: counted for each of them, e.g. by `CommMeter`.
        formula_bytes: foretold for each of them.
        subject: what was counted, as the start of the caption, without a full stop.
        origin: where the counts come from.

    Raises:
        ValueError: the three don't have the same length, or are empty.
    """
    lengths = {len(world_sizes), len(measured_bytes), len(formula_bytes)}
    if len(lengths) != 1 or 0 in lengths:
        raise ValueError(
            f"bytes figure {name!r}: got {len(world_sizes)} world sizes, {len(measured_bytes)} "
            f"counts and {len(formula_bytes)} predictions, needs as many of each and at least 1; "
            "count and predict for every world size"
        )
    symbol, unit_bytes = size_unit([max(*measured_bytes, *formula_bytes)])
    drawing = FigureBuilder(name)
    drawing.x_axis(word("world size"), type="category")
    drawing.y_axis(word("bytes ({unit})", unit=symbol), rangemode="tozero")
    drawing.layout["bargap"] = 0.5
    ranks = [plain(world_size) for world_size in world_sizes]
    for draw, label, values, mark in (
        (drawing.bars, word("measured"), measured_bytes, palette.MEASURED),
        (drawing.points, word("formula"), formula_bytes, palette.FORMULA),
    ):
        hover = [f"{_exact(value)} B" for value in values]
        draw(label, ranks, [value / unit_bytes for value in values], mark, hover=hover)
    return drawing.build(
        caption=_caption(subject, world_sizes, measured_bytes, formula_bytes),
        alt=_alt(world_sizes, measured_bytes),
        table=_table(f"{name}-table", subject, (world_sizes, measured_bytes, formula_bytes)),
        origin=origin,
    )


def _table(
    name: str, subject: Word, columns: tuple[Sequence[int], Sequence[int], Sequence[float]]
) -> Table:
    world_sizes, measured_bytes, formula_bytes = columns
    table = TableBuilder(name, word("{subject}, to the byte.", subject=subject))
    table.counts(word("World size"), world_sizes)
    table.counts(word("Measured"), measured_bytes, unit="B")
    if all(value == int(value) for value in formula_bytes):
        table.counts(word("Formula"), [int(value) for value in formula_bytes], unit="B")
    else:
        table.numbers(word("Formula"), formula_bytes, unit="B", significant=_ALL_DIGITS)
    return table.build()


def _exact(num_bytes: float) -> str:
    """Print all digits, since rounding would hide a difference."""
    is_whole = num_bytes == int(num_bytes)
    return number(int(num_bytes)) if is_whole else number(num_bytes, _ALL_DIGITS)


def _caption(
    subject: Word, world_sizes: Sequence[int], measured: Sequence[int], formula: Sequence[float]
) -> Word:
    rows = zip(world_sizes, measured, formula, strict=True)
    unequal = [n for n, counted, foretold in rows if counted != foretold]
    if not unequal:
        return word("{subject}: measured and formula are equal to the byte.", subject=subject)
    return word(
        "{subject}: measured and formula differ at world size {sizes}.",
        subject=subject,
        sizes=", ".join(str(n) for n in unequal),
    )


def _alt(world_sizes: Sequence[int], measured: Sequence[int]) -> Word:
    bars = [
        word("{bytes} B with {n} ranks", bytes=number(counted), n=n)
        for n, counted in zip(world_sizes, measured, strict=True)
    ]
    return word("One bar per world size: {bars}. A cross marks the formula.", bars=listed(bars))
