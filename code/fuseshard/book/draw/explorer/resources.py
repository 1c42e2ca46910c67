"""The table beside the code: what the kernel takes of each GPU, a column each."""

from __future__ import annotations

from html import escape

from fuseshard.book.draw.explorer.seen import Seen
from fuseshard.book.draw.parts import Json, Voice

MISSING = "—"
"""stands below a GPU that has no such kernel"""


def resources_table(seen: Seen) -> str:
    """Return the table with the column of the GPU that is seen first marked."""
    voice = seen.voice
    kernel = f'<code class="fs-kernel-name">{escape(seen.view["name"])}</code>'
    caption = escape(voice.template("What {kernel} takes of each GPU")).format(kernel=kernel)
    heads = "".join(
        f'<th scope="col"{_mark(target, seen)}>{escape(target["short"])}</th>'
        for target in seen.record["targets"]
    )
    rows = "".join(
        f"<tr>{_head(resource, voice)}{_cells(index, seen)}</tr>"
        for index, resource in enumerate(seen.record["resources"])
    )
    note = voice.say("Registers and spills are a thread's, warps and shared memory a block's.")
    return (
        f'<div class="fs-resources fs-table"><div class="fs-scroll" role="region" tabindex="0" '
        f'aria-labelledby="{seen.id}-caption"><table>'
        f'<caption><span id="{seen.id}-caption">{caption}</span></caption>'
        f"<thead><tr><td></td>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
        f'<p class="fs-note">{note}</p>'
        f'<p class="fs-note fs-settings">{escape(seen.target["short"])}: '
        f"<code>{escape(seen.view['settings'])}</code></p></div>"
    )


def _head(resource: Json, voice: Voice) -> str:
    unit = f' <span class="fs-unit">({escape(resource["unit"])})</span>' if resource["unit"] else ""
    return f'<th scope="row">{voice.html(resource["title"])}{unit}</th>'


def _cells(index: int, seen: Seen) -> str:
    return "".join(
        f"<td{_mark(target, seen)}>{_cell(index, target, seen)}</td>"
        for target in seen.record["targets"]
    )


def _cell(index: int, target: Json, seen: Seen) -> str:
    view = seen.kernel["views"].get(target["key"])
    if not view:
        return MISSING
    if index < len(view["cells"]):
        return escape(view["cells"][index])
    return seen.voice.html(seen.record["limits"][view["limited_by"]])


def _mark(target: Json, seen: Seen) -> str:
    """Mark the column that is seen, for eyes and for those who listen."""
    return ' class="fs-picked" aria-current="true"' if target is seen.target else ""
