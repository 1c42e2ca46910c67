"""Draw a schedule: a box for each node, a frame around what is fused, a bracket for a refusal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from fuseshard import palette
from fuseshard.compiler.scheduling.records import Exhibit, Node, Schedule
from fuseshard.show.chapters.scheduling.tables import pairs_table
from fuseshard.show.chapters.scheduling.terms import (
    NOT_ASKED,
    NOTHING_SHARED,
    loops_text,
    program_word,
    short_reason,
)
from fuseshard.show.choices import Choice, choose
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.numbers import number, size
from fuseshard.show.records import Figure
from fuseshard.show.words import plain, word

_CODE_PX, _NODE_PX, _PAD_PX, _GAP_PX, _REASON_PX = 17, 44, 8, 12, 17
_LEFT, _RIGHT, _LEVEL = 0.0, 0.48, 0.025
"""of the figure's width: the frames' sides, and from one bracket to the next"""
_RIGHT_ALONE = 0.95
"""right side of the frames where no bracket needs the room"""
_MONO = "SFMono-Regular, Menlo, Consolas, 'Liberation Mono', monospace"


@dataclass(frozen=True)
class Refusal:
    """Two groups that were not fused."""

    first: int
    """place among the groups that are drawn"""
    second: int
    reason: str


def gallery(exhibits: Mapping[str, Exhibit]) -> Choice:
    """Let the reader choose a program and see what was fused.

    Args:
        exhibits: from `compiler.scheduling.programs`.
    """
    options = [
        (word("{name}: {what}", name=name, what=program_word(name)), boxes(name, exhibit))
        for name, exhibit in exhibits.items()
    ]
    start = list(exhibits).index("detour") if "detour" in exhibits else 0
    return choose("fusion-gallery", word("Program"), options, start=start)


def boxes(name: str, exhibit: Exhibit) -> Figure:
    """Draw one program: its source, its nodes from first to last, frames and refusals.

    Args:
        name: of the program.
        exhibit: its source and its schedule.
    """
    schedule = exhibit.schedule
    groups = drawn_groups(schedule)
    code = exhibit.code.splitlines()
    top = len(code) * _CODE_PX + 2 * _PAD_PX
    tops, bottom = _places(groups, top)
    drawing = FigureBuilder(f"fusion-{name}", height=bottom + 20)
    drawing.layout |= {
        "showlegend": False,
        "xaxis": {"range": [0, 1], "visible": False, "fixedrange": True},
        "yaxis": {"range": [bottom, 0], "visible": False, "fixedrange": True},
        "shapes": [],
    }
    for row, line in enumerate(code):
        if line.strip():
            _write(drawing, 0.0, row * _CODE_PX + 8, line, font={"family": _MONO, "size": 12})
    apart = refusals(schedule)
    for group, place in zip(groups, tops, strict=True):
        _draw_group(drawing, group, place, _RIGHT if apart else _RIGHT_ALONE)
    _draw_refusals(drawing, apart, groups, tops)
    # Plotly draws no axes without a trace.
    drawing.trace(type="scatter", x=[0.0], y=[0.0], mode="markers", marker={"opacity": 0})
    return drawing.build(
        caption=word(
            "Nodes: {nodes}; after fusion: {groups}. Memory traffic: {before} without fusion, "
            "{after} with it.",
            nodes=number(sum(node.kind != "nop" for node in schedule.nodes)),
            groups=number(len(groups)),
            before=size(schedule.bytes_before),
            after=size(schedule.bytes_after),
        ),
        alt=word(
            "The source of {name}, below it one box a node in order of execution, frames around "
            "fused nodes, and dotted brackets between what was not fused.",
            name=name,
        ),
        table=pairs_table(f"fusion-{name}-pairs", schedule),
    )


def drawn_groups(schedule: Schedule) -> list[list[Node]]:
    """Leave out of the groups what does no work."""
    groups = [[schedule.node(name) for name in group] for group in schedule.groups]
    return [group for group in groups if group[0].kind != "nop"]


def refusals(schedule: Schedule) -> list[Refusal]:
    """Find for groups that stayed apart the scheduler's last word, or why it never looked."""
    groups = drawn_groups(schedule)
    found = []
    for (i, a), (j, b) in combinations(enumerate(groups), 2):
        reason = _reason(schedule, a, b)
        if reason != NOTHING_SHARED or (len(groups) == 2 and j == i + 1):
            found.append(Refusal(i, j, reason))
    return found


