"""Tables of the chapter on pipelines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from fuseshard.distributed.scheduling.records import Timeline
from fuseshard.show.chapters.pipeline.names import schedule_name
from fuseshard.show.numbers import magnitude
from fuseshard.show.records import Cell, Column, Number, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, plain, word


class Difference(Protocol):
    """What is read of `distributed.equivalence.Difference`."""

    @property
    def absolute(self) -> float: ...
    @property
    def in_epsilons(self) -> float: ...
    def is_rounding(self, num_terms: int) -> bool: ...


@dataclass(frozen=True)
class SentBytes:
    """Bytes that one rank sent in one step, counted three times."""

    schedule: str
    """name of the schedule"""
    ranks: int
    """ranks in the pipeline"""
    rank: int
    """who sent"""
    messages: int
    """activations and gradients, by the simulator"""
    formula: int
    """bytes; messages times the size of one"""
    metered: float
    """bytes, by the meter"""
    wire: int
    """bytes, by the operating system"""


def schedules_table(timelines: Sequence[Timeline], *, name: str = "schedules") -> Table:
    """Set schedules beside each other: bubble on three bases, memory, messages.

    Args:
        timelines: simulated steps with the same work on each rank.
        name: unique on its page.
    """
    table = TableBuilder(
        name,
        word(
            "Each schedule: bubble as a share of the ideal time, of the whole step, and between "
            "the first and last action of a rank; most micro-batches held, and most messages sent "
            "by one rank."
        ),
    )
    table.texts(word("Schedule"), [schedule_name(t.schedule) for t in timelines])
    table.counts(word("Stages a rank"), [t.chunks for t in timelines])
    bubbles: list[tuple[Word, list[float]]] = [
        (word("Over ideal"), [t.bubble_over_ideal for t in timelines]),
        (word("Over total"), [t.bubble_over_total for t in timelines]),
        (word("Within a rank"), [t.bubble_in_span for t in timelines]),
    ]
    for title, shares in bubbles:
        table.numbers(title, [round(100 * share, 6) for share in shares], "%")
    table.numbers(word("Held"), [max(t.peak_activations) for t in timelines])
    table.counts(word("Messages"), [max(t.messages) for t in timelines])
    return table.build()


def differences_table(
    differences: Mapping[str, Mapping[str, Difference]],
    *,
    num_terms: int,
    name: str = "pipeline-differences",
) -> Table:
    """Judge each schedule's largest difference from one process: rounding or bug.

    Args:
        differences: schedule -> who ran it ("by hand", "library", ...) -> largest difference; not
            every runner needs to have run every schedule.
        num_terms: so many epsilons are rounding.
        name: unique on its page.
    """
    runners = list(dict.fromkeys(who for found in differences.values() for who in found))
    heads: dict[str, Text] = {"by hand": word("By hand (ε)"), "library": word("torch (ε)")}
    rows: list[tuple[Cell, ...]] = []
    for schedule, found in differences.items():
        numbers = [_epsilons(found.get(who)) for who in runners]
        is_rounding = all(difference.is_rounding(num_terms) for difference in found.values())
        verdict = word("rounding") if is_rounding else word("bug")
        rows.append((schedule_name(schedule), *numbers, verdict))
    return Table(
        name=name,
        caption=word(
            "Largest difference of a gradient from that of one process, in epsilons (ε); up to "
            "{terms} ε are rounding.",
            terms=num_terms,
        ),
        columns=(
            Column(word("Schedule")),
            *(Column(heads.get(who, plain(who)), numeric=True) for who in runners),
            Column(word("Verdict")),
        ),
        rows=tuple(rows),
    )


def _epsilons(difference: Difference | None) -> Cell:
    if difference is None:
        return plain("–")
    return Number(difference.in_epsilons, magnitude(difference.in_epsilons))


def bytes_table(rows: Sequence[SentBytes]) -> Table:
    """Put counted bytes beside the formula.

    Args:
        rows: one a schedule and rank.
    """
    table = TableBuilder(
        "pipeline-bytes",
        word(
            "Bytes that one rank sends in a step: by the formula, by the meter and by the "
            "operating system, whose excess is shown for each message."
        ),
    )
    table.texts(word("Schedule"), [schedule_name(row.schedule) for row in rows])
    table.counts(word("Ranks"), [row.ranks for row in rows])
    table.counts(word("Rank"), [row.rank for row in rows])
    table.counts(word("Messages"), [row.messages for row in rows])
    table.counts(word("Formula"), [row.formula for row in rows], unit="B")
    table.counts(word("Meter"), [int(row.metered) for row in rows], unit="B")
    table.counts(word("System"), [row.wire for row in rows], unit="B")
    excess = [(row.wire - row.formula) / row.messages for row in rows]
    table.numbers(word("Excess a message"), excess, "B")
    return table.build()
