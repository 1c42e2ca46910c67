"""Draw which part of which parameter lives on which rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fuseshard import palette
from fuseshard.distributed.tensor.placements import Placement
from fuseshard.show.choices import Choice, choose
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.records import Figure, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, plain, word

_DRAWN = (
    ("token_embedding.weight", "embedding"),
    ("blocks.0.attention_norm.weight", "norm"),
    ("blocks.0.attention.qkv.weight", "qkv"),
    ("blocks.0.attention.out.weight", "out"),
    ("blocks.0.feed_forward.up.weight", "up"),
    ("blocks.0.feed_forward.down.weight", "down"),
    ("head.weight", "head"),
)
"""parameters of one block and of both ends, and how they are labelled"""
_GAP = 70
"""between matrices, in elements"""
_PX_PER_ELEMENT = 0.32
_VECTOR_HEIGHT = 12
"""a vector is drawn as a row of some height, in elements"""
_TITLE = 30
"""room for a name above a matrix, in elements"""


def placement_choice(placements: Mapping[int, Mapping[str, Placement]]) -> Choice:
    """Let the reader choose a number of ranks and see what each of them holds.

    Args:
        placements: number of ranks -> placements of MiniGPT by parameter name.
    """
    options: list[tuple[Text, Figure]] = [
        (plain(str(num_ranks)), placement_figure(placed, num_ranks))
        for num_ranks, placed in placements.items()
    ]
    return choose("tensor-placements", word("Ranks"), options)


def placement_figure(placements: Mapping[str, Placement], num_ranks: int) -> Figure:
    """Draw one row a rank: the outline of each matrix, filled where the rank holds it.

    Args:
        placements: of MiniGPT, by parameter name.
        num_ranks: N, number of ranks.
    """
    shown = [placements[name] for name, _ in _DRAWN]
    sizes = [_height_and_width(placement) for placement in shown]
    lefts = [sum(w for _, w in sizes[:i]) + i * _GAP for i in range(len(sizes))]
    row_height = max(height for height, _ in sizes) + 2 * _TITLE
    bottom, right = num_ranks * row_height, lefts[-1] + sizes[-1][1] + 20
    drawing = FigureBuilder(f"placements-{num_ranks}", height=round(bottom * _PX_PER_ELEMENT) + 70)
    drawing.layout |= {
        "xaxis": {"range": [-20, right], "visible": False, "fixedrange": True},
        "yaxis": {"range": [bottom, 0], "visible": False, "fixedrange": True},
        "shapes": [],
    }
    for rank in range(num_ranks):
        _draw_rank(drawing, shown, lefts, rank, top=rank * row_height + _TITLE)
    return drawing.build(
        caption=word(
            "What each of {ranks} ranks holds of one block and of both ends, as stored (rows of an "
            "nn.Linear are its outputs): rows of qkv, up, embedding and head, columns of out and "
            "down, and all of each norm.",
            ranks=num_ranks,
        ),
        alt=word(
            "{ranks} rows of seven outlined matrices, one row a rank; in each matrix but the norm "
            "a share is filled, at another place in each row, in qkv at three places.",
            ranks=num_ranks,
        ),
        table=_placement_table(placements, num_ranks),
    )


def _draw_rank(
    drawing: FigureBuilder,
    shown: Sequence[Placement],
    lefts: Sequence[int],
    rank: int,
    *,
    top: int,
) -> None:
    """Draw a row: all outlines, their names, and one trace of what the rank holds."""
    xs: list[float | None] = []
    ys: list[float | None] = []
    for placement, (_, label), left in zip(shown, _DRAWN, lefts, strict=True):
        height, width = _height_and_width(placement)
        box = {"x0": left, "y0": top, "x1": left + width, "y1": top + height}
        line = {"color": palette.INK[0], "width": 1}
        drawing.layout["shapes"].append({"type": "rect", "line": line, **box})
        look = {"xanchor": "left", "yanchor": "bottom", "font": {"size": 12}}
        drawing.note(left, top, plain(label), **look)
        for x0, y0, x1, y1 in _held(placement, rank):
            xs += [left + x0, left + x1, left + x1, left + x0, left + x0, None]
            ys += [top + y0, top + y0, top + y1, top + y1, top + y0, None]
    drawing.trace(
        type="scatter",
        name=drawing.say(word("rank {rank}", rank=rank)),
        x=xs,
        y=ys,
        mode="lines",
        fill="toself",
        fillcolor=palette.RANKS[rank].light,
        line={"color": palette.RANKS[rank].light, "width": 0},
        hoverinfo="skip",
    )


def _height_and_width(placement: Placement) -> tuple[int, int]:
    """Size on the drawing, in elements."""
    if len(placement.shape) == 1:
        return _VECTOR_HEIGHT, placement.shape[0]
    return placement.shape[0], placement.shape[1]


def _held(placement: Placement, rank: int) -> list[tuple[int, int, int, int]]:
    """Rectangles (left, top, right, bottom) that a rank holds, from the matrix's corner."""
    height, width = _height_and_width(placement)
    if placement.dim is None:
        return [(0, 0, width, height)]
    if placement.dim == 0:
        return [(0, start, width, stop) for start, stop in placement.ranges[rank]]
    return [(start, 0, stop, height) for start, stop in placement.ranges[rank]]


def _placement_table(placements: Mapping[str, Placement], num_ranks: int) -> Table:
    """List the parameters drawn, with what each rank holds."""
    shown = [placements[name] for name, _ in _DRAWN]
    table = TableBuilder(
        f"placements-of-{num_ranks}", word("Indices that each rank holds, as Python slices.")
    )
    table.code(word("Parameter"), [placement.name for placement in shown])
    table.code(word("Shape"), [str(placement.shape) for placement in shown])
    cuts: dict[int | None, Text] = {None: word("not cut"), 0: word("rows"), 1: word("columns")}
    table.texts(word("Cut"), [cuts[placement.dim] for placement in shown])
    for rank in range(num_ranks):
        held = [_slices(placement, rank) for placement in shown]
        table.code(word("rank {rank}", rank=rank), held)
    return table.build()


def _slices(placement: Placement, rank: int) -> str:
    ranges: Sequence[tuple[int, int]] = (
        placement.ranges[rank] if placement.dim is not None else ((0, placement.shape[0]),)
    )
    return ", ".join(f"{start}:{stop}" for start, stop in ranges)
