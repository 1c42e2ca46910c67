"""Bars made of parts that follow one another: the seconds of one process, or of one first call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fuseshard.palette import Mark
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.numbers import duration
from fuseshard.show.records import Figure, Origin
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, word


@dataclass(frozen=True)
class Part:
    """One part of every bar."""

    label: Text
    mark: Mark
    seconds: Sequence[float]
    """one a bar"""


def stacked_bars(
    name: str,
    heading: Word,
    bars: Sequence[Text],
    parts: Sequence[Part],
    *,
    caption: Word,
    alt: Word,
    origin: Origin | None = None,
) -> Figure:
    """Draw one lying bar a row, its parts one after the other from the left.

    Args:
        name: lower-case words joined by hyphens, unique on its page.
        heading: what the rows are; head of the table's first column.
        bars: their names, the first one at the top.
        parts: from left to right.
        caption: states the finding.
        alt: states the shape of the data.
        origin: where the times come from.
    """
    drawing = FigureBuilder(name, height=130 + 42 * len(bars))
    drawing.x_axis(word("time (s)"), rangemode="tozero")
    drawing.rows(bars)
    drawing.layout |= {"barmode": "overlay", "bargap": 0.3}
    ends = [0.0] * len(bars)
    for part in parts:
        drawing.bars(
            part.label,
            list(part.seconds),
            bars,
            part.mark,
            hover=[duration(seconds) for seconds in part.seconds],
            base=list(ends),
            orientation="h",
        )
        ends = [end + seconds for end, seconds in zip(ends, part.seconds, strict=True)]
    table = TableBuilder(f"{name}-table", word("The parts of each bar."))
    table.texts(heading, bars)
    for part in parts:
        table.numbers(part.label, list(part.seconds), "s")
    table.numbers(word("in all"), ends, "s")
    return drawing.build(caption=caption, alt=alt, table=table.build(), origin=origin)
