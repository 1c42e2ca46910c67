"""Figures: plotly's JSON in the page, drawn when a reader comes near, and the same as a table."""

from __future__ import annotations

import json
from typing import Any

from fuseshard.book.draw.parts import Json, Voice, in_script, origin_html
from fuseshard.book.draw.table import bare_table_html
from fuseshard.book.messages import BookError, Subtype
from fuseshard.show.words import map_shown_strings

DEFAULT_HEIGHT = 420
"""pixels, where the layout doesn't say"""


def figure_html(record: Json, voice: Voice) -> str:
    """Return a <figure>: place for the drawing, caption, text alternative, numbers, data."""
    name = f"fig-{record['name']}"
    height = int(record["figure"]["layout"].get("height", DEFAULT_HEIGHT))
    data = json.dumps(translated(record, voice), ensure_ascii=False, separators=(",", ":"))
    return (
        f'<figure class="fs-figure" id="{name}">'
        f'<div class="fs-plot" role="img" aria-labelledby="{name}-alt" '
        f'style="min-height:{height}px"></div>'
        f'<p class="fs-hidden" id="{name}-alt">{voice.html(record["alt"])}</p>'
        f"<figcaption>{voice.html(record['caption'])}</figcaption>"
        f'<noscript class="fs-data" data-title="{voice.say("The numbers of this figure")}">'
        f'<div class="fs-table"><div class="fs-scroll" role="region" tabindex="0" '
        f'aria-label="{voice.text(record["table"]["caption"])}">'
        f"{bare_table_html(record['table'], voice)}</div></div></noscript>"
        f"{origin_html(record, voice)}"
        f'<script type="application/json" class="fs-json">{in_script(data)}</script></figure>'
    )


def translated(record: Json, voice: Voice) -> Any:
    """Return the record's plotly JSON with every string that a reader sees in this edition.

    Raises:
        BookError: a string is neither among the record's words nor verbatim.
    """
    words, verbatim = record["words"], set(record["verbatim"])

    def change(text: str) -> str:
        if text in words:
            return voice.catalog.render(words[text], voice.where)
        if text in verbatim:
            return text
        raise BookError(
            Subtype.RECORD,
            f"figure {record['name']!r} shows {text!r}, which is neither among its words nor "
            "verbatim; register it where the figure is made, so that editions can translate it",
            voice.where,
        )

    return map_shown_strings(record["figure"], change)
