"""A planner on its page: sizes to change, and the layouts that are seen first.

The page's scripts (static/fuseshard/planner-model.js computes, planner.js shows) put other layouts
into the table. Without scripts the table stays as it was computed when the page was built.
"""

from __future__ import annotations

import json
from html import escape
from typing import Any

from fuseshard.book.draw.parts import Json, Voice, in_script
from fuseshard.book.draw.table import bare_table_html

OUTSIDE = "num_nodes"
"""the size that stands beside the presets, since it belongs to none"""
TALLY = (
    "Layouts that fit: {fitting}; that lack memory: {large}; meshes that don't divide the model: "
    "{uneven}."
)
SCRIPT_WORDS = {
    "tally": TALLY,
    "layout": "{mesh}, micro-batches: {count}",
    "recomputing": "{mesh}, micro-batches: {count}, recomputing",
    "blocked": "Memory binds: {layout} would take {step} s instead of {own} s, but needs {needed} "
    "GiB of the {usable} GiB that may be filled.",
    "unblocked": "Memory keeps no faster layout out; what the best one loses most to: {limit}.",
    "nothing": "Nothing fits: the smallest, {layout}, needs {needed} GiB of the {usable} GiB that "
    "may be filled.",
    "impossible": "No mesh is possible, most often because {reason}.",
    "count": "{field}: must be a whole number from 1 to {most}.",
    "quantity": "{field}: must be a number above 0.",
    "share": "{field}: must be above 0 and at most 100 %.",
    "multiple": "{field}: must be a multiple of {other}.",
    "many": "{gpus} GPUs are more than this page plans for, which is {most}.",
    "own": "your own sizes",
}
"""what the script says, with the placeholders that it fills in"""


def planner_html(record: Json, voice: Voice) -> str:
    """Return the whole planner of one edition."""
    name = f"planner-{record['name']}"
    data = json.dumps(_page_data(record, voice), ensure_ascii=False, separators=(",", ":"))
    presets = _preset(record, voice, "model", "Model")
    presets += _preset(record, voice, "cluster", "Kind of node")
    (num_nodes,) = (f for f in record["cluster_fields"] if f["name"] == OUTSIDE)
    presets += _field(record["name"], num_nodes, record["start"][OUTSIDE], voice)
    note = voice.say("Without scripts you see the layouts of one model on one cluster.")
    fold = voice.say("Change the sizes")
    return (
        f'<section class="fs-planner" id="{name}" aria-labelledby="{name}-label">'
        f'<p class="fs-explorer-label" id="{name}-label">{voice.html(record["label"])}</p>'
        f"<noscript><p>{note}</p></noscript>"
        f'<div class="fs-picks">{presets}</div>'
        f'<details class="fs-sizes"><summary>{fold}</summary>'
        f"{_fields(record, voice, 'model', 'Model')}{_fields(record, voice, 'cluster', 'Cluster')}"
        f'</details><p class="fs-wrong" role="alert"></p>'
        f'<p class="fs-tally" role="status">{voice.html(record["tally"])}</p>'
        f'<p class="fs-binding">{voice.html(record["binding"])}</p>'
        f'<div class="fs-table"><div class="fs-scroll" role="region" tabindex="0" '
        f'aria-label="{voice.text(record["planned"]["caption"])}">'
        f"{bare_table_html(record['planned'], voice)}</div></div>"
        f'<script type="application/json" class="fs-json">{in_script(data)}</script></section>'
    )


def _preset(record: Json, voice: Voice, what: str, label: str) -> str:
    """Return the selection of a preset."""
    name = f"planner-{record['name']}-{what}"
    start = record["start"][what]
    options = "".join(
        f'<option value="{known["key"]}"{" selected" if known["key"] == start else ""}>'
        f"{voice.text(known['label'])}</option>"
        for known in record[f"{what}s"]
    )
    return (
        f'<div class="fs-control"><label for="{name}">{voice.say(label)}</label>'
        f'<select id="{name}" data-preset="{what}" autocomplete="off">{options}</select></div>'
    )


def _fields(record: Json, voice: Voice, what: str, legend: str) -> str:
    """Return the sizes of a model or of a node, each as it can be changed."""
    start = record["start"][what]
    sizes = next(known["sizes"] for known in record[f"{what}s"] if known["key"] == start)
    inputs = "".join(
        _field(record["name"], field, sizes[field["name"]], voice)
        for field in record[f"{what}_fields"]
        if field["name"] != OUTSIDE
    )
    return f"<fieldset><legend>{voice.say(legend)}</legend>{inputs}</fieldset>"


def _field(planner: str, field: Json, size: float, voice: Voice) -> str:
    name = f"planner-{planner}-{field['name']}"
    unit = f' <span class="fs-unit">({escape(field["unit"])})</span>' if field["unit"] else ""
    step = "1" if field["kind"] == "count" else "any"
    return (
        f'<div class="fs-size-of"><label for="{name}">{voice.html(field["title"])}{unit}</label>'
        f'<input type="number" id="{name}" data-size="{field["name"]}" min="0" step="{step}" '
        f'value="{size / field["scale"]:.12g}" inputmode="decimal" autocomplete="off"></div>'
    )


def _page_data(record: Json, voice: Voice) -> dict[str, Any]:
    """Return what the script computes with and says."""

    def rendered(words: Json) -> dict[str, str]:
        return {key: voice.catalog.render(said, voice.where) for key, said in words.items()}

    def fields(what: str) -> list[dict[str, Any]]:
        return [
            {**field, "title": voice.catalog.render(field["title"], voice.where)}
            for field in record[f"{what}_fields"]
        ]

    return {
        "models": {known["key"]: known["sizes"] for known in record["models"]},
        "clusters": {known["key"]: known["sizes"] for known in record["clusters"]},
        "start": record["start"],
        "modelFields": fields("model"),
        "clusterFields": fields("cluster"),
        "limits": rendered(record["limits"]),
        "obstacles": rendered(record["obstacles"]),
        "answers": [voice.catalog.render(said, voice.where) for said in record["answers"]],
        "mostRows": record["most_rows"],
        "words": {key: voice.template(msgid) for key, msgid in SCRIPT_WORDS.items()},
    }
