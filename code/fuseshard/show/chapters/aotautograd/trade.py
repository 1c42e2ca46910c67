"""Points of memory and time, and what may be said of times: for both figures of budgets."""

from __future__ import annotations

from fuseshard.measure.records import Comparison, Timing
from fuseshard.palette import Mark
from fuseshard.show.charts.comparison import finding
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.numbers import duration, size
from fuseshard.show.words import Text, Word, word

MIB = 2.0**20
"""bytes; what the axes count in"""


def ratio_finding(comparison: Comparison, name: str, baseline: str) -> Word:
    """Say in a clause what one way's time is against another's.

    Args:
        comparison: of ways called "eager", "checkpoint" or by their budgets.
        name: which way.
        baseline: the comparison's first.

    Raises:
        ValueError: the times are compared with another way.
    """
    if name == baseline:
        return word("that is the same graph")
    timing = comparison[name]
    if comparison.baseline.name != baseline or timing.ratio is None:
        raise ValueError(
            f"ratio_finding: the times are compared with {comparison.baseline.name!r}, must be "
            f"with {baseline!r}; time that one first."
        )
    return finding(timing, timing.ratio, _in_sentence(baseline), _in_sentence(name))


def _in_sentence(name: str) -> Text:
    if name == "eager":
        return word("eager mode")
    if name == "checkpoint":
        return word("eager mode with checkpoints")
    return word("budget {budget}", budget=name)


def timed_point(
    drawing: FigureBuilder,
    label: Text,
    mark: Mark,
    *,
    num_bytes: int,
    timing: Timing,
    unit_s: float,
) -> None:
    """Draw a point, bytes across and time up, with the middle half of its rounds as a bar.

    Args:
        drawing: with both axes set.
        label: written beside the point.
        mark: colour and symbol.
        num_bytes: drawn in MiB.
        timing: drawn in units of `unit_s`.
        unit_s: seconds.
    """
    x, y = num_bytes / MIB, timing.median_s / unit_s
    bar = {
        "type": "data",
        "symmetric": False,
        "array": [timing.high_s / unit_s - y],
        "arrayminus": [y - timing.low_s / unit_s],
        "color": mark.light,
        "thickness": 2,
        "width": 5,
    }
    hover = [f"{size(num_bytes)}, {duration(timing.median_s)}"]
    drawing.points(label, [x], [y], mark, hover=hover, error_y=bar)
    drawing.note(x, y, label, xanchor="left", xshift=9, yshift=9)
