"""Common axes for two drawings: one unit, and ends that hold both."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from fuseshard.show.numbers import unit_value
from fuseshard.show.plotly_style import log_ticks
from fuseshard.show.records import Figure
from fuseshard.show.words import Json, Word

AXES = ("x", "y")
_ENDS = ("array", "arrayminus")
_FEWEST_TICKS = 3


def scales(first: Figure, second: Figure) -> dict[str, float] | None:
    """Return what brings the second figure's values into the first one's units, axis by axis.

    Args:
        first: whose axes stay.
        second: whose values move.

    Returns:
        Axis -> factor; None where the two axes count different things or differ in type.
    """
    factors = {axis: _factor(first, second, f"{axis}axis") for axis in AXES}
    known = {axis: factor for axis, factor in factors.items() if factor is not None}
    return known if len(known) == len(AXES) else None


def moved(trace: Mapping[str, Any], factors: Mapping[str, float]) -> Json:
    """Return a trace with its values, and the bars over them, multiplied axis by axis.

    Args:
        trace: plotly's; not modified.
        factors: from `scales`.
    """
    changed = dict(trace)
    for axis, factor in factors.items():
        if factor == 1:
            continue
        changed[axis] = _times(trace[axis], factor)
        bar = f"error_{axis}"
        if bar in trace:
            ends = {key: _times(trace[bar][key], factor) for key in _ENDS if key in trace[bar]}
            changed[bar] = {**trace[bar], **ends}
    return changed


def common_axis(first: Mapping[str, Any], second: Mapping[str, Any]) -> Json:
    """Return the first axis, with room for what the second one holds.

    Args:
        first: plotly's axis; not modified.
        second: an axis of the same type and unit.
    """
    axis = dict(first)
    if "categoryarray" in first:
        names = [*dict.fromkeys([*first["categoryarray"], *second.get("categoryarray", ())])]
        # As `plotly_style.rows` has it: the first row at the top.
        return axis | {"categoryarray": names, "range": [len(names) - 0.5, -0.5]}
    if "range" not in first or "range" not in second:
        return axis  # plotly finds the ends itself, from what is drawn
    axis["range"] = [min(first["range"][0], second["range"][0])]
    axis["range"].append(max(first["range"][1], second["range"][1]))
    if first.get("tickvals") != second.get("tickvals"):
        axis |= _ticks(first, second, axis["range"])
    return axis


def _factor(first: Figure, second: Figure, axis: str) -> float | None:
    """What the second figure's unit is in the first one's; None where they don't compare."""
    ours, theirs = (figure.figure["layout"].get(axis, {}) for figure in (first, second))
    if ours.get("type") != theirs.get("type"):
        return None
    title, other = (_title(ours), _title(theirs))
    if title == other:
        return 1.0
    is_log = ours.get("type") == "log"  # whose ticks are texts, in a unit of their own
    said, other_said = first.words.get(title), second.words.get(other)
    return None if is_log else _unit_factor(said, other_said)


def _unit_factor(first: Word | None, second: Word | None) -> float | None:
    """Compare two titles that may differ in a unit of time or size, such as ms and µs."""
    if first is None or second is None or first.msgid != second.msgid:
        return None
    values, others = dict(first.values), dict(second.values)
    units = [unit_value(str(texts.pop("unit", ""))) for texts in (values, others)]
    ours, theirs = units
    if values != others or ours is None or theirs is None or ours[0] != theirs[0]:
        return None
    return theirs[1] / ours[1]


def _title(axis: Mapping[str, Any]) -> str:
    return str(axis.get("title", {}).get("text", ""))


def _times(values: Sequence[Any], factor: float) -> list[Any]:
    return [value if isinstance(value, str) else value * factor for value in values]


def _ticks(first: Mapping[str, Any], second: Mapping[str, Any], ends: Sequence[float]) -> Json:
    """Choose among both axes' ticks those that a range of this length has room for."""
    texts: dict[float, str] = {}
    for axis in (second, first):
        texts |= dict(zip(axis.get("tickvals", ()), axis.get("ticktext", ()), strict=True))
    low, high = (math.pow(10, end) for end in ends)
    roomy = [value for value in log_ticks(low, high) if value in texts]
    inside = [value for value in roomy if low <= value <= high]
    values = roomy if len(inside) >= _FEWEST_TICKS else sorted(texts)
    return {"tickvals": values, "ticktext": [texts[value] for value in values]}
