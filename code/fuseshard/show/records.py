"""The formats in which a cell's output is stored: figures, tables, annotated sources, checks.

A record is data with English message ids. Jupyter shows its `text/html`; the book reads only its
own mime type and renders it once for each edition. All are JSON, version 1.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from fuseshard.show import html
from fuseshard.show.words import VERSION, Json, Text, Word, shown_strings

FIGURE_MIME = "application/vnd.fuseshard.figure+json"
TABLE_MIME = "application/vnd.fuseshard.table+json"
SOURCE_MIME = "application/vnd.fuseshard.source+json"
CHECK_MIME = "application/vnd.fuseshard.check+json"

TRACE_TYPES = ("scatter", "bar", "heatmap")
"""what the book's plotly bundle can draw; any other type would be an empty frame on the page"""


@dataclass(frozen=True)
class Origin:
    """Where the numbers of a record come from: this build, or a recording."""

    live: bool
    """True: measured while the page was built; False: read from a recording"""
    summary: Text
    """one line under the record"""
    details: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """name -> plain JSON value, e.g. {"torch": "2.13.0"}"""

    def to_json(self) -> Json:
        """Return {"live": ..., "summary": ..., "details": {...}}."""
        summary = self.summary.to_json()
        return {"live": self.live, "summary": summary, "details": dict(self.details)}


@dataclass(frozen=True)
class Record:
    """What all records share: a name, a mime type, and how Jupyter shows them."""

    mime: ClassVar[str]
    name: str
    """lower-case words joined by hyphens; becomes part of ids on the page"""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", self.name):
            raise ValueError(
                f"record name {self.name!r}: must be lower-case words joined by hyphens, like "
                "'size-sweep', because it becomes an id on the page; rename it"
            )

    def to_json(self) -> Json:
        """Return the record as JSON data (strings, finite numbers, lists, dicts)."""
        raise NotImplementedError

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Json:
        data = self.to_json()
        json.dumps(data, allow_nan=False)  # fail in the cell, not when the notebook is saved
        return {self.mime: data, "text/html": html.render(data), "text/plain": html.text(data)}


@dataclass(frozen=True)
class Number:
    """A table's number: the value itself, and the text with its significant digits."""

    number: float
    """exact value, in the unit of its column"""
    text: str

    def to_json(self) -> Json:
        """Return {"number": ..., "text": ...}."""
        return {"number": self.number, "text": self.text}


@dataclass(frozen=True)
class Code:
    """A table's cell set in a monospaced font: an operator, a flag, an expression."""

    code: str

    def to_json(self) -> Json:
        """Return {"code": ...}."""
        return {"code": self.code}


Cell = Text | Number | Code


@dataclass(frozen=True)
class Column:
    """The head of a table's column."""

    title: Text
    unit: str | None = None
    """symbol of the unit of all numbers below, e.g. "ms" """
    numeric: bool = False
    code: bool = False

    def to_json(self) -> Json:
        """Return the four fields."""
        title = self.title.to_json()
        return {"title": title, "unit": self.unit, "numeric": self.numeric, "code": self.code}


@dataclass(frozen=True)
class Table(Record):
    """A table: columns with units, rows of cells."""

    mime = TABLE_MIME
    caption: Word
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    row_header: bool = True
    """whether the first cell of each row names the row"""
    notes: tuple[Word, ...] = ()
    origin: Origin | None = None
    second_origin: Origin | None = None
    """of the machine shown beside the first; see `fuseshard.show.beside`"""

    def __post_init__(self) -> None:
        super().__post_init__()
        for index, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise ValueError(
                    f"table {self.name!r}: row {index} has {len(row)} cells, the table has "
                    f"{len(self.columns)} columns; give one cell for each column"
                )

    def to_json(self) -> Json:
        """Return the table record."""
        return {
            "version": VERSION,
            "name": self.name,
            "caption": self.caption.to_json(),
            "columns": [column.to_json() for column in self.columns],
            "rows": [[cell.to_json() for cell in row] for row in self.rows],
            "row_header": self.row_header,
            "notes": [note.to_json() for note in self.notes],
            **_origins(self.origin, self.second_origin),
        }


