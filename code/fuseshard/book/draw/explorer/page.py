"""An explorer on its page: controls, a table of resources, and the code of what is seen first.

The page's script (static/fuseshard/explorer.js) changes what is shown, and loads what else the
reader picks. Without scripts all stages of the first program stand below one another, folded.
"""

from __future__ import annotations

import json
from html import escape
from typing import Any

from babel.lists import format_list

from fuseshard.book.draw.colouring import Line, coloured_lines, line_html
from fuseshard.book.draw.explorer.controls import (
    compare_control,
    kernel_control,
    program_control,
    stage_controls,
    target_controls,
)
from fuseshard.book.draw.explorer.files import file_address
from fuseshard.book.draw.explorer.resources import resources_table
from fuseshard.book.draw.explorer.seen import Seen
from fuseshard.book.draw.parts import Json, Voice, in_script

SAME = "{gpus}: the same text, letter for letter."
DIFFER = "Every other GPU is given another text."
CUT = "{gpus}: the program is cut into other kernels."
SCRIPT_WORDS = {
    "lines": "{count} lines",
    "view": "{program}, {stage}, {gpu}: {lines}.",
    "beside": "Beside it {gpu}: {lines}.",
    "marked": "Lines that the other text lacks are marked.",
    "same": SAME,
    "differ": DIFFER,
    "cut": CUT,
    "none": "no other GPU",
    "loading": "Loading {program} …",
    "failed": "The code of {program} could not be loaded. Pick it again to try once more.",
}
"""what the script says, with the placeholders that it fills in"""


def explorer_html(record: Json, voice: Voice) -> str:
    """Return the whole explorer of one edition."""
    seen = Seen(record, voice)
    here = seen.stages.index(seen.stage)
    data = json.dumps(_page_data(seen), ensure_ascii=False, separators=(",", ":"))
    return (
        f'<section class="fs-explorer full-width" id="{seen.id}" '
        f'aria-labelledby="{seen.id}-label">'
        f'<p class="fs-explorer-label" id="{seen.id}-label">{voice.html(record["label"])}</p>'
        f"<noscript><p>{_without_scripts(seen)}</p></noscript>"
        f'<div class="fs-picks">{program_control(seen)}{kernel_control(seen)}</div>'
        f'<div class="fs-picks">{target_controls(seen)}{compare_control(seen)}</div>'
        f'<div class="fs-picks">{stage_controls(seen)}</div>'
        f'<p class="fs-about">{voice.html(seen.stage["about"])}</p>'
        f'<div class="fs-work"><div>{_folded(seen, seen.stages[:here])}'
        f'<div class="fs-panels">{_panel(seen, seen.stage, " open")}{_panel(seen)}</div>'
        f'<p class="fs-shown" role="status"><span class="fs-hidden"></span>'
        f"<span>{_remark(seen)}</span></p>{_folded(seen, seen.stages[here + 1 :])}</div>"
        f"{resources_table(seen)}</div>"
        f'<script type="application/json" class="fs-json">{in_script(data)}</script></section>'
    )


def _panel(seen: Seen, stage: Json | None = None, state: str = " open hidden") -> str:
    """Return one text, foldable; without a stage, the empty place of one to compare with."""
    lines: list[Line] = []
    title = size = about = ""
    if stage:
        code = seen.record["texts"][seen.view["texts"][stage["key"]]]
        # Those who see the folded ones are few, and all readers load them: they get no colours.
        lines = coloured_lines(code, stage["language"] if state else "text")
        title = f"{seen.voice.text(stage['label'])} · {escape(seen.target['name'])}"
        size = seen.voice.say("{count} lines", count=len(lines))
        about = f'<p class="fs-about">{seen.voice.html(stage["about"])}</p>'
        about = f"<noscript>{about}</noscript>" if state else about
    shown = "".join(f'<span class="fs-line">{line_html(line)}\n</span>' for line in lines)
    return (
        f'<details class="fs-source fs-panel"{state}><summary>'
        f'<span class="fs-panel-title">{title}</span> <span class="fs-size">{size}</span>'
        f'</summary>{about}<div class="fs-annotated"><div class="highlight">'
        f'<pre class="fs-lines fs-code" style="--fs-digits: {len(str(len(lines)))}" '
        f'tabindex="0" role="region" aria-label="{title}">{shown}</pre></div></div></details>'
    )


def _folded(seen: Seen, stages: list[Json]) -> str:
    """Return stages for readers without scripts; with them a browser takes this for text."""
    panels = "".join(_panel(seen, stage, "") for stage in stages)
    return f"<noscript>{panels}</noscript>" if panels else ""


def _without_scripts(seen: Seen) -> str:
    return seen.voice.say(
        "With scripts you can pick among {programs} programs and {gpus} GPUs here, and compare "
        "two GPUs. Without scripts you see {program} on {gpu}, one stage below the other.",
        programs=len(seen.record["programs"]),
        gpus=len(seen.record["targets"]),
        program=seen.text(seen.program["label"]),
        gpu=seen.target["name"],
    )


def _remark(seen: Seen) -> str:
    """Say which other GPUs are given the same text, and which have no such kernel."""
    stage, views = seen.stage["key"], seen.kernel["views"]
    others = [t for t in seen.record["targets"] if t is not seen.target]
    have = [t for t in others if t["key"] in views]
    own = seen.view["texts"][stage]
    same = [t["short"] for t in have if views[t["key"]]["texts"].get(stage) == own]
    cut = [t["short"] for t in others if t["key"] not in views]
    said = []
    if same:
        said.append(seen.voice.say(SAME, gpus=_listed(same, seen)))
    elif have:
        said.append(seen.voice.say(DIFFER))
    if cut:
        said.append(seen.voice.say(CUT, gpus=_listed(cut, seen)))
    return " ".join(said)


def _listed(names: list[str], seen: Seen) -> str:
    return format_list(names, locale=seen.voice.catalog.language)


def _page_data(seen: Seen) -> dict[str, Any]:
    """Return what the script needs before it loads anything: no code, but all the numbers."""
    record, voice = seen.record, seen.voice
    stages = {
        vendor: {
            stage["key"]: {"label": voice.html(stage["label"]), "about": voice.html(stage["about"])}
            for stage in stages
        }
        for vendor, stages in record["stages"].items()
    }
    return {
        "name": record["name"],
        "folder": f"{voice.files}{record['name']}/",
        "start": {**record["start"], "kernel": seen.kernel_index},
        "targets": record["targets"],
        "stages": stages,
        "limits": {key: seen.text(said) for key, said in record["limits"].items()},
        "phases": {key: seen.text(said) for key, said in record["phases"].items()},
        "programs": [_program_data(program, seen) for program in record["programs"]],
        "words": {key: voice.template(msgid) for key, msgid in SCRIPT_WORDS.items()},
    }


def _program_data(program: Json, seen: Seen) -> dict[str, Any]:
    kernels = [
        {
            "file": file_address(seen.record, program, index),
            "phase": kernel["phase"],
            "views": {
                target: {key: view[key] for key in ("name", "settings", "cells", "limited_by")}
                for target, view in kernel["views"].items()
            },
        }
        for index, kernel in enumerate(program["kernels"])
    ]
    return {"key": program["key"], "label": seen.text(program["label"]), "kernels": kernels}
