"""Draw which unit's parameters are whole when each layer computes, in one training step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fuseshard import palette
from fuseshard.distributed.zero.records import Residency
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.numbers import number, size
from fuseshard.show.records import Figure, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, plain, word

Bar = tuple[float, int, int]
"""row, first moment, last moment plus one"""


def residency_figure(records: Mapping[str, Residency]) -> Figure:
    """Draw a row a unit and a bar from each gather to the free that ends it.

    Args:
        records: value of `reshard_after_forward` -> one step of one rank; the same model in all.

    Raises:
        ValueError: there are no records.
    """
    if not records:
        raise ValueError("residency_figure: got no records, needs at least 1; record a step")
    num_rows = sum(1 + len(record.units) for record in records.values())
    drawing = FigureBuilder("residency", height=130 + 30 * num_rows)
    labels = _draw_all(drawing, records)
    drawing.layout |= {"barmode": "overlay"}
    drawing.x_axis(word("layers, in the order in which they compute"), rangemode="tozero")
    drawing.layout["yaxis"] = {
        "tickvals": list(labels),
        "ticktext": [drawing.say(label) for label in labels.values()],
        "range": [num_rows - 0.4, -0.6],
        "automargin": True,
        "fixedrange": True,
        "zeroline": False,
    }
    return drawing.build(
        caption=word(
            "With resharding a block is whole twice and briefly; without it, from its forward to "
            "its backward pass."
        ),
        alt=word(
            "Timeline of {count} training steps, each with a row for each unit and bars where its "
            "parameters are whole.",
            count=len(records),
        ),
        table=_table(records),
    )


def _draw_all(drawing: FigureBuilder, records: Mapping[str, Residency]) -> dict[int, Text]:
    """Draw the groups one below the other; return the label of each row that has one."""
    labels: dict[int, Text] = {}
    forward: list[Bar] = []
    backward: list[Bar] = []
    row = 0
    for setting, record in records.items():
        heading = word(
            "reshard_after_forward={setting}: at most {size}",
            setting=setting,
            size=size(record.most_bytes),
        )
        drawing.note(0, row, heading, xanchor="left", font={"weight": 700})
        turn = _turn(record)
        for place, unit in enumerate(record.units, start=row + 1):
            labels[place] = unit_word(unit)
            for start, end in record.runs(unit):
                forward += [(place, start, min(end, turn))] if start < turn else []
                backward += [(place, max(start, turn), end)] if end > turn else []
        row += 1 + len(record.units)
    _draw(drawing, word("whole in the forward pass"), forward, palette.FORWARD)
    _draw(drawing, word("whole in the backward pass"), backward, palette.BACKWARD)
    return labels


def unit_word(unit: str) -> Text:
    """Name a unit: "root", or "block 0" and so on.

    Args:
        unit: as the recorder was given it.
    """
    kind, _, index = unit.partition(" ")
    if kind == "block":
        return word("block {index}", index=index)
    return word("root") if unit == "root" else plain(unit)


def _turn(record: Residency) -> int:
    """The moment at which the backward pass begins."""
    phases = [moment.phase for moment in record.moments]
    return phases.index("backward") if "backward" in phases else len(phases)


def _draw(drawing: FigureBuilder, label: Word, bars: Sequence[Bar], mark: palette.Mark) -> None:
    drawing.bars(
        label,
        [end - start for _, start, end in bars],
        [row for row, _, _ in bars],
        mark,
        hover=[f"{number(start)} → {number(end)}" for _, start, end in bars],
        orientation="h",
        base=[start for _, start, _ in bars],
        width=0.6,
    )


def _table(records: Mapping[str, Residency]) -> Table:
    rows = [
        (setting, unit, run)
        for setting, record in records.items()
        for unit in record.units
        for run in record.runs(unit)
    ]
    table = TableBuilder("residency-runs", word("When each unit was whole, counted in layers."))
    table.code(plain("reshard_after_forward"), [setting for setting, _, _ in rows])
    table.texts(word("Unit"), [unit_word(unit) for _, unit, _ in rows])
    table.counts(word("From"), [start for _, _, (start, _) in rows])
    table.counts(word("To"), [end for _, _, (_, end) in rows])
    return table.build()
