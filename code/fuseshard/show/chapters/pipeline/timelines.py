"""Draw who does what when: simulated steps, and measured ones beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fuseshard.distributed.scheduling.records import Event, Timeline
from fuseshard.palette import INK, PAPER
from fuseshard.show.chapters.pipeline.names import activities, bar_label
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.numbers import number
from fuseshard.show.records import Figure, Origin, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Json, Plain, Text, Word, plain, word

_ROW = 34
"""CSS pixels of a rank's row"""
_LEAST_GAP = 1e-6
"""of the whole; shorter waits are rounding"""


@dataclass(frozen=True, kw_only=True)
class Lanes:
    """One step, to be drawn with a row for each rank."""

    heading: Text | None
    """above the rows; None where the step stands alone"""
    events: tuple[Event, ...]
    """actions with their times, all in one unit"""

    @property
    def num_ranks(self) -> int:
        """Return the number of rows."""
        return 1 + max(event.rank for event in self.events)

    @property
    def last(self) -> float:
        """Return when the step ends."""
        return max(event.end for event in self.events)


def simulated(timeline: Timeline, heading: Text | None = None, *, unit: float = 1.0) -> Lanes:
    """Make lanes of a simulated step.

    Args:
        timeline: from `simulate`.
        heading: above the rows.
        unit: of the figure's axis, in the unit of the costs.
    """
    return Lanes(heading=heading, events=_scaled(timeline.events, 0.0, unit))


def measured(events: Iterable[Event], heading: Text, *, unit_s: float = 1e-3) -> Lanes:
    """Make lanes of a measured step; its first action starts at 0.

    Args:
        events: of all ranks, in seconds on one clock.
        heading: above the rows.
        unit_s: seconds; of the figure's axis.
    """
    found = list(events)
    return Lanes(heading=heading, events=_scaled(found, min(e.start for e in found), unit_s))


def steps_figure(
    name: str,
    steps: Sequence[Lanes],
    *,
    axis: Word,
    caption: Word,
    table: Table | None = None,
    origin: Origin | None = None,
) -> Figure:
    """Draw steps one below the other on one axis of time.

    Args:
        name: lower-case words joined by hyphens, unique on its page.
        steps: each in the unit of the axis.
        axis: its title, with the unit.
        caption: states the finding.
        table: the numbers drawn; None means each rank's times.
        origin: where measured times come from.
    """
    num_rows = sum(step.num_ranks + (step.heading is not None) for step in steps)
    drawing = FigureBuilder(name, height=104 + _ROW * num_rows)
    last = max(step.last for step in steps)
    drawing.x_axis(axis, range=[0, last * 1.01])
    labels: dict[int, Word] = {}
    bars: list[_Bar] = []
    row = 0
    for step in steps:
        if step.heading is not None:
            drawing.note(0.0, row, step.heading, xanchor="left", font={"weight": 700})
            row += 1
        labels |= {row + rank: word("rank {rank}", rank=rank) for rank in range(step.num_ranks)}
        bars += _bars(step, row, last)
        row += step.num_ranks
    _draw(drawing, bars)
    drawing.layout["yaxis"] = _rows_axis([drawing.say(said) for said in labels.values()], labels)
    numbers = table or _ranks_table(f"{name}-numbers", steps)
    return drawing.build(caption=caption, alt=_alternative(steps), table=numbers, origin=origin)


def _rows_axis(names: Sequence[str], rows: Iterable[int]) -> Json:
    """A y axis with a name at each rank's row, the first one at the top."""
    places = list(rows)
    return {
        "tickvals": places,
        "ticktext": list(names),
        "range": [max(places) + 0.55, -0.55],
        "automargin": True,
        "fixedrange": True,
        "zeroline": False,
        "showgrid": False,
    }


