"""Outputs are data: MyST-NB hands our mime types over, this edition's HTML goes into the page."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from myst_nb.core.render import MimeData, MimeRenderPlugin, NbElementRenderer
from sphinx.application import Sphinx

from fuseshard.book.assets import DARK_ID, figure_script
from fuseshard.book.catalog import catalog_of
from fuseshard.book.config import book_config, chapters_dir
from fuseshard.book.draw.choice import choice_html
from fuseshard.book.draw.explorer.files import data_files
from fuseshard.book.draw.explorer.page import explorer_html
from fuseshard.book.draw.figure import figure_html
from fuseshard.book.draw.parts import Voice, check_html
from fuseshard.book.draw.planner import planner_html
from fuseshard.book.draw.source import source_html
from fuseshard.book.draw.table import table_html
from fuseshard.book.files import FILES, files_address
from fuseshard.book.messages import BookError, Subtype
from fuseshard.palette import LIGHT_TO_DARK
from fuseshard.show.choices import CHOICE_MIME
from fuseshard.show.explorer.explore import EXPLORER_MIME
from fuseshard.show.planner.widget import PLANNER_MIME
from fuseshard.show.records import CHECK_MIME, FIGURE_MIME, SOURCE_MIME, TABLE_MIME
from fuseshard.show.words import VERSION, WORD_MIME

Draw = Callable[[Any, Voice], str]

DEFERRED = {"loading_method": "defer"}

BLOCKS: dict[str, Draw] = {
    FIGURE_MIME: figure_html,
    TABLE_MIME: table_html,
    SOURCE_MIME: source_html,
    CHECK_MIME: check_html,
    CHOICE_MIME: choice_html,
    EXPLORER_MIME: explorer_html,
    PLANNER_MIME: planner_html,
}


class FuseShardRenderer(MimeRenderPlugin):
    """MyST-NB's plug-in (`myst_nb.mime_renderers` in pyproject.toml) for the book's records."""

    mime_priority_overrides: ClassVar[Sequence[tuple[str, str, int | None]]] = [
        ("*", mime, 1) for mime in (*BLOCKS, WORD_MIME)
    ]

    @staticmethod
    def handle_mime(
        renderer: NbElementRenderer, data: MimeData, inline: bool
    ) -> list[nodes.Element] | None:
        """Return the nodes of one of our outputs, or None for any other."""
        env = renderer.renderer.sphinx_env
        if data.mime_type not in (*BLOCKS, WORD_MIME) or env is None:
            return None
        record: Any = data.content
        page = Path(env.doc2path(env.docname)).relative_to(chapters_dir(env.app)).as_posix()
        where = _where(page, data, record)
        voice = Voice(catalog_of(env.app), where, files_address(env.app, env.docname))
        _check_version(record, data.mime_type, voice.where)
        if data.mime_type == WORD_MIME:
            text = voice.catalog.render(record["word"], voice.where)
            word = nodes.inline(text, text, classes=["pasted-text"])
            return [word] if inline else [nodes.paragraph("", "", word)]
        if FIGURE_MIME in _mimes(record, data.mime_type):
            _add_scripts(renderer, env.app)
        if data.mime_type == CHOICE_MIME:
            renderer.add_js_file("fuseshard-choices", "fuseshard/choices.js", DEFERRED)
        if data.mime_type == PLANNER_MIME:
            for name in ("planner-model", "planner"):  # the second calls the first
                renderer.add_js_file(f"fuseshard-{name}", f"fuseshard/{name}.js", DEFERRED)
        html = BLOCKS[data.mime_type](record, voice)
        block = nodes.raw(text=html, format="html", classes=["output"])
        if data.mime_type == EXPLORER_MIME:
            renderer.add_js_file("fuseshard-explorer", "fuseshard/explorer.js", DEFERRED)
            block["classes"].append("fs-uncut")  # it is wider than the text
            if book_config(env.app.config).is_root:
                block[FILES] = data_files(record, where)
        return [block]


def _where(page: str, data: MimeData, record: Any) -> str:
    line = f":{data.line}" if data.line else ""
    name = record.get("name", "")
    return f"{page}{line}" + (f" ({name})" if name else "")


def _mimes(record: Any, mime: str) -> set[str]:
    """Name the mime types of a record and of those inside it."""
    return {mime, *(option["mime"] for option in record.get("options", []))}


def _check_version(record: Any, mime: str, where: str) -> None:
    if record.get("version") != VERSION:
        raise BookError(
            Subtype.RECORD,
            f"{mime} has version {record.get('version')!r}, must be {VERSION}; build again, so "
            "that the cell is executed with this release",
            where,
        )


def _add_scripts(renderer: NbElementRenderer, app: Sphinx) -> None:
    """Load the drawing script, and the colours of the dark theme, on this page."""
    colours = json.dumps(dict(LIGHT_TO_DARK))
    renderer.add_js_file(
        DARK_ID, None, {"type": "application/json", "id": DARK_ID, "body": colours}
    )
    renderer.add_js_file("fuseshard-figures", *figure_script(app))
