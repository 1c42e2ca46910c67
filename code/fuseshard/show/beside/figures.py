"""Draw two machines' figures over each other: common axes, a colour of its own for the second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fuseshard.palette import BESIDE
from fuseshard.show.beside import axes
from fuseshard.show.beside.names import Machines, both_texts, legend_entry, of_machine
from fuseshard.show.beside.tables import joined_tables
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.records import Figure
from fuseshard.show.words import Json, Text, plain

SYMBOLS = ("cross", "pentagon", "hexagram", "bowtie", "star", "hexagon", "octagon", "hash-open")
"""of the second machine's points, line by line, as far as the first one's don't use them"""
PATTERNS = ("x", "+", "|", ".", "/", "\\", "-")
"""of its bars, likewise"""

_LINE_PIXELS = 22
"""height of one more line in the legend"""
_ROW_PIXELS, _BAR_PIXELS = 60, 18
LINE_BREAK = "<br>"


def overlaid_figures(first: Figure, second: Figure, machines: Machines) -> Figure | None:
    """Draw the second figure's lines, points and bars over the first one's.

    The colour says which machine it is: the second's traces all have the palette's `BESIDE`, and
    symbols of their own; a line keeps the dash of its partner. What both figures draw alike, such
    as a formula's line, stands once. Shapes and notes that only one machine's numbers lead to are
    the first's, and say so; the caption has the second's finding.

    Args:
        first: of the main result.
        second: of the result beside it, drawn by the same function.
        machines: the names of the two.

    Returns:
        None where an overlay would mislead or can't be drawn: stacked bars and spans, of which
        one would hide the other, heatmaps, and axes that count different things.
    """
    table = joined_tables(first.table, second.table, machines)
    factors = axes.scales(first, second)
    if table is None or factors is None or not (_has_room(first) and _has_room(second)):
        return None
    ours = list(first.figure["data"])
    theirs = [axes.moved(trace, factors) for trace in second.figure["data"]]
    shared = [trace for trace in ours if trace in theirs]
    drawing = FigureBuilder(first.name)
    _say_all(drawing, first, second)
    drawing.layout = _layout(drawing, first, second, machines[0])
    namer = _Namer(drawing, {**second.words, **first.words}, first)
    for trace in ours:
        drawing.trace(**(namer.both(trace) if trace in shared else namer.first(trace, machines[0])))
    for trace in theirs:
        if trace not in shared:
            drawing.trace(**namer.second(trace, machines[1]))
    drawing.layout["height"] += namer.added_pixels + _bar_pixels(drawing.layout, theirs, shared)
    figure = drawing.build(
        caption=both_texts(first.caption, second.caption, machines),
        alt=both_texts(first.alt, second.alt, machines),
        table=table,
        origin=first.origin,
    )
    return replace(figure, second_origin=second.origin)


class _Namer:
    """Gives each trace its machine, in its name and in its look."""

    def __init__(self, drawing: FigureBuilder, words: Mapping[str, Text], first: Figure) -> None:
        self._drawing = drawing
        self._words = words
        # Rows carry the names, in a figure without a legend.
        self._has_named_rows = first.figure["layout"].get("showlegend") is False
        self._looks = _Looks(first)
        self._num_named = 0
        self.added_pixels = 0
        """height of what a second machine adds to the legend"""

    def both(self, trace: Mapping[str, Any]) -> Json:
        """A trace that both figures draw alike: as it was, and quiet where rows carry the names."""
        return {**trace, "showlegend": False} if self._has_named_rows else dict(trace)

    def first(self, trace: Mapping[str, Any], machine: Text) -> Json:
        """A trace of the main result: as it was, its name longer."""
        if "name" not in trace:
            return dict(trace)
        if self._has_named_rows:  # whose marks need no legend; the second machine's entry will do
            return {**trace, "name": self._drawing.say(machine), "showlegend": False}
        return {**trace, "name": self._say(trace, machine)}

    def second(self, trace: Mapping[str, Any], machine: Text) -> Json:
        """A trace of the result beside it."""
        changed = self._looks.of(trace, 0 if self._has_named_rows else self._num_named)
        if "name" not in trace:
            return changed
        self._num_named += 1
        if not self._has_named_rows:
            self.added_pixels += _LINE_PIXELS
            return {**changed, "name": self._say(trace, machine)}
        is_first = self._num_named == 1
        self.added_pixels += _LINE_PIXELS if is_first else 0
        return {**changed, "name": self._drawing.say(machine), "showlegend": is_first}

    def _say(self, trace: Mapping[str, Any], machine: Text) -> str:
        entry = legend_entry(self._words.get(trace["name"], plain(trace["name"])), machine)
        self.added_pixels += _LINE_PIXELS if LINE_BREAK in str(entry) else 0
        return self._drawing.say(entry)


