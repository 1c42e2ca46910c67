"""A dispatcher trace as a table, indented by who called whom."""

from __future__ import annotations

from fuseshard.compiler.records import DispatchCall, DispatchTrace, Role
from fuseshard.show.records import Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Word, word

INDENT = "\u00a0" * 2  # no line may break inside it


def trace_table(name: str, caption: Word, trace: DispatchTrace) -> Table:
    """List dispatcher calls with their role, layers, results and bytes.

    Args:
        name: lower-case words joined by hyphens, unique on its page.
        caption: what was traced.
        trace: from `compiler.dispatch.trace`.
    """
    calls = trace.calls
    table = TableBuilder(name, caption)
    table.code(word("Operator"), [INDENT * call.depth + call.op for call in calls])
    table.texts(word("Role"), [role_word(call.role) for call in calls])
    table.code(word("Layers"), [_layers(call) for call in calls])
    table.code(word("Result"), [_shapes(call) for call in calls])
    table.counts(word("Allocated"), [call.allocated_bytes or None for call in calls], unit="B")
    return table.build(
        notes=[
            word("An operator was called by the nearest one above it that stands further left."),
            word("A composite operator only calls others; a view is old memory in a new shape."),
        ]
    )


def role_word(role: Role) -> Word:
    """Name what an operator does for its caller."""
    return {"composite": word("composite"), "view": word("view"), "kernel": word("kernel")}[role]


def _layers(call: DispatchCall) -> str:
    return " → ".join(call.layers)


def _shapes(call: DispatchCall) -> str:
    return ", ".join("×".join(map(str, shape)) or "1" for shape in call.output_shapes)
