"""Tables: a caption, heads with units, numbers aligned by their decimal point."""

from __future__ import annotations

from html import escape

from fuseshard.book.draw.parts import Json, Voice, origin_html


def table_html(record: Json, voice: Voice) -> str:
    """Return a table in a box that scrolls sideways on a narrow screen."""
    label = voice.text(record["caption"])
    notes = "".join(f'<p class="fs-note">{voice.html(note)}</p>' for note in record["notes"])
    return (
        f'<div class="fs-table" id="tab-{record["name"]}">'
        f'<div class="fs-scroll" role="region" tabindex="0" aria-label="{label}">'
        f"{bare_table_html(record, voice)}</div>{notes}{origin_html(record, voice)}</div>"
    )


def bare_table_html(record: Json, voice: Voice) -> str:
    """Return the <table> element alone."""
    heads = "".join(_head(column, voice) for column in record["columns"])
    rows = "".join(_row(row, record, voice) for row in record["rows"])
    return (
        f"<table><caption><span>{voice.html(record['caption'])}</span></caption>"
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    )


def _head(column: Json, voice: Voice) -> str:
    unit = f' <span class="fs-unit">({escape(column["unit"])})</span>' if column["unit"] else ""
    kind = ' class="fs-number"' if column["numeric"] else ""
    return f'<th scope="col"{kind}>{voice.html(column["title"])}{unit}</th>'


def _row(row: list[Json], record: Json, voice: Voice) -> str:
    cells = []
    for index, (cell, column) in enumerate(zip(row, record["columns"], strict=True)):
        tag = "td"
        opening = "td"
        if index == 0 and record["row_header"]:
            tag, opening = "th", 'th scope="row"'
        kind = ' class="fs-number"' if column["numeric"] else ""
        cells.append(f"<{opening}{kind}>{_cell(cell, column, voice)}</{tag}>")
    return f"<tr>{''.join(cells)}</tr>"


def _cell(cell: Json, column: Json, voice: Voice) -> str:
    if "number" in cell:
        return escape(cell["text"])
    if "code" in cell:
        return f"<code>{escape(cell['code'])}</code>"
    shown = voice.html(cell)
    return f"<code>{shown}</code>" if column["code"] else shown
