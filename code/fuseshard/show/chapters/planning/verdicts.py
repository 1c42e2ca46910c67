"""Say how much reuse saves beside fusion, and how near our planners come to torch's."""

from __future__ import annotations

from collections.abc import Sequence

from fuseshard.compiler.planning.records import Outcome, PlanCheck, ProgramUse
from fuseshard.show.choices import Choice, choose
from fuseshard.show.records import Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, plain, word

KIB = 1024


def program_words() -> dict[str, Text]:
    """Name the programs of `compiler.planning.programs`."""
    return {
        "products": word("four products"),
        "layers": word("layers with relu"),
        "blocks": word("residual blocks"),
        "gated": word("gated layers"),
        "attention": word("attention head"),
        "pointwise": plain("gelu"),
    }


def program_chooser(uses: Sequence[ProgramUse]) -> Choice:
    """Show allocations, or peaks, of each program, from eager mode to pools."""
    options = [
        (word("allocations"), _allocation_table(uses)),
        (word("peak memory"), _peak_table(uses)),
    ]
    return choose("planning-programs", word("Show"), options)


def _allocation_table(uses: Sequence[ProgramUse]) -> Table:
    names = program_words()
    caption = word("Allocations of one call: what fusion saves, and what reuse.")
    table = TableBuilder("planning-allocations", caption)
    table.texts(word("Program"), [names[use.name] for use in uses])
    table.counts(word("eager"), [use.eager.allocations for use in uses])
    table.counts(word("fused, no reuse"), [use.fused.allocations for use in uses])
    table.counts(word("only handing on"), [use.handed.allocations for use in uses])
    table.counts(word("default"), [use.default.allocations for use in uses])
    table.counts(word("with pools"), [use.pooled.allocations for use in uses])
    return table.build()


def _peak_table(uses: Sequence[ProgramUse]) -> Table:
    names = program_words()
    caption = word("Peak memory of one call: what fusion saves, and what reuse.")
    table = TableBuilder("planning-peaks", caption)
    table.texts(word("Program"), [names[use.name] for use in uses])
    _sizes(table, word("eager"), [use.eager.peak_bytes for use in uses])
    _sizes(table, word("fused, no reuse"), [use.fused.peak_bytes for use in uses])
    _sizes(table, word("only handing on"), [use.handed.peak_bytes for use in uses])
    _sizes(table, word("default"), [use.default.peak_bytes for use in uses])
    _sizes(table, word("with pools"), [use.pooled.peak_bytes for use in uses])
    return table.build()


def saving_finding(uses: Sequence[ProgramUse]) -> Word:
    """Say in a clause how many allocations fusion saves in all, and how many reuse."""
    eager = sum(use.eager.allocations for use in uses)
    fused = sum(use.fused.allocations for use in uses)
    default = sum(use.default.allocations for use in uses)
    return word(
        "of {eager} allocations in eager mode, fusion saves {by_fusion} and reuse another "
        "{by_reuse}",
        eager=eager,
        by_fusion=eager - fused,
        by_reuse=fused - default,
    )


def plan_table(checks: Sequence[PlanCheck]) -> Table:
    """Show both planners of the page beside torch's decisions."""
    names = program_words()
    caption = word("Planned by hand and by torch, kernels in place switched off.")
    table = TableBuilder("planning-by-hand", caption)
    table.texts(word("Program"), [names[check.name] for check in checks])
    table.counts(word("Buffers"), [check.buffers for check in checks])
    table.counts(word("Handed on by hand"), [len(check.by_hand) for check in checks])
    agreed: list[Text] = [
        word("same") if check.by_hand == check.by_torch else plain(len(check.by_torch))
        for check in checks
    ]
    table.texts(word("by torch"), agreed)
    _sizes(table, word("Packed by hand"), [check.packed_bytes for check in checks])
    _sizes(table, word("torch's pools"), [check.pooled_bytes for check in checks])
    _sizes(table, word("at least"), [check.bound_bytes for check in checks])
    return table.build()


def outcome_table(outcomes: Sequence[Outcome]) -> Table:
    """Show what the module computes under a plan, against the module that reuses nothing.

    Args:
        outcomes: of the plans "by hand" and "reckless".
    """
    names = {
        "by hand": word("ours: only the dead hand on"),
        "reckless": word("reckless: the gate is overwritten"),
    }
    table = TableBuilder("plan-outcomes", word("A plan, put into the text and run."))
    table.texts(word("Plan"), [names[one.plan] for one in outcomes])
    table.counts(word("Handed on"), [one.handed_on for one in outcomes])
    table.numbers(word("Largest difference"), [one.difference for one in outcomes])
    return table.build()


def _sizes(table: TableBuilder, title: Word, num_bytes: Sequence[int]) -> None:
    table.numbers(title, [size / KIB for size in num_bytes], "KiB", significant=4)