def _reason(schedule: Schedule, a: list[Node], b: list[Node]) -> str:
    """Find why two groups stayed apart."""
    members = ({node.name for node in a}, {node.name for node in b})
    reasons = [
        decision.reason
        for decision in schedule.decisions
        if decision.verdict == "refused"
        and set(decision.first) <= members[0]
        and set(decision.second) <= members[1]
    ]
    if reasons:
        return reasons[-1]
    made = [{access.buffer for node in group for access in node.writes} for group in (a, b)]
    read = [{access.buffer for node in group for access in node.reads} for group in (a, b)]
    has_extern = any(node.kind == "extern" for node in a + b)
    passes_on = made[0] & read[1] or made[1] & read[0]
    return NOT_ASKED if has_extern and passes_on else NOTHING_SHARED


def _places(groups: list[list[Node]], top: int) -> tuple[list[int], int]:
    """Return the upper side of each frame, and the lower side of the last, in pixels."""
    tops = []
    for group in groups:
        tops.append(top)
        top += len(group) * _NODE_PX + 2 * _PAD_PX + _GAP_PX
    return tops, top - _GAP_PX + _PAD_PX


def _draw_group(drawing: FigureBuilder, group: list[Node], top: int, right: float) -> None:
    """Draw a frame with the boxes of its nodes."""
    is_extern = group[0].kind == "extern"
    bottom = top + len(group) * _NODE_PX + 2 * _PAD_PX
    colour = palette.INK[0] if is_extern else palette.COMPILED.light
    frame: dict[str, Any] = {
        "fillcolor": palette.CLEAR if is_extern else palette.COMPILED.band,
        "line": {"color": colour, "width": 2, "dash": "dot" if is_extern else "solid"},
    }
    _box(drawing, (_LEFT, right), (top, bottom), frame)
    for row, node in enumerate(group):
        middle = top + _PAD_PX + (row + 0.5) * _NODE_PX
        if len(group) > 1:
            inner: dict[str, Any] = {
                "line": {"color": colour, "width": 1},
                "fillcolor": palette.CLEAR,
            }
            sides = (middle - _NODE_PX / 2 + 2, middle + _NODE_PX / 2 - 2)
            _box(drawing, (_LEFT + 0.015, right - 0.015), sides, inner)
        _write(drawing, _LEFT + 0.03, middle - 8, f"<b>{', '.join(node.ops)}</b>")
        if is_extern:
            drawing.note(_LEFT + 0.03, middle + 9, word("library"), **_text())
        else:
            _write(drawing, _LEFT + 0.03, middle + 9, loops_text(node))


def _draw_refusals(
    drawing: FigureBuilder, found: list[Refusal], groups: list[list[Node]], tops: list[int]
) -> None:
    """Draw a bracket from group to group, the longer the further out, and write why."""
    middles = [
        top + _PAD_PX + len(group) * _NODE_PX / 2 for group, top in zip(groups, tops, strict=True)
    ]
    spans = sorted({r.second - r.first for r in found})
    edge = _RIGHT + 0.02 + _LEVEL * len(spans)
    below = 0.0
    order = sorted(found, key=lambda r: middles[r.first] + middles[r.second])
    for refusal in order:
        # Brackets of neighbours end short of the middle, so that two of them don't touch.
        ends = (middles[refusal.first] + 6, middles[refusal.second] - 6)
        x = _RIGHT + 0.02 + _LEVEL * (1 + spans.index(refusal.second - refusal.first))
        path = f"M {_RIGHT + 0.01},{ends[0]} L {x},{ends[0]} L {x},{ends[1]} "
        path += f"L {_RIGHT + 0.01},{ends[1]}"
        line = {"color": palette.EAGER.light, "width": 2, "dash": "dot"}
        drawing.layout["shapes"].append({"type": "path", "path": path, "line": line})
        y = max(sum(ends) / 2, below)
        below = y + _REASON_PX
        drawing.note(edge + 0.015, y, short_reason(refusal.reason), **_text())


def _box(
    drawing: FigureBuilder,
    x: tuple[float, float],
    y: tuple[float, float],
    look: dict[str, Any],
) -> None:
    corners = {"x0": x[0], "x1": x[1], "y0": y[0], "y1": y[1]}
    drawing.layout["shapes"].append({"type": "rect", "layer": "below", **corners, **look})


def _write(
    drawing: FigureBuilder, x: float, y: float, text: str, *, font: dict[str, Any] | None = None
) -> None:
    drawing.note(x, y, plain(text), **(_text() | ({"font": font} if font else {})))


def _text() -> dict[str, Any]:
    return {"xanchor": "left", "yanchor": "middle", "align": "left", "font": {"size": 12}}
