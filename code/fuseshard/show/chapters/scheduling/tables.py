"""Tables of what a scheduler decided: pairs, programs, settings, and how ours compares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fuseshard.compiler.scheduling.records import Access, Agreement, Exhibit, Schedule
from fuseshard.show.chapters.scheduling.terms import (
    relation_word,
    torch_reason,
    verdict_word,
)
from fuseshard.show.numbers import number
from fuseshard.show.records import Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, plain, word


def nodes_table(name: str, schedule: Schedule) -> Table:
    """List the nodes that the scheduler was given.

    Args:
        name: lower-case words joined by hyphens, unique on its page.
        schedule: of any program.
    """
    table = TableBuilder(name, word("What the scheduler is given: one node a row."))
    table.code(word("Node"), [node.name for node in schedule.nodes])
    table.code(word("ATen operators"), [", ".join(node.ops) for node in schedule.nodes])
    table.code(word("Loops"), [_sizes(node.ranges) for node in schedule.nodes])
    table.code(word("Reduced over"), [_sizes(node.reduced) for node in schedule.nodes])
    table.code(word("Reads"), [_buffers(node.reads) for node in schedule.nodes])
    table.code(word("Writes"), [_buffers(node.writes) for node in schedule.nodes])
    return table.build()


def pairs_table(name: str, schedule: Schedule) -> Table:
    """List every pair that the scheduler looked at.

    Args:
        name: lower-case words joined by hyphens, unique on its page.
        schedule: of any program.
    """
    seen = schedule.decisions
    table = TableBuilder(name, word("The pairs that the scheduler looked at, in its order."))
    if not seen:
        table.texts(word("Pair"), [word("no pair: nothing shares a buffer with another loop")])
        return table.build()
    table.code(word("Pair"), [f"{'+'.join(d.first)} & {'+'.join(d.second)}" for d in seen])
    table.texts(word("Relation"), [relation_word(decision) for decision in seen])
    table.counts(word("Shared"), [decision.score_bytes for decision in seen], unit="B")
    table.texts(word("Verdict"), [verdict_word(decision) for decision in seen])
    table.texts(word("torch's reason"), [torch_reason(decision) for decision in seen])
    return table.build()


def programs_table(exhibits: Mapping[str, Exhibit]) -> Table:
    """Sum the gallery up, one program a row.

    Args:
        exhibits: from `compiler.scheduling.programs`.
    """
    schedules = [exhibit.schedule for exhibit in exhibits.values()]
    table = TableBuilder(
        "fusion-programs",
        word(
            "The gallery: nodes with loops, groups of them, nests and functions written, traffic."
        ),
    )
    table.code(word("Program"), list(exhibits))
    table.counts(word("Nodes"), [_num_with_loops(s) for s in schedules])
    table.counts(word("Groups"), [s.num_loops for s in schedules])
    table.counts(word("Nests"), [s.num_nests for s in schedules])
    table.counts(word("Functions"), [s.num_functions for s in schedules])
    before, after = ([n / 2**20 for n in column] for column in _traffic(schedules))
    table.numbers(word("Unfused"), before, unit="MiB")
    table.numbers(word("Fused"), after, unit="MiB")
    return table.build()


def agreement_table(agreements: Sequence[Agreement], names: Sequence[str]) -> Table:
    """Say how often scheduling by hand gives Inductor's groups, and where it doesn't.

    Args:
        agreements: from `compiler.scheduling.programs`.
        names: of the programs, in the same order.
    """
    rules: dict[str, Word] = {
        "all": word("all rules"),
        "cycles": word("without the one against cycles"),
        "ranges": word("without comparing loops"),
    }
    table = TableBuilder("fusion-agreement", word("Groups by hand against Inductor's."))
    table.texts(word("Scheduler by hand"), [rules[agreement.rules] for agreement in agreements])
    table.texts(
        word("Equal groups"),
        [
            word("{equal} of {all}", equal=number(sum(a.equal)), all=number(len(a.equal)))
            for a in agreements
        ],
    )
    table.code(word("Other groups in"), [_others(agreement, names) for agreement in agreements])
    return table.build()


def settings_table(tried: Mapping[str, Schedule]) -> Table:
    """Show what two settings do to the chain of twelve operations.

    Args:
        tried: from `compiler.scheduling.worth`.
    """
    both = "realize_opcount_threshold=0, max_fusion_size=1"
    labels: dict[str, Text] = {
        "default": word("defaults"),
        "max_fusion_size": plain("max_fusion_size=1"),
        "realize_opcount_threshold": plain("realize_opcount_threshold=0"),
        "both": plain(both),
    }
    table = TableBuilder("fusion-settings", word("Twelve operations under Inductor's settings."))
    table.texts(word("Setting"), [labels[name] for name in tried])
    table.counts(word("Nodes"), [len(s.nodes) for s in tried.values()])
    table.counts(word("Loop nests written"), [s.num_nests for s in tried.values()])
    table.sizes(word("Traffic"), [s.bytes_after for s in tried.values()])
    return table.build()


def _traffic(schedules: Sequence[Schedule]) -> tuple[list[int], list[int]]:
    return [s.bytes_before for s in schedules], [s.bytes_after for s in schedules]


def _sizes(sizes: Sequence[int]) -> str:
    return "×".join(str(size) for size in sizes) or "—"


def _buffers(accesses: Sequence[Access]) -> str:
    return ", ".join(dict.fromkeys(access.buffer for access in accesses))


def _num_with_loops(schedule: Schedule) -> int:
    return sum(node.kind in ("pointwise", "reduction") for node in schedule.nodes)


def _others(agreement: Agreement, names: Sequence[str]) -> str:
    others = [name for name, equal in zip(names, agreement.equal, strict=True) if not equal]
    return ", ".join(others) or "—"
