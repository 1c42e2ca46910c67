"""Show source text with notes on the lines that matter.

Generated code changes with the compiler, so a note may hang on a pattern instead of a number;
a pattern that no longer matches is an error, never a note on the wrong line.

    annotated_source("softmax-cpp", word("Inductor's C++ for the softmax"), code, language="cpp",
                     notes=[on(r"std::exp|\\.exp\\(", word("exp happens here"))])
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from fuseshard.show.records import Note, Origin, Source
from fuseshard.show.words import Word, word


@dataclass(frozen=True)
class Anchor:
    """A note that looks for its lines."""

    text: Word
    first: str
    """regular expression searched in each line; the first line that matches opens the note"""
    last: str | None = None
    """same, from the opening line on, for the line that closes it; None: one line"""
    occurrence: int = 1
    """which of the lines that match `first` opens the note, 1-based"""


def on(first: str, text: Word, *, last: str | None = None, occurrence: int = 1) -> Anchor:
    """Hang a note on the first line in which a pattern is found.

    Args:
        first: regular expression for the line that the note begins on.
        text: what the reader should see there.
        last: regular expression for the line that the note ends on; it may be the same line.
        occurrence: 1 for the first line that matches `first`, 2 for the second, ...
    """
    return Anchor(text, first, last, occurrence)


def lines(first: int, last: int, text: Word) -> Note:
    """Hang a note on numbered lines; for code that doesn't change.

    Args:
        first: 1-based.
        last: 1-based, inclusive.
        text: what the reader should see there.
    """
    return Note(first, last, text)


def annotated_source(
    name: str,
    caption: Word,
    code: str,
    *,
    language: str,
    notes: Sequence[Note | Anchor] = (),
    folded: bool = True,
    origin: Origin | None = None,
) -> Source:
    """Return a source listing with its notes in the order of the lines.

    Args:
        name: lower-case words joined by hyphens, unique on its page.
        caption: says what the code is.
        code: the text, shown as it is.
        language: name of a Pygments lexer ("python", "cpp", "text", ...).
        notes: made by `on` and `lines`.
        folded: whether the listing opens closed.
        origin: where the code comes from.

    Raises:
        ValueError: an anchor's pattern isn't found, or a note's lines don't exist.
    """
    found = [_resolve(note, code, name) if isinstance(note, Anchor) else note for note in notes]
    in_order = tuple(sorted(found, key=lambda note: (note.first, note.last)))
    return Source(name, caption, language, code, in_order, folded, origin)


def show_source(
    thing: Callable[..., Any] | type | ModuleType,
    *,
    notes: Sequence[Note | Anchor] = (),
    folded: bool = False,
) -> Source:
    """Show the Python source of a function, class or module of the package.

    Args:
        thing: what the reader has to understand.
        notes: made by `on` and `lines`; line 1 is the first line shown.
        folded: whether the listing opens closed.

    Raises:
        TypeError: `thing` was made in C, or has no source file.
    """
    unwrapped = thing if isinstance(thing, (type, ModuleType)) else inspect.unwrap(thing)
    code = textwrap.dedent(inspect.getsource(unwrapped))
    if isinstance(unwrapped, ModuleType):
        place = unwrapped.__name__
    else:
        place = f"{unwrapped.__module__}.{unwrapped.__qualname__}"
    caption = word("Source of {place}", place=place)
    name = "-".join(part.lower() for part in re.findall(r"[A-Za-z0-9]+", place))
    return annotated_source(name, caption, code, language="python", notes=notes, folded=folded)


def _resolve(anchor: Anchor, code: str, name: str) -> Note:
    """Find an anchor's lines."""
    all_lines = code.splitlines()
    opening = [i for i, line in enumerate(all_lines) if re.search(anchor.first, line)]
    if len(opening) < anchor.occurrence:
        raise ValueError(
            f"source {name!r}: the anchor {anchor.first!r} is on {len(opening)} lines, the note "
            f"{str(anchor.text)!r} needs occurrence {anchor.occurrence} (the code has changed, or "
            "the pattern is misspelt); correct the pattern after reading the code"
        )
    first = opening[anchor.occurrence - 1]
    if anchor.last is None:
        return Note(first + 1, first + 1, anchor.text)
    closing = [i for i in range(first, len(all_lines)) if re.search(anchor.last, all_lines[i])]
    if not closing:
        raise ValueError(
            f"source {name!r}: the closing anchor {anchor.last!r} is on no line from "
            f"{first + 1} on, where the note {str(anchor.text)!r} begins; correct the pattern"
        )
    return Note(first + 1, closing[0] + 1, anchor.text)
