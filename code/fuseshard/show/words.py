"""The words that code draws: English in the cell's output, each edition's own when rendered.

A `Word` is a message id with its values; a `Plain` is text that no edition translates (code,
operator names, numbers). Both travel as JSON inside every record of `fuseshard.show.records`.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

Json = dict[str, Any]
Lookup = Callable[[str], str]
"""From an English message id to the text of one edition."""

WORD_MIME = "application/vnd.fuseshard.word+json"
VERSION = 1


def placeholders(msgid: str) -> set[str]:
    """Name the values that a message id needs, e.g. {"size"} for "at {size} elements".

    Args:
        msgid: English text in `str.format` syntax; only named fields are allowed.

    Raises:
        ValueError: a field is positional, or the braces don't match.
    """
    names = {name for _, name, _, _ in string.Formatter().parse(msgid) if name is not None}
    bad = [name for name in names if not name.isidentifier()]
    if bad:
        raise ValueError(
            f"word {msgid!r}: fields {bad} are not plain names, which translators need to see; "
            "write {name} and pass name=... (double a brace that is meant as text)"
        )
    return names


@dataclass(frozen=True)
class Word:
    """One translatable text: an English message id and the values that go into it."""

    msgid: str
    """English, in `str.format` syntax; the key of the gettext catalogs"""
    values: Mapping[str, str | int | float | Word] = field(default_factory=dict, hash=False)
    """one value for each field of `msgid`; a Word among them is translated as well"""

    def __post_init__(self) -> None:
        if not self.msgid.strip():
            raise ValueError("word: the message id is empty, so nothing could be translated")
        needed, given = placeholders(self.msgid), set(self.values)
        if needed != given:
            raise ValueError(
                f"word {self.msgid!r}: got values {sorted(given)}, its fields are "
                f"{sorted(needed)}; pass one keyword for each field and no other"
            )
        for name, value in self.values.items():
            if not isinstance(value, (str, int, float, Word)):
                raise ValueError(
                    f"word {self.msgid!r}: value {name} is a {type(value).__name__}, must be "
                    "str, int, float or Word (it is stored as JSON); convert it first"
                )
        str(self)  # a format spec that doesn't suit its value fails here, not on the page

    def __str__(self) -> str:
        return text_of(self.to_json())

    def to_json(self) -> Json:
        """Return {"msgid": ..., "values": {...}}, with Words among the values as JSON too."""
        values = {
            name: value.to_json() if isinstance(value, Word) else value
            for name, value in self.values.items()
        }
        return {"msgid": self.msgid, "values": values}

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Json:
        return _mimebundle(self)


@dataclass(frozen=True)
class Plain:
    """Text that is the same in every edition: code, operator names, numbers, units."""

    text: str

    def __str__(self) -> str:
        return self.text

    def to_json(self) -> Json:
        """Return {"plain": ...}."""
        return {"plain": self.text}

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Json:
        return _mimebundle(self)


Text = Word | Plain


def word(msgid: str, /, **values: str | int | float | Word) -> Word:
    """Make a translatable text; the first argument must be a literal, so that it is extracted.

    Args:
        msgid: English, in `str.format` syntax: `word("{n} kernels", n=3)`.
        **values: one for each field of `msgid`.

    Raises:
        ValueError: values and fields of `msgid` differ, or a value is of another type.
    """
    return Word(msgid, values)


def plain(text: object) -> Plain:
    """Make a text that is never translated, from anything with a `str`."""
    return Plain(str(text))


def text_of(data: Mapping[str, Any], lookup: Lookup = str) -> str:
    """Return the text of a Word's or a Plain's JSON in the edition that `lookup` stands for.

    Args:
        data: {"msgid": ..., "values": {...}} or {"plain": ...}.
        lookup: gives an edition's text for a message id; the default keeps the English.
    """
    if "plain" in data:
        return str(data["plain"])
    values = {
        name: text_of(value, lookup) if isinstance(value, Mapping) else value
        for name, value in data["values"].items()
    }
    return lookup(data["msgid"]).format(**values)


def from_json(data: Mapping[str, Any]) -> Text:
    """Make a Word or a Plain from its JSON again."""
    if "plain" in data:
        return Plain(data["plain"])
    values = {
        name: from_json(value) if isinstance(value, Mapping) else value
        for name, value in data["values"].items()
    }
    return Word(data["msgid"], values)  # type: ignore[arg-type]


def _mimebundle(text: Text) -> Json:
    english = str(text)
    return {
        WORD_MIME: {"version": VERSION, "word": text.to_json()},
        "text/html": escape(english),
        "text/plain": english,
    }


# Keys of plotly's JSON under which a reader sees the string. Coordinates are among them, since a
# categorical axis prints them; a coordinate of a shape or annotation must follow its category.
_SHOWN = frozenset(
    {
        "name",
        "text",
        "hovertext",
        "hovertemplate",
        "texttemplate",
        "ticktext",
        "ticksuffix",
        "tickprefix",
        "label",
        "prefix",
        "suffix",
        "customdata",
        "labels",
        "title",
        "x",
        "y",
        "z",
        "x0",
        "x1",
        "y0",
        "y1",
        "categoryarray",
    }
)


def map_shown_strings(figure: Any, change: Callable[[str], str], shown: bool = False) -> Any:
    """Copy plotly JSON, passing each string that a reader would see through `change`.

    The book translates figures with it.

    Args:
        figure: plotly JSON (dicts, lists, strings, numbers); not modified.
        change: called with each shown string, gives the string to put there.
        shown: whether `figure` itself stands at a place where strings are shown.
    """
    if isinstance(figure, Mapping):
        return {
            key: map_shown_strings(value, change, key in _SHOWN) for key, value in figure.items()
        }
    if isinstance(figure, (list, tuple)):
        return [map_shown_strings(value, change, shown) for value in figure]
    if isinstance(figure, str) and shown and not _is_number(figure):
        return change(figure)
    return figure


def shown_strings(figure: Any) -> set[str]:
    """Collect the strings in plotly JSON that a reader would see."""
    found: set[str] = set()

    def collect(text: str) -> str:
        found.add(text)
        return text

    map_shown_strings(figure, collect)
    return found


def _is_number(text: str) -> bool:
    """Tell whether a string holds nothing to translate: empty, or a number."""
    try:
        float(text.strip() or "0")
    except ValueError:
        return False
    return True
