"""Draw who does what when: one lane a rank (or a rank's stream), one bar a span."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from fuseshard import palette
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.numbers import duration, number, time_unit
from fuseshard.show.records import Figure, Origin
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Plain, Text, Word, plain, word

Kind = Literal["forward", "backward", "communication", "update", "idle"]


@dataclass(frozen=True)
class Span:
    """One thing that a lane did."""

    lane: Text
    """e.g. rank_lane(0); lanes stand from top to bottom in the order of their first span"""
    start: float
    """seconds, or units of a schedule, since the timeline's zero"""
    end: float
    kind: Kind
    label: Plain | None = None
    """a few characters inside the bar, e.g. the micro-batch's index"""

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind) or not self.start <= self.end:
            raise ValueError(
                f"span on {str(self.lane)!r}: got kind {self.kind!r} from {self.start} to "
                f"{self.end}; the kind must be one of {get_args(Kind)} and the end not before the "
                "start; correct the span"
            )


def rank_lane(rank: int) -> Word:
    """Name the lane of a rank."""
    return word("rank {rank}", rank=rank)


def kind_word(kind: Kind) -> Word:
    """Name what a span's lane is doing."""
    return {
        "forward": word("forward"),
        "backward": word("backward"),
        "communication": word("communication"),
        "update": word("parameter update"),
        "idle": word("idle"),
    }[kind]


def timeline_figure(
    name: str,
    spans: Sequence[Span],
    *,
    caption: Word,
    alt: Word,
    in_seconds: bool = True,
    origin: Origin | None = None,
) -> Figure:
    """Draw spans as bars on their lanes.

    Args:
        name: lower-case words joined by hyphens, unique on its page.
        spans: at least one; those of one lane may overlap, the later ones lie on top.
        caption: states the finding.
        alt: states who waits for whom.
        in_seconds: False for the units of a schedule that was simulated, not timed.
        origin: where the times come from.

    Raises:
        ValueError: there are no spans.
    """
    if not spans:
        raise ValueError(f"timeline {name!r}: got no spans, needs at least 1 to have a time axis")
    lanes = list(dict.fromkeys(span.lane for span in spans))
    # The zero is where everyone starts; the longest time decides the unit.
    symbol, unit = time_unit([max(span.end for span in spans)]) if in_seconds else ("", 1.0)
    drawing = FigureBuilder(name, height=120 + 44 * len(lanes))
    title = word("time ({unit})", unit=symbol) if in_seconds else word("time (steps)")
    drawing.x_axis(title, rangemode="tozero")
    drawing.rows(lanes)
    drawing.layout |= {"barmode": "overlay", "bargap": 0.25}
    for kind in get_args(Kind):
        own = [span for span in spans if span.kind == kind]
        if own:
            _draw(drawing, kind, own, unit=unit, in_seconds=in_seconds)
    table = TableBuilder(f"{name}-table", word("Start and end of each span."))
    table.texts(word("Lane"), [span.lane for span in spans])
    table.texts(word("Activity"), [kind_word(span.kind) for span in spans])
    table.texts(word("Label"), [span.label or plain("") for span in spans])
    table.numbers(word("Start"), [span.start / unit for span in spans], symbol or None)
    table.numbers(word("End"), [span.end / unit for span in spans], symbol or None)
    return drawing.build(caption=caption, alt=alt, table=table.build(), origin=origin)


def _draw(
    drawing: FigureBuilder, kind: Kind, spans: Sequence[Span], *, unit: float, in_seconds: bool
) -> None:
    mark = palette.MARKS[kind]
    lengths = [span.end - span.start for span in spans]
    drawing.bars(
        kind_word(kind),
        [length / unit for length in lengths],
        [span.lane for span in spans],
        mark,
        hover=[duration(length) if in_seconds else number(length) for length in lengths],
        base=[span.start / unit for span in spans],
        orientation="h",
        text=[drawing.say(span.label) if span.label else "" for span in spans],
        textposition="inside",
        insidetextanchor="middle",
        insidetextfont={"color": palette.PAPER[0]},
        textangle=0,
    )
