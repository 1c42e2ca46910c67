"""Draw how far compiled training strays from eager training, and how far a wrong one does."""

from __future__ import annotations

from collections.abc import Mapping

from fuseshard import palette
from fuseshard.compiler.training.records import Trajectories
from fuseshard.palette import Mark
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.numbers import magnitude
from fuseshard.show.records import Figure, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, plain, word

SMALLEST_DRAWN = 1e-9
"""a logarithmic axis has no place for a difference of 0"""

_WRONG = Mark(*palette.INK, "dot", "star", "x")


def drift_figure(runs: Trajectories, left_out: int) -> Figure:
    """Draw each run's distance from the float64 run, step by step.

    Args:
        runs: from `compiler.training.trajectory`.
        left_out: index of the step that the wrong run leaves out.
    """
    steps = list(range(1, len(runs.double) + 1))
    drawing = FigureBuilder("loss-drift")
    drawing.x_axis(word("training step"))
    lines: dict[str, tuple[Text, Mark, tuple[float, ...]]] = {
        "eager": (word("eager"), palette.EAGER, runs.eager),
        "compiled": (word("compiled"), palette.COMPILED, runs.compiled),
        "wrong": (word("eager, one update left out"), _WRONG, runs.step_left_out),
    }
    drawn = {
        name: [max(drift, SMALLEST_DRAWN) for drift in runs.drift(series)]
        for name, (_, _, series) in lines.items()
    }
    everything = [value for series in drawn.values() for value in series]
    drawing.log_axis("y", word("distance of the loss"), everything, lambda y: magnitude(y, 1))
    for name, (label, mark, _) in lines.items():
        drawing.line(label, steps, drawn[name], mark, show=magnitude)
    names = {
        "eager": magnitude(runs.largest_drift(runs.eager)),
        "compiled": magnitude(runs.largest_drift(runs.compiled)),
        "wrong": magnitude(runs.largest_drift(runs.step_left_out)),
    }
    return drawing.build(
        caption=word(
            "Distance of each step's loss from a training in float64. Compiled, it is at most "
            "{compiled}, eager at most {eager}; with the update of step {step} left out it reaches "
            "{wrong}.",
            step=left_out + 1,
            **names,
        ),
        alt=word(
            "Three lines on a logarithmic axis over the steps. Eager and compiled stay together "
            "at the bottom, up to {eager} and {compiled}; the third leaves them after step {step} "
            "and rises to {wrong}.",
            step=left_out + 1,
            **names,
        ),
        table=_table(runs),
    )


def bias_table(differences: Mapping[str, float]) -> Table:
    """Show how far apart the biases of attention are after two trainings.

    Args:
        differences: "query", "key" and "value" -> largest absolute difference.
    """
    labels = {"query": word("query"), "key": word("key"), "value": word("value")}
    table = TableBuilder(
        "bias-differences", word("Attention's biases, compiled training against eager training.")
    )
    table.texts(word("Bias"), [labels[name] for name in differences])
    table.texts(word("Largest difference"), [plain(magnitude(d)) for d in differences.values()])
    return table.build()


def _table(runs: Trajectories) -> Table:
    table = TableBuilder("loss-drift-table", word("Losses in float64, and distances from them."))
    table.counts(word("Step"), list(range(1, len(runs.double) + 1)))
    table.numbers(word("Loss in float64"), list(runs.double))
    columns = {
        "eager": (word("eager"), runs.eager),
        "compiled": (word("compiled"), runs.compiled),
        "wrong": (word("one update left out"), runs.step_left_out),
    }
    for title, series in columns.values():
        table.texts(title, [plain(magnitude(drift)) for drift in runs.drift(series)])
    return table.build()
