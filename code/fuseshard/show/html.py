"""How records read in plain Jupyter and Colab: English HTML and text, made from their JSON.

The built book doesn't use this module: it renders the records itself, without any network.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

from fuseshard.show.words import Json, text_of

_SIGNS = {"open": "○", "right": "✓", "wrong": "✗"}


def render(data: Json) -> str:
    """Return the HTML of a record's JSON, to be shown by Jupyter.

    Args:
        data: JSON of a Figure, Table, Source, Choice, Explorer, Planner or Check; figures need
            plotly.
    """
    for key, draw in _DRAW.items():
        if key in data:
            return draw(data)
    return f"<p>{_SIGNS[data['state']]} {_html_text(data['message'])}</p>"


def text(data: Json) -> str:
    """Return the plain text of a record's JSON, for terminals and e-mail."""
    for key, write in _WRITE.items():
        if key in data:
            return write(data)
    return f"{_SIGNS[data['state']]} {text_of(data['message'])}"


def cell_text(cell: Json) -> str:
    """Return the English text of a table's cell."""
    if "number" in cell:
        return str(cell["text"])
    if "code" in cell:
        return str(cell["code"])
    return text_of(cell)


def _options(data: Json) -> list[tuple[str, Json]]:
    """Name each option of a choice: Jupyter shows them all, one below the other."""
    label = text_of(data["label"])
    return [(f"{label}: {text_of(o['label'])}", o["record"]) for o in data["options"]]


def _explorer_start(data: Json) -> tuple[str, list[tuple[str, str]]]:
    """Return what an explorer shows first: a title, and the name and code of each stage."""
    start = data["start"]
    target = next(t for t in data["targets"] if t["key"] == start["target"])
    program = next(p for p in data["programs"] if p["key"] == start["program"])
    views = (kernel["views"].get(start["target"]) for kernel in program["kernels"])
    view = next(view for view in views if view)
    title = f"{text_of(data['label'])}: {text_of(program['label'])}, {target['name']}"
    stages = data["stages"][target["vendor"]]
    return title, [(text_of(s["label"]), data["texts"][view["texts"][s["key"]]]) for s in stages]


def _explorer_html(data: Json) -> str:
    """Show the first program on its first GPU: in Jupyter there is nothing to load more from."""
    title, stages = _explorer_start(data)
    folded = "".join(
        f"<details><summary>{escape(label)}</summary><pre><code>{escape(code)}</code></pre>"
        "</details>"
        for label, code in stages
    )
    return f"<p><b>{escape(title)}</b></p>{folded}"


def _explorer_text(data: Json) -> str:
    title, stages = _explorer_start(data)
    sizes = [f"{label}: {len(code.splitlines())} lines" for label, code in stages]
    return "\n".join([title, *sizes])


def _lines(note: Json) -> str:
    first, last = note["first"], note["last"]
    return f"line {first}" if first == last else f"lines {first} to {last}"


def _html_text(data: Json) -> str:
    return escape(text_of(data))


def _title(column: Json) -> str:
    unit = f" ({column['unit']})" if column["unit"] else ""
    return text_of(column["title"]) + unit


def _origins(data: Json) -> list[Json]:
    """Where a record's numbers come from: nowhere, one machine, or two."""
    return [origin for origin in (data["origin"], data.get("second_origin")) if origin]


def _origin_html(data: Json) -> str:
    lines = (_html_text(origin["summary"]) for origin in _origins(data))
    return "".join(f"<p><small>{line}</small></p>" for line in lines)


def _table_html(data: Json) -> str:
    heads = "".join(f'<th scope="col">{escape(_title(c))}</th>' for c in data["columns"])
    rows = "".join(f"<tr>{_row_html(row, data)}</tr>" for row in data["rows"])
    notes = "".join(f"<p><small>{_html_text(note)}</small></p>" for note in data["notes"])
    return (
        f"<table><caption>{_html_text(data['caption'])}</caption>"
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
        f"{notes}{_origin_html(data)}"
    )


def _row_html(row: list[Json], table: Json) -> str:
    cells = []
    for index, (cell, column) in enumerate(zip(row, table["columns"], strict=True)):
        shown = escape(cell_text(cell))
        if "code" in cell or column["code"]:
            shown = f"<code>{shown}</code>"
        align = "right" if column["numeric"] else "left"
        tag = 'th scope="row"' if index == 0 and table["row_header"] else "td"
        cells.append(f'<{tag} style="text-align: {align}">{shown}</{tag[:2]}>')
    return "".join(cells)


