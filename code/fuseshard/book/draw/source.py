"""Annotated sources: numbered lines, those that matter marked and explained beside the code."""

from __future__ import annotations

from html import escape

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

from fuseshard.book.draw.parts import Json, Voice, origin_html
from fuseshard.book.messages import BookError, Subtype


def source_html(record: Json, voice: Voice) -> str:
    """Return a foldable block of code with its notes."""
    name = f"src-{record['name']}"
    lines = _coloured_lines(record, voice)
    code = "".join(_line(name, number, line, record) for number, line in enumerate(lines, start=1))
    width = len(str(len(lines)))
    opened = "" if record["folded"] else " open"
    size = voice.say("{count} lines", count=len(lines))
    label = voice.text(record["caption"])
    return (
        f'<details class="fs-source" id="{name}"{opened}>'
        f"<summary>{voice.html(record['caption'])} "
        f'<span class="fs-size">{size}</span></summary>'
        f'<div class="fs-annotated"><div class="highlight"><pre tabindex="0" role="region" '
        f'aria-label="{label}" class="fs-lines fs-digits-{width}">{code}</pre></div>'
        f"{_notes(name, record, voice)}</div></details>"
        f"{origin_html(record, voice)}"
    )


def _coloured_lines(record: Json, voice: Voice) -> list[str]:
    """Return the code line by line; Pygments closes its spans at the end of each."""
    try:
        lexer = get_lexer_by_name(record["language"], stripnl=False, ensurenl=True)
    except ClassNotFound:
        raise BookError(
            Subtype.RECORD,
            f"source {record['name']!r} has the language {record['language']!r}, must be the name "
            "of a Pygments lexer (python, cpp, text, ...); correct it where it is made",
            voice.where,
        ) from None
    coloured = highlight(record["code"], lexer, HtmlFormatter(nowrap=True))
    return str(coloured).rstrip("\n").split("\n")


def _line(name: str, number: int, line: str, record: Json) -> str:
    classes, marks = "fs-line", ""
    for index, note in enumerate(record["notes"], start=1):
        if note["first"] <= number <= note["last"]:
            classes = "fs-line fs-marked"
        if note["first"] == number:
            marks += f'<a class="fs-mark" href="#{name}-n{index}">{index}</a>'
    return (
        f'<span class="{classes}" id="{name}-L{number}" data-line="{number}">{line or " "}'
        f"{marks}</span>\n"
    )


def _notes(name: str, record: Json, voice: Voice) -> str:
    if not record["notes"]:
        return ""
    items = "".join(
        f'<li id="{name}-n{index}"><a href="#{name}-L{note["first"]}">'
        f"{escape(_range(note, voice))}</a> {voice.html(note['text'])}</li>"
        for index, note in enumerate(record["notes"], start=1)
    )
    return f'<ol class="fs-notes">{items}</ol>'


def _range(note: Json, voice: Voice) -> str:
    if note["first"] == note["last"]:
        return voice.say("Line {first}", first=note["first"])
    return voice.say("Lines {first}–{last}", first=note["first"], last=note["last"])
