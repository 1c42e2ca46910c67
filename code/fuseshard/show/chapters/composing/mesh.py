"""Draw a mesh: ranks at their coordinates, joined along each axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fuseshard import palette
from fuseshard.distributed.layouts.records import Layout
from fuseshard.show.choices import Choice, choose
from fuseshard.show.figures import HOVER, FigureBuilder
from fuseshard.show.records import Figure, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, plain, word

_STEPS = {
    1: ((1.6, 0.0),),
    2: ((0.0, -1.2), (1.6, 0.0)),
    3: ((0.0, -2.2), (0.75, -0.8), (1.7, 0.0)),
    4: ((4.6, 0.0), (0.0, -2.2), (0.75, -0.8), (1.7, 0.0)),
}
"""number of axes -> by how much a rank moves right and up for a step along each, outermost first"""
_DASHES = {"pp": "dot", "dp": "dashdot", "fsdp": "dash", "tp": "solid"}
_PX_PER_STEP = 75


def mesh_choice(layouts: Sequence[Layout]) -> Choice:
    """Let the reader choose a layout and see its mesh.

    Args:
        layouts: at least one.
    """
    options: list[tuple[Text, Figure]] = [
        (plain(layout.name), mesh_figure(layout)) for layout in layouts
    ]
    return choose("meshes", word("Layout"), options)


def mesh_figure(layout: Layout) -> Figure:
    """Draw one mesh.

    Args:
        layout: its degrees.
    """
    places = [_place(layout, rank) for rank in range(layout.world_size)]
    lowest = min(y for _, y in places)
    name = "mesh-" + "-".join(f"{axis}{degree}" for axis, degree in layout.degrees.items())
    drawing = FigureBuilder(name, height=round(140 - lowest * _PX_PER_STEP))
    right = max(x for x, _ in places)
    drawing.layout |= {
        "xaxis": {"range": [-0.6, max(right, 4.0) + 0.6], "visible": False, "fixedrange": True},
        "yaxis": {"range": [lowest - 0.5, 0.5], "visible": False, "fixedrange": True},
    }
    for axis in layout.degrees:
        _draw_axis(drawing, layout, axis, places)
    drawing.trace(
        type="scatter",
        name=drawing.say(word("ranks")),
        x=[x for x, _ in places],
        y=[y for _, y in places],
        mode="markers+text",
        text=[drawing.say(plain(str(rank))) for rank in range(layout.world_size)],
        textfont={"color": palette.INK[0], "size": 14},
        marker={
            "size": 28,
            "color": palette.PAPER[0],
            "line": {"color": palette.INK[0], "width": 2},
        },
        hovertext=[drawing.say(plain(_coordinate(layout, r))) for r in range(layout.world_size)],
        hovertemplate=HOVER,
        showlegend=False,
    )
    return drawing.build(
        caption=word(
            "The mesh {layout}: lines join the ranks that talk to each other along an axis.",
            layout=layout.name,
        ),
        alt=word(
            "{ranks} numbered circles in a grid; neighbours along the last axis have consecutive "
            "numbers, those along the first are furthest apart in number.",
            ranks=layout.world_size,
        ),
        table=mesh_table(layout),
    )


def mesh_table(layout: Layout) -> Table:
    """List each rank's coordinate, its part of the batch and its groups.

    Args:
        layout: its degrees.
    """
    ranks = range(layout.world_size)
    table = TableBuilder(
        "mesh-of-" + "-".join(f"{axis}{degree}" for axis, degree in layout.degrees.items()),
        word("Coordinates, and the ranks of each rank's groups."),
    )
    table.counts(word("Rank"), list(ranks))
    table.code(word("Coordinate"), [_coordinate(layout, rank) for rank in ranks])
    table.counts(word("Part of the batch"), [layout.share(rank) for rank in ranks])
    for axis in layout.degrees:
        groups = [", ".join(map(str, layout.group(rank, axis))) for rank in ranks]
        table.code(word("along {axis}", axis=axis), groups)
    return table.build()


def _draw_axis(
    drawing: FigureBuilder, layout: Layout, axis: str, places: Sequence[tuple[float, float]]
) -> None:
    """One trace: a line through each of the axis's groups."""
    groups = dict.fromkeys(layout.group(rank, axis) for rank in range(layout.world_size))
    xs: list[float | None] = []
    ys: list[float | None] = []
    for group in groups:
        xs += [*(places[rank][0] for rank in group), None]
        ys += [*(places[rank][1] for rank in group), None]
    color = palette.COMMUNICATION.light
    drawing.trace(
        type="scatter",
        name=drawing.say(word("along {axis}", axis=axis)),
        x=xs,
        y=ys,
        mode="lines",
        line={"color": color, "dash": _DASHES[axis], "width": 3},
        hoverinfo="skip",
    )


def _place(layout: Layout, rank: int) -> tuple[float, float]:
    """Where a rank is drawn."""
    indices: Mapping[str, int] = layout.coordinate(rank)
    steps = _STEPS[len(indices)]
    moves = list(zip(indices.values(), steps, strict=True))
    return sum(i * right for i, (right, _) in moves), sum(i * up for i, (_, up) in moves)


def _coordinate(layout: Layout, rank: int) -> str:
    return ", ".join(f"{axis} {index}" for axis, index in layout.coordinate(rank).items())