def _table_text(data: Json) -> str:
    lines = [[_title(column) for column in data["columns"]]]
    lines += [[cell_text(cell) for cell in row] for row in data["rows"]]
    widths = [max(len(line[i]) for line in lines) for i in range(len(data["columns"]))]
    numeric = [column["numeric"] for column in data["columns"]]
    body = [
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, numeric, strict=True)
        ).rstrip()
        for line in lines
    ]
    notes = [text_of(note) for note in data["notes"]]
    origins = [text_of(origin["summary"]) for origin in _origins(data)]
    return "\n".join([text_of(data["caption"]), *body, *notes, *origins])


def _source_html(data: Json) -> str:
    marked = {line for n in data["notes"] for line in range(n["first"], n["last"] + 1)}
    lines = [
        f"<mark>{escape(line)}</mark>" if number in marked else escape(line)
        for number, line in enumerate(data["code"].splitlines(), start=1)
    ]
    notes = "".join(f"<li>{_lines(n)}: {_html_text(n['text'])}</li>" for n in data["notes"])
    return (
        f"<details{'' if data['folded'] else ' open'}>"
        f"<summary>{_html_text(data['caption'])}</summary>"
        f"<pre><code>{chr(10).join(lines)}</code></pre></details>"
        f"{f'<ul>{notes}</ul>' if notes else ''}{_origin_html(data)}"
    )


def _figure_html(data: Json) -> str:
    return (
        f"<figure>{_plot_html(data['figure'], data['name'])}"
        f"<figcaption>{_html_text(data['caption'])}</figcaption></figure>"
        f"{_origin_html(data)}"
        f"<details><summary>The numbers drawn</summary>{_table_html(data['table'])}</details>"
    )


def _plot_html(figure: Json, name: str) -> str:
    """Draw with plotly's script from its CDN: only Jupyter and Colab see this."""
    try:
        # Optional third party: records without figures work where plotly isn't installed.
        from plotly.io import to_html  # noqa: PLC0415
    except ImportError as error:
        raise ImportError(
            "figures need plotly, which is not installed; install the package with its extra: "
            "pip install 'fuseshard[show]'"
        ) from error
    drawing: dict[str, Any] = {"data": figure["data"], "layout": figure["layout"]}
    return str(
        to_html(
            drawing,
            config=figure.get("config"),
            include_plotlyjs="cdn",
            full_html=False,
            div_id=f"fuseshard-{name}",
            default_height=f"{figure['layout'].get('height', 360)}px",
        )
    )


def _choice_html(data: Json) -> str:
    return "".join(
        f"<p><b>{escape(said)}</b></p>{render(record)}" for said, record in _options(data)
    )


def _choice_text(data: Json) -> str:
    return "\n\n".join(f"{said}\n{text(record)}" for said, record in _options(data))


def _planner_html(data: Json) -> str:
    """Show what is planned first: in Jupyter there is no script to change the sizes."""
    said = f"<p>{_html_text(data['tally'])} {_html_text(data['binding'])}</p>"
    return f"<p><b>{_html_text(data['label'])}</b></p>{said}{_table_html(data['planned'])}"


def _planner_text(data: Json) -> str:
    said = [text_of(data[key]) for key in ("label", "tally", "binding")]
    return "\n".join([*said, _table_text(data["planned"])])


def _figure_text(data: Json) -> str:
    return f"{text_of(data['caption'])}\n[{text_of(data['alt'])}]\n{text(data['table'])}"


def _source_text(data: Json) -> str:
    notes = [f"{_lines(note)}: {text_of(note['text'])}" for note in data["notes"]]
    return "\n".join([text_of(data["caption"]), data["code"].rstrip("\n"), *notes])


_DRAW: dict[str, Callable[[Json], str]] = {
    "texts": _explorer_html,
    "planned": _planner_html,
    "options": _choice_html,
    "figure": _figure_html,
    "columns": _table_html,
    "code": _source_html,
}
"""a key that only one kind of record has -> how it is drawn"""
_WRITE: dict[str, Callable[[Json], str]] = {
    "texts": _explorer_text,
    "planned": _planner_text,
    "options": _choice_text,
    "figure": _figure_text,
    "columns": _table_text,
    "code": _source_text,
}