@dataclass(frozen=True)
class Figure(Record):
    """A plotly figure whose every visible string is registered, with what stands in for it."""

    mime = FIGURE_MIME
    figure: Mapping[str, Any] = field(hash=False)
    """plotly JSON: data, layout, config; colours from the palette's light set"""
    words: Mapping[str, Word] = field(hash=False)
    """English string as it stands in `figure` -> the Word to translate it by"""
    verbatim: tuple[str, ...]
    """strings in `figure` that no edition translates"""
    caption: Word
    """states the finding"""
    alt: Word
    """states the shape of the data, for those who can't see it"""
    table: Table
    """the numbers drawn"""
    origin: Origin | None = None
    second_origin: Origin | None = None
    """of the machine shown beside the first; see `fuseshard.show.beside`"""

    def __post_init__(self) -> None:
        super().__post_init__()
        unknown = shown_strings(self.figure) - {*self.words, *self.verbatim}
        if unknown:
            raise ValueError(
                f"figure {self.name!r}: shows strings that are not registered: "
                f"{sorted(unknown)}; an edition couldn't translate them, so put each in "
                "through FigureBuilder.say(word(...)) or .say(plain(...))"
            )
        kinds = {trace.get("type", "scatter") for trace in self.figure["data"]}
        if not kinds <= set(TRACE_TYPES):
            raise ValueError(
                f"figure {self.name!r}: has trace types {sorted(kinds)}, the book's plotly bundle "
                f"draws only {TRACE_TYPES}; build it from these"
            )

    def to_json(self) -> Json:
        """Return the figure record."""
        return {
            "version": VERSION,
            "name": self.name,
            "figure": dict(self.figure),
            "words": {english: said.to_json() for english, said in self.words.items()},
            "verbatim": list(self.verbatim),
            "caption": self.caption.to_json(),
            "alt": self.alt.to_json(),
            "table": self.table.to_json(),
            **_origins(self.origin, self.second_origin),
        }


@dataclass(frozen=True)
class Note:
    """What a range of source lines means."""

    first: int
    """1-based"""
    last: int
    """1-based, inclusive"""
    text: Word

    def to_json(self) -> Json:
        """Return {"first": ..., "last": ..., "text": ...}."""
        return {"first": self.first, "last": self.last, "text": self.text.to_json()}


@dataclass(frozen=True)
class Source(Record):
    """A piece of source text with notes on the lines that matter."""

    mime = SOURCE_MIME
    caption: Word
    language: str
    """name of a Pygments lexer: "python", "cpp", "text", ..."""
    code: str
    notes: tuple[Note, ...] = ()
    folded: bool = True
    origin: Origin | None = None
    second_origin: Origin | None = None
    """of the machine shown beside the first; see `fuseshard.show.beside`"""

    def __post_init__(self) -> None:
        super().__post_init__()
        num_lines = len(self.code.splitlines())
        for note in self.notes:
            if not 1 <= note.first <= note.last <= num_lines:
                raise ValueError(
                    f"source {self.name!r}: a note is on lines {note.first} to {note.last}, the "
                    f"code has lines 1 to {num_lines}; correct the note's lines"
                )

    def to_json(self) -> Json:
        """Return the source record."""
        return {
            "version": VERSION,
            "name": self.name,
            "caption": self.caption.to_json(),
            "language": self.language,
            "code": self.code,
            "notes": [note.to_json() for note in self.notes],
            "folded": self.folded,
            **_origins(self.origin, self.second_origin),
        }


@dataclass(frozen=True)
class Check(Record):
    """What an exercise's check says about the reader's answer."""

    mime = CHECK_MIME
    state: Literal["open", "right", "wrong"]
    """open: there is no answer yet"""
    message: Word

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.state not in ("open", "right", "wrong"):
            raise ValueError(
                f"check {self.name!r}: state is {self.state!r}, must be 'open', 'right' or "
                "'wrong', the three that have a sign on the page; use one of them"
            )

    def to_json(self) -> Json:
        """Return the check record."""
        message = self.message.to_json()
        return {"version": VERSION, "name": self.name, "state": self.state, "message": message}


def _origins(first: Origin | None, second: Origin | None) -> Json:
    """The lines below a record; nothing changes in its JSON where there is no second one."""
    both: Json = {"origin": first and first.to_json()}
    return both | {"second_origin": second.to_json()} if second else both
