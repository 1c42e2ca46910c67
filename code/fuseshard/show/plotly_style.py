"""The look of every figure, as plotly JSON: fluid width, the page's font, readable axes.

Nothing here holds words, so that nothing here needs a translation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from fuseshard import palette
from fuseshard.show.words import Json

HEIGHT = 380
"""CSS pixels; the width is the page's"""
# Plotly's own style sheet would make "inherit" Verdana; this is the theme's stack of system fonts.
FONT = (
    "-apple-system, BlinkMacSystemFont, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif, "
    "'Apple Color Emoji', 'Segoe UI Emoji', 'Segoe UI Symbol'"
)
CONFIG: Json = {
    # The mode bar's and the tips' texts are plotly's own English, and need no place on a phone.
    "displayModeBar": False,
    "showTips": False,
    "displaylogo": False,
    "showSendToCloud": False,
    "responsive": True,
}
_FEW_DECADES, _MANY_DECADES = 1.5, 3.0
_FEWEST_TICKS = 3


def layout(height: int = HEIGHT) -> Json:
    """Return a layout without titles: captions stand below the figure, in the page's text."""
    return {
        "autosize": True,
        "height": height,
        "margin": {"l": 8, "r": 12, "t": 12, "b": 8},
        "font": {"family": FONT, "size": 14, "color": palette.INK[0]},
        "paper_bgcolor": palette.CLEAR,
        "plot_bgcolor": palette.CLEAR,
        # A finger that scrolls the page must not draw a zoom box.
        "dragmode": False,
        "hovermode": "closest",
        "showlegend": True,
        "legend": {
            "orientation": "h",
            "yref": "container",
            "y": 0,
            "yanchor": "bottom",
            "x": 0,
            "xanchor": "left",
            "itemclick": False,
            "itemdoubleclick": False,
        },
    }


def axis(title: str = "", **settings: object) -> Json:
    """Return a linear axis with a title that is already registered.

    Args:
        title: English text, with its unit.
        **settings: plotly's own, which win over ours.
    """
    return {
        "title": {"text": title, "standoff": 8},
        "automargin": True,
        "fixedrange": True,
        "gridcolor": palette.GRID[0],
        "linecolor": palette.INK[0],
        "zeroline": False,
        "showline": True,
        "ticks": "outside",
        "tickcolor": palette.INK[0],
        **settings,
    }


def rows(names: list[str]) -> Json:
    """Return a y axis of named rows, the first one at the top.

    Args:
        names: English texts that are already registered.
    """
    return {
        "type": "category",
        "automargin": True,
        "fixedrange": True,
        "categoryorder": "array",
        "categoryarray": names,
        "range": [len(names) - 0.5, -0.5],
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
        "ticklabelstandoff": 6,
    }


def log_ticks(low: float, high: float) -> list[float]:
    """Choose few round values on a logarithmic axis: 1-2-5 in a short range, else decades.

    Args:
        low: smallest value drawn, positive.
        high: largest value drawn.

    Raises:
        ValueError: `low` isn't positive or exceeds `high`.
    """
    if not 0 < low <= high:
        raise ValueError(
            f"log_ticks: got {low} to {high}, must be positive and growing (a logarithmic axis "
            "has no 0); use a linear axis or leave out what is 0"
        )
    decades = math.log10(high / low)
    if decades <= _FEW_DECADES:
        steps: tuple[int, ...] = (1, 2, 5)
    else:
        steps = (1, 3) if decades <= _MANY_DECADES else (1,)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    values = [step * 10.0**power for power in range(first, last + 1) for step in steps]
    below = max((value for value in values if value <= low), default=low)
    above = min((value for value in values if value >= high), default=high)
    return [value for value in values if below <= value <= above]


def log_axis(title: str, values: Iterable[float], show: Callable[[float], str]) -> Json:
    """Return a logarithmic axis with labelled round values, its ends just beyond the data.

    Args:
        title: English text that is already registered.
        values: everything drawn along the axis, all positive.
        show: text of a tick, e.g. `numbers.duration`; the caller registers these texts.
    """
    drawn = list(values)
    low, high = min(drawn), max(drawn)
    ticks = log_ticks(low, high)
    room = 0.04 * max(math.log10(high / low), 1.0)
    ends = (math.log10(low) - room, math.log10(high) + room)
    if sum(ends[0] <= math.log10(tick) <= ends[1] for tick in ticks) < _FEWEST_TICKS:
        finer = _even_ticks(10 ** ends[0], 10 ** ends[1])
        # Where `show` rounds, two of the finer ticks could read alike.
        ticks = finer if len({show(tick) for tick in finer}) == len(finer) else ticks
    return axis(
        title,
        type="log",
        range=list(ends),
        tickmode="array",
        tickvals=ticks,
        ticktext=[show(tick) for tick in ticks],
        minor={"ticks": ""},
    )


def _even_ticks(low: float, high: float) -> list[float]:
    """Choose at least three ticks inside a range too short for 1-2-5: multiples of a round step."""
    power = math.floor(math.log10(high - low))
    steps = [step * 10.0**exponent for exponent in (power, power - 1) for step in (5, 2, 1)]
    for step in steps:
        first, last = math.ceil(low / step), math.floor(high / step)
        if last - first + 1 >= _FEWEST_TICKS:
            break
    # Twelve digits, or a multiple of 0.05 would be labelled 0.9500000000000001.
    return [float(f"{count * step:.12g}") for count in range(first, last + 1)]
