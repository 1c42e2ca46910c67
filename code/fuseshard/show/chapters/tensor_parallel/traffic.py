"""Draw what tensor and data parallelism send for one block, against the tokens in a step."""

from __future__ import annotations

from collections.abc import Sequence

from fuseshard import palette
from fuseshard.show.figures import HOVER, FigureBuilder
from fuseshard.show.numbers import number, size, size_unit
from fuseshard.show.records import Figure
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import plain, word

Point = tuple[int, float]
"""tokens in the step; bytes that a rank sends for one block"""


def traffic_figure(
    tensor: Sequence[Point], counted: Sequence[Point], data_bytes: float, crossing_tokens: float
) -> Figure:
    """Draw the formula for tensor parallelism, its counted points, and data parallelism's level.

    Args:
        tensor: by the formula, fewest tokens first.
        counted: by the meter.
        data_bytes: what data parallelism sends for the same block, whatever the tokens.
        crossing_tokens: tokens in a step for which both send as much.
    """
    drawing = FigureBuilder("tensor-or-data-bytes", height=400)
    tokens = [x for x, _ in tensor]
    sent = [y for _, y in tensor]
    _draw_axes(drawing, tokens, [*sent, data_bytes])
    _draw_formulas(drawing, tensor, data_bytes)
    drawing.points(
        word("counted by the meter"),
        [x for x, _ in counted],
        [y for _, y in counted],
        palette.MEASURED,
        hover=[size(y) for _, y in counted],
    )
    table = TableBuilder("tensor-or-data-points", word("Points counted, beside the formula."))
    by_formula = dict(tensor)
    table.counts(word("Tokens"), [x for x, _ in counted])
    table.sizes(word("Counted"), [y for _, y in counted])
    table.sizes(word("Formula"), [by_formula[x] for x, _ in counted])
    return drawing.build(
        caption=word(
            "What tensor parallelism sends grows with the tokens, what data parallelism sends "
            "with the weights: for this block they cross at {tokens} tokens.",
            tokens=number(round(crossing_tokens)),
        ),
        alt=word(
            "Logarithmic axes: a rising straight line with {points} counted points on it crosses "
            "a level line.",
            points=len(counted),
        ),
        table=table.build(),
    )


def _draw_axes(drawing: FigureBuilder, tokens: Sequence[int], num_bytes: Sequence[float]) -> None:
    """Set logarithmic axes with ticks at powers of two, as tokens and bytes have them."""
    drawing.log_axis("x", word("tokens in a step"), tokens, number)
    drawing.log_axis("y", word("bytes that a rank sends for one block"), num_bytes, size)
    sizes = [4**power for power in range(20) if min(num_bytes) <= 4**power <= max(num_bytes)]
    x_texts = [drawing.say(plain(str(count))) for count in tokens]
    y_texts = [drawing.say(plain(_whole_size(count))) for count in sizes]
    drawing.layout["xaxis"] |= {"tickvals": list(tokens), "ticktext": x_texts}
    drawing.layout["yaxis"] |= {"tickvals": sizes, "ticktext": y_texts}


def _whole_size(num_bytes: int) -> str:
    """Print a power of two without decimals: 524288 is "512 KiB"."""
    symbol, unit_bytes = size_unit([num_bytes])
    return f"{int(num_bytes / unit_bytes)} {symbol}"


def _draw_formulas(drawing: FigureBuilder, tensor: Sequence[Point], data_bytes: float) -> None:
    """Add one trace with a gap between its two lines, and each line's name."""
    fewest, most = tensor[0][0], tensor[-1][0]
    ends = [(fewest, data_bytes), (most, data_bytes)]
    lines = [*tensor, (None, None), *ends]
    drawing.trace(
        type="scatter",
        name=drawing.say(word("formula")),
        mode="lines",
        x=[x for x, _ in lines],
        y=[y for _, y in lines],
        line={"color": palette.FORMULA.light, "dash": palette.FORMULA.dash, "width": 2.5},
        hovertext=[drawing.say(plain(size(y) if y else "")) for _, y in lines],
        hovertemplate=HOVER,
    )
    above = {"xanchor": "left", "yanchor": "bottom", "yshift": 4}
    drawing.note(fewest, data_bytes, word("data parallel"), **above)
    place, sent = tensor[3 * len(tensor) // 4]
    below = {"xanchor": "left", "yanchor": "top", "xshift": 10}
    drawing.note(place, sent, word("tensor parallel"), **below)
