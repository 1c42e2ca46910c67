"""Draw where compiling MiniGPT's head starts to pay, live or from a recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from fuseshard import palette
from fuseshard.compiler.records import HeadSweep
from fuseshard.palette import Mark
from fuseshard.show.beside.draw import beside
from fuseshard.show.cards import origin_line
from fuseshard.show.chapters.head_times import (
    own_variants,
    size_finding,
    sweep_table,
    threads_of,
    way_of,
)
from fuseshard.show.choices import Choice
from fuseshard.show.figures import HOVER, FigureBuilder
from fuseshard.show.numbers import TIMES_SIGN, factor, number
from fuseshard.show.recorded import HasResult
from fuseshard.show.records import Figure
from fuseshard.show.words import Text, Word, plain, word


@dataclass(frozen=True)
class _Line:
    """One line with its band."""

    label: Text
    mark: Mark
    x: Sequence[float]
    middle: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    hover: Sequence[str]


def break_even(sweep: HeadSweep, *, name: str = "break-even") -> Figure:
    """Draw by what factor compiling pays at each batch size, and where it starts to.

    Args:
        sweep: from `compiler.breakeven`, live or recorded.
        name: lower-case words joined by hyphens, unique on its page.
    """
    drawing = FigureBuilder(name)
    lines = _ratio_lines(sweep)
    drawing.log_axis("x", word("rows"), sweep.by_hand.sizes, lambda rows: number(round(rows)))
    drawn = [1.0, *(value for line in lines for value in (*line.low, *line.high))]
    drawing.log_axis("y", word("eager time / compiled time"), drawn, _short_factor)
    for line in lines:
        _draw(drawing, line)
    _mark_equal(drawing, sweep)
    return drawing.build(
        caption=_caption(sweep),
        alt=_alt(sweep),
        table=sweep_table(sweep, name=f"{name}-table"),
        origin=origin_line(sweep.origin, num_threads=threads_of(sweep)),
    )


def recorded(outcome: HasResult[HeadSweep]) -> Figure | Choice | Word:
    """Draw a recorded sweep, another machine's beside it, or say how to record it.

    Args:
        outcome: of the experiment, called on any machine.
    """
    return beside(outcome, partial(break_even, name="break-even-gpu"))


def _ratio_lines(sweep: HeadSweep) -> list[_Line]:
    """Make a line of speed-ups with their intervals for each way to write the softmax."""
    known = own_variants()
    labels: dict[str, Text] = {
        "by_hand": word("softmax by hand"),
        "library": plain("torch.softmax"),
    }
    lines = []
    for way in ("by_hand", "library"):
        ratios = [point.comparison.ratio for point in way_of(sweep, way).points]
        hover = [
            f"{factor(r.speedup)} ({factor(r.speedup_low)} – {factor(r.speedup_high)})"
            for r in ratios
        ]
        lines.append(
            _Line(
                labels[way],
                known[way].mark,
                x=sweep.by_hand.sizes,
                middle=[ratio.speedup for ratio in ratios],
                low=[ratio.speedup_low for ratio in ratios],
                high=[ratio.speedup_high for ratio in ratios],
                hover=hover,
            )
        )
    return lines


def _draw(drawing: FigureBuilder, line: _Line) -> None:
    """Draw a line and its band: two traces."""
    drawing.trace(
        type="scatter",
        x=[*line.x, *reversed(line.x)],
        y=[*line.high, *reversed(line.low)],
        fill="toself",
        fillcolor=line.mark.band,
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
        showlegend=False,
    )
    drawing.trace(
        type="scatter",
        name=drawing.say(line.label),
        x=list(line.x),
        y=list(line.middle),
        mode="lines+markers",
        line={"color": line.mark.light, "dash": line.mark.dash, "width": 2.5},
        marker={"color": line.mark.light, "symbol": line.mark.symbol, "size": 9},
        hovertext=[drawing.say(plain(text)) for text in line.hover],
        hovertemplate=HOVER,
    )


def _mark_equal(drawing: FigureBuilder, sweep: HeadSweep) -> None:
    """Draw the factor 1, say what lies on either side of it, and shade where a line crosses it."""
    above, below = word("compiled is faster"), word("eager is faster")
    # Lines rise from lower left to upper right, which leaves the other two corners to the notes.
    corners = ((0.01, 1.0, above, "left", "top"), (0.99, 0.0, below, "right", "bottom"))
    for x, y, text, xanchor, yanchor in corners:
        place = {"xref": "paper", "yref": "paper", "xanchor": xanchor, "yanchor": yanchor}
        drawing.note(x, y, text, font={"size": 12}, **place)
    for way in ("by_hand", "library"):
        found = way_of(sweep, way).break_even("compiled")
        if found.slower_until is not None and found.faster_from is not None:
            drawing.bracket(found.slower_until, found.faster_from, word("break-even"))
    line = {"color": palette.INK[0], "width": 1, "dash": "dot"}
    equal = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 1, "y1": 1, "line": line}
    drawing.layout.setdefault("shapes", []).append(equal)


def _short_factor(ratio: float) -> str:
    """Print a tick, which is round: 0.5 and not 0.500."""
    return f"{ratio:g}{TIMES_SIGN}"


def _caption(sweep: HeadSweep) -> Word:
    return word(
        "The head from {width} features to {vocabulary} results. With softmax by hand, {by_hand}. "
        "With torch.softmax, {library}. Points are medians; bands hold the true median with 99 % "
        "confidence.",
        width=sweep.width,
        vocabulary=sweep.vocabulary,
        by_hand=size_finding(sweep, "by_hand"),
        library=size_finding(sweep, "library"),
    )


def _alt(sweep: HeadSweep) -> Word:
    ends = {
        f"{way}_{end}": factor(way_of(sweep, way).points[index].comparison.ratio.speedup)
        for way in ("by_hand", "library")
        for end, index in (("first", 0), ("last", -1))
    }
    return word(
        "Two lines on logarithmic axes, speed-up against rows from {low} to {high}: with "
        "softmax by hand from {by_hand_first} to {by_hand_last}, with torch.softmax from "
        "{library_first} to {library_last}. A dotted line marks 1, where both take the same time.",
        low=number(sweep.by_hand.sizes[0]),
        high=number(sweep.by_hand.sizes[-1]),
        **ends,
    )
