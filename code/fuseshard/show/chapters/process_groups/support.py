"""Which collectives a backend runs, from trials: equal rows and equal columns put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fuseshard.distributed.network.records import SupportTrial
from fuseshard.show.records import Cell, Code, Column, Table
from fuseshard.show.words import Word, plain, word

Operation = tuple[str, str]
"""collective, reduce operation or ''"""
Row = tuple[bool, ...]


def support_table(trials: Sequence[SupportTrial]) -> Table:
    """Show which operations work with which dtypes; refusals carry the number of their reason.

    Args:
        trials: every operation with every dtype, as `collective_support` returns them.

    Raises:
        ValueError: a trial is missing, or something ran with another result.
    """
    by_key = {(t.collective, t.reduce_op, t.dtype): t for t in trials}
    operations = list(dict.fromkeys((t.collective, t.reduce_op) for t in trials))
    dtypes = list(dict.fromkeys(t.dtype for t in trials))
    wrong = [trial for trial in trials if trial.outcome == "wrong"]
    if wrong or len(by_key) != len(operations) * len(dtypes):
        raise ValueError(
            f"support_table: {len(by_key)} trials of {len(operations)} operations and "
            f"{len(dtypes)} dtypes, of which {len(wrong)} gave another result; required are all "
            f"pairs and none (the table says yes or no); first wrong: {wrong[:1]}"
        )
    columns = _equal_columns(by_key, operations, dtypes)
    firsts = [names[0] for names in columns]
    rows: list[tuple[Cell, ...]] = []
    reasons: dict[str, int] = {}
    for reduce_ops, collectives in _equal_rows(by_key, operations, firsts):
        cells = [_cell(by_key[collectives[0], reduce_ops[0], dtype], reasons) for dtype in firsts]
        named = plain("—") if reduce_ops == [""] else Code(", ".join(reduce_ops))
        rows.append((Code(", ".join(collectives)), named, *cells))
    return Table(
        name="gloo-support",
        caption=word(
            "What gloo runs with the right result on every rank, of {trials} trials; a number is "
            "that of the reason below.",
            trials=len(trials),
        ),
        columns=(
            Column(word("Collective"), code=True),
            Column(word("Reduces by")),
            *(Column(plain(", ".join(names))) for names in columns),
        ),
        rows=tuple(rows),
        notes=tuple(
            word("{index}: {reason}", index=index, reason=reason)
            for reason, index in reasons.items()
        ),
    )


def _cell(trial: SupportTrial, reasons: dict[str, int]) -> Word:
    if trial.outcome == "works":
        return word("yes")
    return word("no ({index})", index=reasons.setdefault(trial.reason, len(reasons) + 1))


def _equal_columns(
    by_key: Mapping[tuple[str, str, str], SupportTrial],
    operations: Sequence[Operation],
    dtypes: Sequence[str],
) -> list[list[str]]:
    """Group dtypes with which everything ends alike, in the order of their first."""
    groups: dict[Row, list[str]] = {}
    for dtype in dtypes:
        works = tuple(by_key[(*op, dtype)].outcome == "works" for op in operations)
        groups.setdefault(works, []).append(dtype)
    return list(groups.values())


def _equal_rows(
    by_key: Mapping[tuple[str, str, str], SupportTrial],
    operations: Sequence[Operation],
    dtypes: Sequence[str],
) -> list[tuple[list[str], list[str]]]:
    """Group operations that end alike: (reduce operations, collectives) of each row."""
    alike: dict[tuple[str, Row], list[str]] = {}
    for collective, reduce_op in operations:
        works = tuple(by_key[collective, reduce_op, d].outcome == "works" for d in dtypes)
        alike.setdefault((reduce_op, works), []).append(collective)
    rows: dict[tuple[tuple[str, ...], Row], list[str]] = {}
    for (reduce_op, works), collectives in alike.items():
        key = tuple(collectives), works
        # Moving and reducing stay apart: a cell names either operations or none.
        rows.setdefault((key[0], key[1]), []).append(reduce_op)
    return [(reduce_ops, list(collectives)) for (collectives, _), reduce_ops in rows.items()]
