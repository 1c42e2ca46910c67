"""Say how much reuse saves beside fusion, and how near our planners come to torch's."""

from __future__ import annotations

from collections.abc import Sequence

from fuseshard.compiler.planning.records import PlanCheck, ProgramUse
from fuseshard.show.records import Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, plain, word

KIB = 1024


def program_words() -> dict[str, Word]:
    """Name the programs of `compiler.planning.programs`."""
    return {
        "products": word("four products in a row"),
        "layers": word("the same with relu between them"),
        "blocks": word("two residual blocks, up and down"),
        "gated": word("two gated layers"),
        "attention": word("one attention head"),
        "pointwise": word("gelu written out"),
    }


def program_table(uses: Sequence[ProgramUse]) -> Table:
    """Show allocations and peaks of each program, from eager mode to pools."""
    names = program_words()
    caption = word("Allocations and peak memory of one call: what fusion saves, and what reuse.")
    table = TableBuilder("planning-programs", caption)
    table.texts(word("Program"), [names[use.name] for use in uses])
    table.counts(word("Allocations, eager"), [use.eager.allocations for use in uses])
    table.counts(word("fused, no reuse"), [use.fused.allocations for use in uses])
    table.counts(word("fused, default"), [use.default.allocations for use in uses])
    table.counts(word("with pools"), [use.pooled.allocations for use in uses])
    table.numbers(
        word("Peak, eager"), [_kib(use.eager.peak_bytes) for use in uses], "KiB", significant=4
    )
    table.numbers(
        word("Peak, no reuse"), [_kib(use.fused.peak_bytes) for use in uses], "KiB", significant=4
    )
    table.numbers(
        word("Peak, default"), [_kib(use.default.peak_bytes) for use in uses], "KiB", significant=4
    )
    table.numbers(
        word("Peak, pools"), [_kib(use.pooled.peak_bytes) for use in uses], "KiB", significant=4
    )
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
        word("the same") if check.by_hand == check.by_torch else plain(len(check.by_torch))
        for check in checks
    ]
    table.texts(word("by torch"), agreed)
    table.numbers(
        word("Packed by hand"), [_kib(c.packed_bytes) for c in checks], "KiB", significant=4
    )
    table.numbers(
        word("torch's pools"), [_kib(c.pooled_bytes) for c in checks], "KiB", significant=4
    )
    table.numbers(word("at least"), [_kib(c.bound_bytes) for c in checks], "KiB", significant=4)
    return table.build()


def outcome_table(rows: Sequence[tuple[str, int, float]]) -> Table:
    """Show what the module computes under a plan, against the module that reuses nothing.

    Args:
        rows: plan ("by hand" or "reckless"), buffers handed on, largest difference.
    """
    names = {
        "by hand": word("our plan: only the dead hand on"),
        "reckless": word("reckless: the gate's memory, while the gate is needed"),
    }
    table = TableBuilder("plan-outcomes", word("A plan, put into the text and run."))
    table.texts(word("Plan"), [names[name] for name, _, _ in rows])
    table.counts(word("Handed on"), [taken for _, taken, _ in rows])
    table.numbers(word("Largest difference"), [difference for _, _, difference in rows])
    return table.build()


def _kib(num_bytes: int) -> float:
    return num_bytes / KIB
