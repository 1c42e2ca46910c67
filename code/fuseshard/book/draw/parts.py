"""What all records on a page share: their words, ids and the line that says where numbers are from.

Every function here and in its neighbours returns HTML of one edition.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from fuseshard.book.catalog import Catalog

Json = Mapping[str, Any]
_CODE = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class Voice:
    """The words of one edition, for one record on one page."""

    catalog: Catalog
    where: str
    """page, line and record; how errors name it"""
    files: str = ""
    """address of the folder of the page's data files, relative to the page"""

    def html(self, data: Json) -> str:
        """Return a Word or Plain as HTML; `backticks` set code."""
        return _CODE.sub(r"<code>\1</code>", escape(self.catalog.render(data, self.where)))

    def text(self, data: Json) -> str:
        """Return a Word or Plain as text for an HTML attribute."""
        return escape(self.catalog.render(data, self.where).replace("`", ""))

    def template(self, msgid: str) -> str:
        """Return one of the site's own words with its placeholders, for a script to fill in."""
        return self.catalog.text(msgid, self.where)

    def say(self, msgid: str, **values: object) -> str:
        """Return one of the site's own words as HTML text."""
        return escape(self.catalog.text(msgid, self.where).format(**values))


def in_script(data: str) -> str:
    """Keep JSON from ending the <script> element that it stands in, or opening a comment there."""
    return data.replace("<", "\\u003c")


def origin_html(record: Json, voice: Voice) -> str:
    """Return the lines under a record, one a machine: measured in this build, or recorded."""
    origins = (record["origin"], record.get("second_origin"))
    return "".join(_line(origin, voice) for origin in origins if origin)


def _line(origin: Json, voice: Voice) -> str:
    kind = "live" if origin["live"] else "recorded"
    return f'<p class="fs-origin fs-origin-{kind}">{voice.html(origin["summary"])}</p>'


def check_html(record: Json, voice: Voice) -> str:
    """Return the box that says what a check makes of the reader's answer."""
    sign = {"open": "○", "right": "✓", "wrong": "✗"}[record["state"]]
    return (
        f'<p class="fs-check fs-check-{record["state"]}">'
        f'<span class="fs-sign" aria-hidden="true">{sign}</span> '
        f"{voice.html(record['message'])}</p>"
    )
