"""Build figures in which no visible string can miss its translation.

A `FigureBuilder` takes `Word` and `plain` texts, never bare strings, remembers them, and makes a
`Figure` record. Example:

    drawing = FigureBuilder("bubble")
    drawing.x_axis(word("Micro-batches"))
    drawing.y_axis(word("Bubble (% of the ideal time)"))
    drawing.line(word("formula"), counts, bubbles, palette.FORMULA)
    drawing.build(caption=word("..."), alt=word("..."), table=table)

The charts that several chapters share are in `fuseshard.show.charts`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from fuseshard import palette
from fuseshard.palette import Mark
from fuseshard.show import plotly_style
from fuseshard.show.numbers import number
from fuseshard.show.records import Figure, Origin, Table
from fuseshard.show.words import Json, Plain, Text, Word, plain

HOVER = "%{hovertext}<extra>%{fullData.name}</extra>"
"""what a trace says under the pointer; holds no words of its own"""


class FigureBuilder:
    """Collects traces, axes and the words in them; `build` makes the record."""

    def __init__(self, name: str, *, height: int = plotly_style.HEIGHT) -> None:
        """Start an empty figure.

        Args:
            name: lower-case words joined by hyphens, unique on its page.
            height: CSS pixels; the width is the page's.
        """
        self._name = name
        self._words: dict[str, Word] = {}
        self._verbatim: dict[str, None] = {HOVER: None}
        self._traces: list[Json] = []
        self.layout = plotly_style.layout(height)
        """plotly layout; change what the methods don't cover, and `say` each string in it"""

    def say(self, text: Text) -> str:
        """Register a text and return the English that goes into the plotly JSON.

        Args:
            text: a Word, or a Plain that no edition translates.

        Raises:
            ValueError: two texts read alike in English but would be translated differently.
            TypeError: a bare string, of which nobody can tell whether it needs a translation.
        """
        if not isinstance(text, (Word, Plain)):
            raise TypeError(
                f"figure {self._name!r}: got the {type(text).__name__} {text!r}, must be word(...) "
                "or plain(...), so that each edition knows what to translate; wrap it"
            )
        english = str(text)
        known: Text | None = self._words.get(english)
        if known is None and english in self._verbatim:
            known = Plain(english)
        if known is not None and known != text:
            raise ValueError(
                f"figure {self._name!r}: {known!r} and {text!r} both read {english!r}, so an "
                "edition can't tell which one to put there; reword one of them"
            )
        if isinstance(text, Word):
            self._words[english] = text
        else:
            self._verbatim[english] = None
        return english

    def x_axis(self, title: Text, **settings: Any) -> None:
        """Set a linear or categorical x axis; settings are plotly's own."""
        self.layout["xaxis"] = plotly_style.axis(self.say(title), **settings)

    def y_axis(self, title: Text, **settings: Any) -> None:
        """Set a linear or categorical y axis; settings are plotly's own."""
        self.layout["yaxis"] = plotly_style.axis(self.say(title), **settings)

    def rows(self, labels: Sequence[Text]) -> None:
        """Make the y axis a list of rows, the first one at the top, such as one a rank."""
        names = [self.say(label) for label in labels]
        self.layout["yaxis"] = plotly_style.rows(names)

    def log_axis(
        self,
        axis: str,
        title: Text,
        values: Iterable[float],
        show: Callable[[float], str] = number,
    ) -> None:
        """Set a logarithmic axis with a few round values on it.

        Args:
            axis: "x" or "y".
            title: with the unit, unless `show` writes it at each value.
            values: everything drawn along the axis, all positive.
            show: text of a value, e.g. `numbers.duration`.
        """
        made = plotly_style.log_axis(self.say(title), values, show)
        made["ticktext"] = [self.say(plain(text)) for text in made["ticktext"]]
        self.layout[f"{axis}axis"] = made

    def line(
        self,
        label: Text,
        x: Sequence[float],
        y: Sequence[float],
        mark: Mark,
        *,
        spread: tuple[Sequence[float], Sequence[float]] | None = None,
        show: Callable[[float], str] = number,
        mode: str = "lines+markers",
    ) -> None:
        """Draw a line with points, and a band from low to high around it.

        Args:
            label: its name in the legend.
            x: positions.
            y: values.
            mark: colour, dash and symbol, from `palette`.
            spread: (low, high) of each value.
            show: text of a value under the pointer.
            mode: plotly's: "lines", "markers" or "lines+markers".
        """
        if spread is not None:
            low, high = spread
            self.trace(
                type="scatter",
                x=[*x, *reversed(x)],
                y=[*high, *reversed(low)],
                fill="toself",
                fillcolor=mark.band,
                line={"width": 0},
                mode="lines",
                hoverinfo="skip",
                showlegend=False,
            )
        self.trace(
            type="scatter",
            name=self.say(label),
            x=list(x),
            y=list(y),
            mode=mode,
            line={"color": mark.light, "dash": mark.dash, "width": 2.5},
            marker=_point(mark),
            hovertext=[self.say(plain(show(value))) for value in y],
            hovertemplate=HOVER,
        )

    def points(
        self,
        label: Text,
        x: Sequence[float] | Sequence[Text],
        y: Sequence[float] | Sequence[Text],
        mark: Mark,
        *,
        hover: Sequence[str],
        **settings: Any,
    ) -> None:
        """Draw points without a line, on numbers or categories.

        Args:
            label: their name in the legend.
            x: positions, or categories as texts.
            y: positions, or categories as texts.
            mark: colour and symbol, from `palette`.
            hover: text of each point under the pointer, numbers and units only.
            **settings: plotly's own for a scatter trace, e.g. `error_x`.
        """
        settings |= {"type": "scatter", "mode": "markers", "marker": _point(mark, size=11)}
        self._marks(label, x, y, hover=hover, **settings)

    def bars(
        self,
        label: Text,
        x: Sequence[float] | Sequence[Text],
        y: Sequence[float] | Sequence[Text],
        mark: Mark,
        *,
        hover: Sequence[str],
        **settings: Any,
    ) -> None:
        """Draw bars, on numbers or categories.

        Args:
            label: their name in the legend.
            x: positions, or lengths if the bars lie.
            y: heights, or positions if the bars lie.
            mark: colour and pattern, from `palette`.
            hover: text of each bar under the pointer, numbers and units only.
            **settings: plotly's own for a bar trace, e.g. `orientation` and `base`.
        """
        settings |= {"type": "bar", "marker": _bar(mark)}
        self._marks(label, x, y, hover=hover, **settings)

    def trace(self, **settings: Any) -> None:
        """Add a trace as plotly spells it (scatter, bar, heatmap), its strings already said."""
        self._traces.append(settings)

    def bracket(self, low: float, high: float, label: Text) -> None:
        """Shade the x range in which something happens, and name it at the top.

        Args:
            low: left end, in the axis's values; on a logarithmic axis too.
            high: right end.
            label: what happens there.
        """
        is_log = self.layout.get("xaxis", {}).get("type") == "log"
        middle = (low * high) ** 0.5 if is_log else (low + high) / 2
        shape = {"type": "rect", "yref": "paper", "x0": low, "x1": high, "y0": 0, "y1": 1}
        line = {"color": palette.INK[0], "width": 1, "dash": "dot"}
        shape |= {"layer": "below", "fillcolor": palette.SHADE[0], "line": line}
        self.layout.setdefault("shapes", []).append(shape)
        self.note(middle, 1.0, label, yref="paper", yanchor="bottom")
        self.layout["margin"]["t"] = 30

    def note(self, x: float, y: float, text: Text, **settings: Any) -> None:
        """Write a text at a place (in axis values, on a logarithmic axis too).

        Args:
            x: position.
            y: position; with yref="paper", 0 to 1 of the height.
            text: what to write.
            **settings: plotly's own for an annotation.
        """
        place = {
            "x": self._annotated("xaxis", x, settings.get("xref")),
            "y": self._annotated("yaxis", y, settings.get("yref")),
        }
        note = {**place, "text": self.say(text), "showarrow": False, **settings}
        self.layout.setdefault("annotations", []).append(note)

    def build(
        self, *, caption: Word, alt: Word, table: Table, origin: Origin | None = None
    ) -> Figure:
        """Return the figure's record.

        Args:
            caption: states the finding.
            alt: states the shape of the data.
            table: the numbers drawn.
            origin: where they come from.

        Raises:
            ValueError: a visible string was never said, or a trace has a type that the book's
                plotly doesn't draw.
        """
        drawing = {"data": self._traces, "layout": self.layout, "config": plotly_style.CONFIG}
        verbatim = tuple(self._verbatim)
        return Figure(self._name, drawing, self._words, verbatim, caption, alt, table, origin)

    def _marks(
        self,
        label: Text,
        x: Sequence[float] | Sequence[Text],
        y: Sequence[float] | Sequence[Text],
        *,
        hover: Sequence[str],
        **settings: Any,
    ) -> None:
        """Add a trace of marks that stand by themselves, its strings said."""
        self.trace(
            name=self.say(label),
            x=self._positions(x),
            y=self._positions(y),
            hovertext=[self.say(plain(text)) for text in hover],
            hovertemplate=HOVER,
            **settings,
        )

    def _positions(self, places: Sequence[float] | Sequence[Text]) -> list[float | str]:
        return [self.say(p) if isinstance(p, (Word, Plain)) else p for p in places]

    def _annotated(self, axis: str, value: float, reference: object) -> float:
        """Plotly wants an annotation's place on a logarithmic axis as its logarithm."""
        is_log = self.layout.get(axis, {}).get("type") == "log" and reference is None
        return math.log10(value) if is_log else value


def _point(mark: Mark, size: int = 8) -> Json:
    return {
        "color": mark.light,
        "symbol": mark.symbol,
        "size": size,
        "line": {"color": mark.light, "width": 1.5},
    }


def _bar(mark: Mark) -> Json:
    pattern = {"shape": mark.pattern, "fillmode": "overlay", "size": 7, "solidity": 0.15}
    return {"color": mark.light, "pattern": pattern}
