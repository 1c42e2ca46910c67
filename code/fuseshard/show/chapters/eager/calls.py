"""Dispatcher calls: by hand beside PyTorch's, by operator, by part of a training step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fuseshard import palette
from fuseshard.compiler.eager.records import Part
from fuseshard.compiler.records import DispatchTrace
from fuseshard.show.charts.trace import INDENT, trace_table
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.numbers import number
from fuseshard.show.records import Figure, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import plain, word

Call = tuple[int, str, list[str]]
"""depth, operator, keys that it passed"""

FEW = 12
"""operators that a figure names"""


def linear_trace(trace: DispatchTrace) -> Table:
    """List the dispatcher calls of one linear layer."""
    caption = word("`linear(x, W, b)`: {n} dispatcher calls.", n=len(trace.calls))
    return trace_table("trace-linear", caption, trace)


def beside(ours: Sequence[Call], trace: DispatchTrace) -> Table:
    """Set the calls of the dispatcher by hand beside those of PyTorch's.

    Args:
        ours: in the order of the calls.
        trace: PyTorch's; of its calls only those as deep as ours are shown.
    """
    deepest = max(depth for depth, _, _ in ours)
    theirs = [call for call in trace.calls if call.depth <= deepest]
    table = TableBuilder("beside", word("The same call through two dispatchers."))
    table.code(word("By hand"), [INDENT * depth + op for depth, op, _ in ours])
    table.code(word("Keys, by hand"), [" → ".join(keys) for _, _, keys in ours])
    table.code(word("PyTorch"), [INDENT * call.depth + call.op for call in theirs])
    table.code(word("Layers, PyTorch"), [" → ".join(call.layers) for call in theirs])
    return table.build()


def operators_figure(trace: DispatchTrace) -> Figure:
    """Draw how often MiniGPT's forward pass calls which operator.

    Args:
        trace: of one forward pass.
    """
    counts = Counter(call.op for call in trace.calls)
    roles = {call.op: call.role for call in trace.calls}
    most = counts.most_common(FEW)
    rest = len(trace.calls) - sum(count for _, count in most)
    drawing = FigureBuilder("operators", height=110 + 30 * FEW)
    drawing.x_axis(word("dispatcher calls"), rangemode="tozero")
    drawing.rows([plain(op) for op, _ in most])
    kinds = (
        ("kernel", word("computes or allocates"), palette.EAGER),
        ("view", word("makes a view"), palette.IDLE),
        ("composite", word("only calls others"), palette.FORMULA),
    )
    for role, label, mark in kinds:
        own = [(op, count) for op, count in most if roles[op] == role]
        drawing.bars(
            label,
            [float(count) for _, count in own],
            [plain(op) for op, _ in own],
            mark,
            hover=[number(count) for _, count in own],
            orientation="h",
        )
    drawing.layout["barmode"] = "stack"
    views = sum(call.role == "view" for call in trace.calls)
    table = TableBuilder("operators-table", word("Calls of each operator, all of them."))
    table.code(word("Operator"), [op for op, _ in counts.most_common()])
    table.counts(word("Calls"), [count for _, count in counts.most_common()])
    return drawing.build(
        caption=word(
            "Of {n} dispatcher calls, {views} only make a view; the {few} most frequent operators "
            "are drawn, {rest} calls go to others.",
            n=len(trace.calls),
            views=views,
            few=FEW,
            rest=rest,
        ),
        alt=word(
            "Horizontal bars, one an operator; the longest belong to operators that move no data."
        ),
        table=table.build(),
    )


def step_table(parts: Sequence[Part]) -> Table:
    """Show the calls of a training step by part, and their sum."""
    labels = {
        "forward": word("forward pass and loss"),
        "backward": word("backward pass"),
        "optimizer": word("optimizer, AdamW"),
    }
    table = TableBuilder("step", word("Dispatcher calls of one training step of MiniGPT."))
    table.texts(
        word("Part of the step"), [*(labels[part.name] for part in parts), word("whole step")]
    )
    columns = (
        (word("From Python"), [part.from_python for part in parts]),
        (word("All calls"), [part.calls for part in parts]),
        (word("Kernels"), [part.kernels for part in parts]),
    )
    for title, values in columns:
        table.counts(title, [*values, sum(values)])
    sizes = [part.allocated_bytes for part in parts]
    table.sizes(word("Allocated"), [*sizes, sum(sizes)])
    return table.build(
        notes=[word("In the backward pass it is the autograd engine that calls, not Python.")]
    )
