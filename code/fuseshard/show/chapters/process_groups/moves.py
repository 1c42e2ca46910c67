"""What each rank holds before and after a collective, and what each one sends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fuseshard.show.chapters.process_groups.names import algorithm_word
from fuseshard.show.numbers import number
from fuseshard.show.records import Cell, Code, Column, Number, Table
from fuseshard.show.words import Text, plain, word

Held = Sequence[object]
"""what each rank holds, in rank order: numbers in a list, or None for nothing"""


def moves_table(name: str, before: Held, after: Mapping[str, Held]) -> Table:
    """Show what ranks hold before and after operations, a row an operation.

    Args:
        name: unique on its page.
        before: what each rank holds before every one of them.
        after: torch's name of the operation -> what each rank holds then.

    Raises:
        ValueError: an operation has another number of ranks.
    """
    uneven = [op for op, held in after.items() if len(held) != len(before)]
    if uneven:
        raise ValueError(
            f"moves_table: {uneven} have another number of ranks than the {len(before)} before, "
            "required is one value a rank (they stand in one row); return a value from each"
        )
    heads: list[Text] = [word("rank {rank}", rank=rank) for rank in range(len(before))]
    rows: list[tuple[Cell, ...]] = [(word("before"), *map(_held, before))]
    rows += [(Code(op), *map(_held, held)) for op, held in after.items()]
    return Table(
        name=name,
        caption=word(
            "What each of {ranks} ranks holds before and after each operation, as they returned "
            "it.",
            ranks=len(before),
        ),
        columns=(Column(word("Operation")), *(Column(head) for head in heads)),
        rows=tuple(rows),
    )


def sent_table(
    sent: Mapping[str, Sequence[int]], formulas: Mapping[str, float], payload_bytes: int
) -> Table:
    """Show the bytes that each rank sends in an all-reduce, their mean and the formula.

    Args:
        sent: algorithm -> bytes that each rank sent, in rank order.
        formulas: algorithm -> bytes that a rank sends in the mean, by the formula.
        payload_bytes: bytes of the tensor.
    """
    num_ranks = len(next(iter(sent.values())))
    heads: list[Text] = [word("rank {rank}", rank=rank) for rank in range(num_ranks)]
    rows: list[tuple[Cell, ...]] = [
        (
            algorithm_word(algorithm),
            *(Number(count, number(int(count))) for count in counts),
            *(_mean(value) for value in (sum(counts) / num_ranks, formulas[algorithm])),
        )
        for algorithm, counts in sent.items()
    ]
    return Table(
        name=f"sent-by-{num_ranks}",
        caption=word(
            "Bytes that each of {ranks} ranks sends in an all-reduce of {size} bytes, as counted.",
            ranks=num_ranks,
            size=payload_bytes,
        ),
        columns=(
            Column(word("All-reduce")),
            *(Column(head, unit="B", numeric=True) for head in heads),
            Column(word("Mean"), unit="B", numeric=True),
            Column(word("Formula"), unit="B", numeric=True),
        ),
        rows=tuple(rows),
    )


def _held(value: object) -> Text | Code:
    if value is None:
        return plain("—")
    values = value if isinstance(value, (list, tuple)) else [value]
    return Code(" ".join(str(one) for one in values))


def _mean(value: float) -> Number:
    return Number(value, number(int(value) if value == int(value) else value, 6))
