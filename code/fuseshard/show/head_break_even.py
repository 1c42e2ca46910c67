"""Draw where compiling MiniGPT's head starts to pay, live or from a recording."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from fuseshard import palette
from fuseshard.compiler.records import HeadSweep
from fuseshard.palette import Mark
from fuseshard.show import plotly_style
from fuseshard.show.cards import origin_line
from fuseshard.show.figures import HOVER, FigureBuilder
from fuseshard.show.head_times import (
    own_variants,
    size_finding,
    sweep_table,
    threads_of,
    way_of,
)
from fuseshard.show.numbers import TIMES_SIGN, duration, factor, number
from fuseshard.show.records import Figure
from fuseshard.show.words import Json, Text, Word, plain, word


class HasResult(Protocol):
    """An experiment's outcome, as `measure.experiments` makes it."""

    experiment_id: str

    @property
    def available(self) -> HeadSweep | None:
        """The result; None if it isn't recorded yet."""


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


_EQUAL = _Line(plain(""), palette.FORMULA, x=(), middle=(), low=(1.0,), high=(1.0,), hover=())
"""keeps the factor 1 on the axis"""


def break_even(sweep: HeadSweep, *, name: str = "break-even") -> Figure:
    """Draw by what factor compiling pays at each batch size; a menu switches to times.

    Args:
        sweep: from `compiler.breakeven`, live or recorded.
        name: lower-case words joined by hyphens, unique on its page.
    """
    drawing = FigureBuilder(name)
    drawing.layout["margin"]["t"] = 48
    ratios, times = _ratio_lines(sweep), _time_lines(sweep)
    drawing.log_axis("x", word("rows"), sweep.by_hand.sizes, lambda rows: number(round(rows)))
    for line in ratios:
        _draw(drawing, line, visible=True)
    for line in times:
        _draw(drawing, line, visible=False)
    _add_menu(drawing, ratios, times)
    return drawing.build(
        caption=_caption(sweep),
        alt=_alt(sweep),
        table=sweep_table(sweep, name=f"{name}-table"),
        origin=origin_line(sweep.origin, num_threads=threads_of(sweep)),
    )


def recorded(outcome: HasResult) -> Figure | Word:
    """Draw a recorded sweep, or say how to record it.

    Args:
        outcome: of the experiment, called on any machine.
    """
    if outcome.available is not None:
        return break_even(outcome.available, name="break-even-gpu")
    return word(
        "The experiment {id} needs a CUDA GPU and has not been recorded yet; make record does it "
        "on a machine with one.",
        id=outcome.experiment_id,
    )


def _ratio_lines(sweep: HeadSweep) -> list[_Line]:
    """Make a line of speed-ups with their intervals for each way to write the softmax."""
    known = own_variants()
    lines = []
    for way in ("by_hand", "library"):
        ratios = [point.comparison.ratio for point in way_of(sweep, way).points]
        hover = [
            f"{factor(r.speedup)} ({factor(r.speedup_low)} – {factor(r.speedup_high)})"
            for r in ratios
        ]
        lines.append(
            _Line(
                known[way].label,
                known[way].mark,
                x=sweep.by_hand.sizes,
                middle=[ratio.speedup for ratio in ratios],
                low=[ratio.speedup_low for ratio in ratios],
                high=[ratio.speedup_high for ratio in ratios],
                hover=hover,
            )
        )
    return lines


def _time_lines(sweep: HeadSweep) -> list[_Line]:
    """Make a line of medians with their quartiles for both eager ways and for compiled."""
    chosen = (("by_hand", "eager"), ("library", "eager"), ("by_hand", "compiled"))
    lines = []
    for way, variant in chosen:
        timings = [point.comparison[variant] for point in way_of(sweep, way).points]
        known = own_variants()["compiled" if variant == "compiled" else way]
        lines.append(
            _Line(
                known.label,
                known.mark,
                x=sweep.by_hand.sizes,
                middle=[timing.median_s for timing in timings],
                low=[timing.low_s for timing in timings],
                high=[timing.high_s for timing in timings],
                hover=[duration(timing.median_s) for timing in timings],
            )
        )
    return lines


def _draw(drawing: FigureBuilder, line: _Line, *, visible: bool) -> None:
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
        visible=visible,
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
        visible=visible,
    )


def _add_menu(drawing: FigureBuilder, ratios: list[_Line], times: list[_Line]) -> None:
    """Let the reader switch between factors, drawn first, and times."""
    views: tuple[tuple[Word, Json, list[Json]], ...] = (
        (
            word("speed-up"),
            _axis(drawing, word("eager time / compiled time"), (*ratios, _EQUAL), _short_factor),
            _equal_line(),
        ),
        (
            word("time per call"),
            _axis(drawing, word("time per call"), times, lambda value: duration(value, 1)),
            [],
        ),
    )
    shown = [
        [True] * 2 * len(ratios) + [False] * 2 * len(times),
        [False] * 2 * len(ratios) + [True] * 2 * len(times),
    ]
    drawing.layout["yaxis"], drawing.layout["shapes"] = views[0][1], views[0][2]
    buttons = [
        {
            "label": drawing.say(label),
            "method": "update",
            "args": [{"visible": visible}, {"yaxis": axis, "shapes": shapes}],
        }
        for (label, axis, shapes), visible in zip(views, shown, strict=True)
    ]
    drawing.layout["updatemenus"] = [
        {
            "type": "buttons",
            "direction": "right",
            "buttons": buttons,
            # Plotly paints a chosen button almost white, under the light text of a dark page too.
            "showactive": False,
            "x": 0,
            "xanchor": "left",
            "y": 1.02,
            "yanchor": "bottom",
            "bgcolor": palette.CLEAR,
            "bordercolor": palette.INK[0],
            "font": {"color": palette.INK[0]},
        }
    ]


def _axis(
    drawing: FigureBuilder, title: Word, lines: Sequence[_Line], show: Callable[[float], str]
) -> Json:
    """Make a logarithmic axis that holds all bands."""
    values = [value for line in lines for value in (*line.low, *line.high)]
    axis = plotly_style.log_axis(drawing.say(title), values, show)
    axis["ticktext"] = [drawing.say(plain(text)) for text in axis["ticktext"]]
    return axis


def _short_factor(ratio: float) -> str:
    """Print a tick, which is round: 0.5 and not 0.500."""
    return f"{ratio:g}{TIMES_SIGN}"


def _equal_line() -> list[Json]:
    """Mark the factor 1: eager and compiled take the same time."""
    line = {"color": palette.INK[0], "width": 1, "dash": "dot"}
    return [{"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 1, "y1": 1, "line": line}]


def _caption(sweep: HeadSweep) -> Word:
    return word(
        "The head from {width} features to {vocabulary} results. With softmax by hand, {by_hand}. "
        "With torch.softmax, {library}. Points are medians; bands hold the true median with 99 % "
        "confidence, or in the view of times the middle half of the rounds.",
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
