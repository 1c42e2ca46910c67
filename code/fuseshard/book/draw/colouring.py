"""Code cut into coloured pieces, line by line, with as few pieces as colours need."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from pygments import lex
from pygments.lexers import get_lexer_by_name
from pygments.token import STANDARD_TYPES

Piece = tuple[str, str]
"""class of the style sheet ("" for the colour of plain text), and the text"""
Line = tuple[Piece, ...]

_PLAIN = {"", "err", "n", "nn", "nx", "o", "p", "w", "x"}
"""Pygments' classes that themes set like plain text, or that would put a span around each sign"""


def coloured_lines(code: str, language: str) -> list[Line]:
    """Cut code into lines of pieces.

    Args:
        code: kept as it is, but for empty lines before and after it.
        language: name of a Pygments lexer; one that doesn't exist raises its ClassNotFound.
    """
    lexer = get_lexer_by_name(language, stripnl=False, ensurenl=True)
    lines: list[list[Piece]] = [[]]
    for kind, text in lex(code.strip("\n"), lexer):
        css = _class_of(kind)
        for number, part in enumerate(text.split("\n")):
            if number:
                lines.append([])
            if part:
                _append(lines[-1], css, part)
    return [tuple(line) for line in lines[:-1]]  # the lexer ends the last line, which opens one


def line_html(line: Line) -> str:
    """Return a line's HTML."""
    return "".join(
        f'<span class="{css}">{escape(text, quote=False)}</span>'
        if css
        else escape(text, quote=False)
        for css, text in line
    )


def _append(line: list[Piece], css: str, text: str) -> None:
    """Add a piece to a line, or lengthen the last one: white space takes any colour."""
    if line and (line[-1][0] == css or text.isspace()):
        line[-1] = (line[-1][0], line[-1][1] + text)
    else:
        line.append((css, text))


def _class_of(kind: object) -> str:
    """Return the class for a token; one without its own gets that of the nearest kind above."""
    for known in _upwards(kind):
        css = STANDARD_TYPES.get(known)
        if css is not None:
            return "" if css in _PLAIN else css
    return ""


def _upwards(kind: object) -> Iterator[object]:
    while kind is not None:
        yield kind
        kind = getattr(kind, "parent", None)