def _alternative(steps: Sequence[Lanes]) -> Word:
    """Say what a figure of steps looks like."""
    count = sum(len(step.events) for step in steps)
    if len(steps) == 1:
        return word(
            "A row of bars for every rank, {bars} bars in all, and between them the times in which "
            "a rank waits.",
            bars=count,
        )
    return word(
        "{steps} steps one below the other, each with a row of bars for every rank, {bars} "
        "bars in all, and between them the times in which a rank waits.",
        steps=len(steps),
        bars=count,
    )


@dataclass(frozen=True)
class _Bar:
    kind: str
    row: int
    start: float
    end: float
    text: str
    hover: str


def _scaled(events: Iterable[Event], zero: float, unit: float) -> tuple[Event, ...]:
    return tuple(
        e._replace(start=(e.start - zero) / unit, end=(e.end - zero) / unit) for e in events
    )


def _bars(step: Lanes, first_row: int, last: float) -> list[_Bar]:
    """All bars of a step; a rank's waiting lies between 0, its actions and the step's end."""
    bars = []
    for rank in range(step.num_ranks):
        own = sorted((e for e in step.events if e.rank == rank), key=lambda event: event.start)
        stages = sorted({event.action.stage for event in own})
        free_from = 0.0
        for event in own:
            label = bar_label(event.action, stages)
            times = f"{number(float(event.start))} → {number(float(event.end))}"
            said = f"{event.action}: {times}"
            bars += _gap(first_row + rank, free_from, event.start, last)
            bars.append(
                _Bar(event.action.kind, first_row + rank, event.start, event.end, label, said)
            )
            free_from = event.end
        bars += _gap(first_row + rank, free_from, step.last, last)
    return bars


def _gap(row: int, start: float, end: float, last: float) -> list[_Bar]:
    if end - start < _LEAST_GAP * last:
        return []
    said = f"{number(float(start))} → {number(float(end))}"
    return [_Bar("", row, start, end, "", said)]


def _draw(drawing: FigureBuilder, bars: Sequence[_Bar]) -> None:
    """Add a trace for each activity that occurs."""
    drawing.layout["barmode"] = "overlay"
    for kinds, label, mark in activities():
        own = [bar for bar in bars if (bar.kind in kinds if bar.kind else not kinds)]
        if not own:
            continue
        drawing.bars(
            label,
            [_short(bar.end - bar.start) for bar in own],
            [bar.row for bar in own],
            mark,
            hover=[bar.hover for bar in own],
            base=[_short(bar.start) for bar in own],
            orientation="h",
            width=0.86 if kinds else 0.3,
            text=[drawing.say(plain(bar.text)) if bar.text else "" for bar in own],
            textposition="inside",
            insidetextanchor="middle",
            insidetextfont={"color": PAPER[0] if kinds else INK[0], "size": 11},
            textangle=0,
        )


def _short(value: float) -> float:
    """Drop digits that no screen shows, so that a page with many figures stays light."""
    return round(float(value), 4)


def _ranks_table(name: str, steps: Sequence[Lanes]) -> Table:
    """When each rank starts, stops and computes."""
    rows = [(step, rank) for step in steps for rank in range(step.num_ranks)]
    own = [[e for e in step.events if e.rank == rank] for step, rank in rows]
    busy = [sum(event.end - event.start for event in events) for events in own]
    table = TableBuilder(name, word("Each rank's times, in the unit of the axis."))
    if any(step.heading is not None for step in steps):
        table.texts(word("Step"), [step.heading or Plain("") for step, _ in rows])
    table.texts(word("Rank"), [plain(rank) for _, rank in rows])
    table.numbers(word("First start"), [min(e.start for e in events) for events in own])
    table.numbers(word("Last end"), [max(e.end for e in events) for events in own])
    table.numbers(word("Computing"), busy)
    waits = [step.last - time for (step, _), time in zip(rows, busy, strict=True)]
    table.numbers(word("Waiting"), [max(0.0, wait) for wait in waits])
    return table.build(row_header=False)