class _Looks:
    """The second machine's colour, symbols and patterns: none that the first one's traces have."""

    def __init__(self, first: Figure) -> None:
        markers = [trace.get("marker", {}) for trace in first.figure["data"]]
        symbols = {marker.get("symbol") for marker in markers}
        patterns = {marker.get("pattern", {}).get("shape") for marker in markers}
        self._symbols = [symbol for symbol in SYMBOLS if symbol not in symbols]
        self._patterns = [pattern for pattern in PATTERNS if pattern not in patterns]

    def of(self, trace: Mapping[str, Any], index: int) -> Json:
        """A trace in the second machine's colour, with its `index`-th symbol or pattern."""
        changed = dict(trace)
        if "fillcolor" in trace:
            changed["fillcolor"] = BESIDE.band
        if "marker" in trace:
            changed["marker"] = self._marker(trace, index)
        if "color" in trace.get("line", {}):
            changed["line"] = {**trace["line"], "color": BESIDE.light}
            if trace.get("mode") == "lines":  # without symbols, the dash has to tell it
                changed["line"]["dash"] = BESIDE.dash
        for bar in ("error_x", "error_y"):
            if bar in trace:
                changed[bar] = {**trace[bar], "color": BESIDE.light}
        return changed

    def _marker(self, trace: Mapping[str, Any], index: int) -> Json:
        marker = {**trace["marker"], "color": BESIDE.light}
        if trace["type"] == "bar":
            shape = self._patterns[index % len(self._patterns)]
            return marker | {"pattern": {**marker.get("pattern", {}), "shape": shape}}
        if "line" in marker:
            marker["line"] = {**marker["line"], "color": BESIDE.light}
        return marker | {"symbol": self._symbols[index % len(self._symbols)]}


def _has_room(figure: Figure) -> bool:
    """Whether a second machine's marks can stand beside a figure's own."""
    traces = figure.figure["data"]
    kinds = {trace["type"] for trace in traces}
    is_grouped = figure.figure["layout"].get("barmode", "group") == "group"
    has_spans = any("base" in trace for trace in traces)
    return kinds <= {"scatter", "bar"} and ("bar" not in kinds or (is_grouped and not has_spans))


def _say_all(drawing: FigureBuilder, *figures: Figure) -> None:
    """Register what the figures show; a Word wins over the same text left as it is."""
    words = {english: said for figure in figures for english, said in figure.words.items()}
    for text in words.values():
        drawing.say(text)
    for english in dict.fromkeys(text for figure in figures for text in figure.verbatim):
        if english not in words:
            drawing.say(plain(english))


def _layout(drawing: FigureBuilder, first: Figure, second: Figure, machine: Text) -> Json:
    ours, theirs = first.figure["layout"], second.figure["layout"]
    layout: Json = {**ours, "showlegend": True}
    for name in ("xaxis", "yaxis"):
        if name in ours:
            layout[name] = axes.common_axis(ours[name], theirs[name])
    layout["height"] += _ROW_PIXELS * (_num_rows(layout) - _num_rows(ours))
    if "annotations" in ours:
        alike: Sequence[Json] = theirs.get("annotations", ())
        layout["annotations"] = [
            note if note in alike else {**note, "text": _of_first(drawing, first, note, machine)}
            for note in ours["annotations"]
        ]
    return layout


def _of_first(drawing: FigureBuilder, first: Figure, note: Mapping[str, Any], machine: Text) -> str:
    label: Text = first.words.get(note["text"], plain(note["text"]))
    return drawing.say(of_machine(label, machine))


def _bar_pixels(
    layout: Mapping[str, Any], theirs: Sequence[Mapping[str, Any]], shared: Sequence[Any]
) -> int:
    """Height that the second machine's bars take in all rows."""
    added = sum(trace["type"] == "bar" and trace not in shared for trace in theirs)
    return added * _BAR_PIXELS * _num_rows(layout)


def _num_rows(layout: Mapping[str, Any]) -> int:
    return len(layout.get("yaxis", {}).get("categoryarray", ()))
