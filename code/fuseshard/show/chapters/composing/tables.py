"""Tables of the chapter on composing: layouts against one process, bytes by axis, orders."""

from __future__ import annotations

from collections.abc import Sequence

from fuseshard.distributed.layouts.records import OrderTrial, Outcome
from fuseshard.show.numbers import magnitude
from fuseshard.show.records import Cell, Column, Number, Table
from fuseshard.show.tables import MISSING, TableBuilder
from fuseshard.show.words import Text, Word, plain, word

_SPOILED = {
    "wrong axis": word("batch shared out along tp"),
    "summed": word("gradients summed"),
}
_CONTEXTS = {
    "alone": word("nothing else"),
    "ddp": word("DDP"),
    "fsdp": word("FSDP2"),
    "tp": word("tensor parallelism"),
    "pp": word("pipeline"),
    "checkpoint": word("checkpointing"),
    "everything": word("all but the pipeline"),
}
"""first word of an order's key -> what compiling is combined with"""


def outcome_table(outcomes: Sequence[Outcome], num_terms: int) -> Table:
    """Put each layout's loss and largest differences from one process, with the verdict.

    Args:
        outcomes: one a row.
        num_terms: so many epsilons are rounding.
    """
    dtypes = list(outcomes[0].in_epsilons)
    columns = [Column(word("Layout")), Column(word("Done wrong")), Column(word("Loss"), None, True)]
    for dtype in dtypes:
        columns += [
            Column(word("Loss apart, {dtype}", dtype=dtype), numeric=True),
            Column(word("Gradient apart, {dtype}", dtype=dtype), numeric=True),
            Column(plain(f"{dtype} (ε)"), numeric=True),
        ]
    rows = [_outcome_row(outcome, dtypes) for outcome in outcomes]
    return Table(
        name="layouts-of-" + str(outcomes[0].layout.world_size),
        caption=word(
            "One step under each layout: the loss, the largest differences from one process, also "
            "in epsilons (ε); up to {terms} ε in both dtypes are rounding.",
            terms=num_terms,
        ),
        columns=(*columns, Column(word("Verdict"))),
        rows=tuple(rows),
    )


def axis_table(outcomes: Sequence[Outcome]) -> Table:
    """Put the bytes counted along each axis beside the formulas.

    Args:
        outcomes: one row for each of their axes.
    """
    rows = [(outcome, axis) for outcome in outcomes for axis in outcome.axes]
    table = TableBuilder(
        "axis-bytes-of-" + str(outcomes[0].layout.world_size),
        word(
            "What a rank sends along each axis in one step, as the mean over the ranks, and in how "
            "many calls of rank 0."
        ),
    )
    table.texts(word("Layout"), [plain(outcome.layout.name) for outcome, _ in rows])
    table.code(word("Axis"), [axis.axis for _, axis in rows])
    table.counts(word("Calls"), [axis.num_calls for _, axis in rows])
    table.counts(word("Meter"), [round(axis.counted) for _, axis in rows], unit="B")
    table.counts(word("Formula"), [round(axis.formula) for _, axis in rows], unit="B")
    return table.build()


def outermost_table(outcome: Outcome) -> Table:
    """Show what would cross between two machines if an axis were the outermost.

    Args:
        outcome: a layout of 8 ranks whose axes all have two; a machine has four of them.

    Raises:
        ValueError: an axis has another degree.
    """
    if set(outcome.layout.degrees.values()) != {2}:
        raise ValueError(
            f"outermost_table: the layout is {outcome.layout.name}, required is one whose axes all "
            "have degree 2 (then the outermost alone crosses between two machines); pass such a one"
        )
    table = TableBuilder(
        "outermost-axis",
        word("What a rank sends to the other machine in one step, by the axis that is outermost."),
    )
    table.code(word("Outermost axis"), [axis.axis for axis in outcome.axes])
    table.counts(word("Sent"), [round(axis.counted) for axis in outcome.axes], unit="B")
    table.counts(word("Calls"), [axis.num_calls for axis in outcome.axes])
    waits: dict[str, Word] = {
        "tp": word("nothing: the next layer needs it at once"),
        "fsdp": word("other layers: gathered ahead, reduced behind"),
        "dp": word("earlier layers, on their way back"),
        "pp": word("other micro-batches"),
    }
    table.texts(word("What can go on meanwhile"), [waits[axis.axis] for axis in outcome.axes])
    return table.build()


def order_table(trials: Sequence[OrderTrial], num_operations: int) -> Table:
    """Show which orders of compiling and wrapping run, and in how many graphs.

    Args:
        trials: one a row.
        num_operations: operations that compiled graphs run where nothing else is around.
    """
    table = TableBuilder(
        f"orders-{len(trials)}",
        word(
            "Orders of compiling and wrapping: graphs in the first step, and operations that "
            "compiled graphs ran in the second; without anything around, {all} operations.",
            all=num_operations,
        ),
    )
    table.code(word("Order"), [trial.code for trial in trials])
    contexts = [_CONTEXTS[trial.name.split("_")[0]] for trial in trials]
    table.texts(word("Compiled with"), contexts)
    table.counts(word("Graphs"), [_ran(trial, trial.num_graphs) for trial in trials])
    table.counts(word("Operations"), [_ran(trial, trial.num_operations) for trial in trials])
    table.texts(word("With fullgraph=True"), [_verdict(trial) for trial in trials])
    return table.build()


def _outcome_row(outcome: Outcome, dtypes: Sequence[str]) -> tuple[Cell, ...]:
    spoiled: Text = _SPOILED[outcome.spoiled] if outcome.spoiled else MISSING
    row: list[Cell] = [plain(outcome.layout.name), spoiled]
    row.append(Number(outcome.loss, f"{outcome.loss:.6f}"))
    for dtype in dtypes:
        for value in (outcome.loss_apart, outcome.gradient_apart, outcome.in_epsilons):
            row.append(Number(value[dtype], magnitude(value[dtype])))
    return (*row, word("rounding") if outcome.is_rounding else word("bug"))


def _ran(trial: OrderTrial, count: int) -> int | None:
    return None if trial.refused else count


def _verdict(trial: OrderTrial) -> Text:
    if trial.refused:
        return word("fails in either case")
    return word("runs") if trial.is_fullgraph else word("raises an exception")
