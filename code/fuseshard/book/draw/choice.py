"""Choices: several records, one seen at a time, behind a control that every keyboard reaches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fuseshard.book.draw.figure import figure_html
from fuseshard.book.draw.parts import Json, Voice
from fuseshard.book.draw.source import source_html
from fuseshard.book.draw.table import table_html
from fuseshard.show.choices import CHOICE_MIME
from fuseshard.show.records import FIGURE_MIME, SOURCE_MIME, TABLE_MIME

DRAW: dict[str, Callable[[Any, Voice], str]] = {
    FIGURE_MIME: figure_html,
    TABLE_MIME: table_html,
    SOURCE_MIME: source_html,
}


def choice_html(record: Json, voice: Voice) -> str:
    """Return the control and all options; the page's script shows the one that is picked."""
    name = f"choice-{record['name']}"
    control = _slider if record["control"] == "slider" else _select
    options = "".join(_option(index, record, voice) for index in range(len(record["options"])))
    return (
        f'<div class="fs-choice" id="{name}"><div class="fs-control">'
        f'<label for="{name}-control">{voice.html(record["label"])}</label>'
        f"{control(name, record, voice)}</div>{options}</div>"
    )


def _select(name: str, record: Json, voice: Voice) -> str:
    items = "".join(
        f'<option value="{index}"{" selected" if index == record["start"] else ""}>'
        f"{voice.text(option['label'])}</option>"
        for index, option in enumerate(record["options"])
    )
    return f'<select id="{name}-control" autocomplete="off">{items}</select>'


def _slider(name: str, record: Json, voice: Voice) -> str:
    start, last = record["start"], len(record["options"]) - 1
    said = voice.text(record["options"][start]["label"])
    return (
        f'<input type="range" id="{name}-control" min="0" max="{last}" step="1" value="{start}" '
        f'autocomplete="off" aria-valuetext="{said}">'
        f'<span class="fs-picked" aria-hidden="true">{said}</span>'
    )


def _option(index: int, record: Json, voice: Voice) -> str:
    option = record["options"][index]
    seen = " fs-seen" if index == record["start"] else ""
    label = f"{voice.text(record['label'])}: {voice.text(option['label'])}"
    draw = choice_html if option["mime"] == CHOICE_MIME else DRAW[option["mime"]]
    return (
        f'<div class="fs-option{seen}" role="group" aria-label="{label}" '
        f'data-label="{voice.text(option["label"])}"><p class="fs-option-label">{label}</p>'
        f"{draw(option['record'], voice)}</div>"
    )
