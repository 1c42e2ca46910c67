"""Put the rows of two machines into one table, a machine's name beside each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fuseshard.show.beside.names import Machines, both_texts
from fuseshard.show.numbers import number, unit_value
from fuseshard.show.records import Cell, Column, Number, Table
from fuseshard.show.words import Text, Word, word

Row = tuple[Cell, ...]


def joined_tables(first: Table, second: Table, machines: Machines) -> Table | None:
    """Show both machines' rows, the ones that belong together one below the other.

    Rows that read the same on both machines stand once. Columns whose unit was chosen by the
    values get the smaller of their two units.

    Args:
        first: of the main result.
        second: of the result beside it, drawn by the same function.
        machines: the names of the two.

    Returns:
        None where the columns differ, so that one head can't stand over both.
    """
    columns = [_shared_column(*pair) for pair in zip(first.columns, second.columns, strict=False)]
    if len(first.columns) != len(second.columns) or None in columns:
        return None
    heads = [column for column in columns if column is not None]
    rows, others = _converted(first, heads), _converted(second, heads)
    table = replace(
        first,
        caption=both_texts(first.caption, second.caption, machines),
        columns=tuple(heads),
        notes=tuple(dict.fromkeys([*first.notes, *second.notes])),
        second_origin=second.origin,
    )
    if rows == others:
        note = word("Every row reads the same on both machines.")
        return replace(table, rows=tuple(rows), notes=(*table.notes, note))
    at = 1 if first.row_header else 0  # the first column may name the row
    marked = [(*row[:at], who, *row[at:]) for row, who in _in_order(rows, others, machines)]
    machine = Column(word("Machine"))
    with_machine = (*heads[:at], machine, *heads[at:])
    return replace(table, columns=with_machine, rows=tuple(marked))


def _shared_column(first: Column, second: Column) -> Column | None:
    """The head that can stand over both columns, in the smaller of their units."""
    if first == second:
        return first
    units = [unit_value(column.unit or "") for column in (first, second)]
    if replace(first, unit=second.unit) != second or None in units:
        return None
    (kind, length), (other_kind, other_length) = (unit for unit in units if unit is not None)
    if kind != other_kind:
        return None
    return first if length < other_length else second


def _converted(table: Table, heads: Sequence[Column]) -> list[Row]:
    pairs = list(zip(table.columns, heads, strict=True))
    return [
        tuple(_cell(cell, *pair) for cell, pair in zip(row, pairs, strict=True))
        for row in table.rows
    ]


def _cell(cell: Cell, own: Column, head: Column) -> Cell:
    """The cell in its head's unit."""
    old, new = unit_value(own.unit or ""), unit_value(head.unit or "")
    if not isinstance(cell, Number) or own.unit == head.unit or old is None or new is None:
        return cell
    value = cell.number * old[1] / new[1]
    return Number(value, number(value))


def _in_order(
    rows: Sequence[Row], others: Sequence[Row], machines: Machines
) -> list[tuple[Row, Text]]:
    """Pair the rows where both tables name the same ones in the same order, else append."""
    named = [row[0] for row in rows] == [row[0] for row in others]
    if not named:
        blocks = zip((rows, others), machines, strict=True)
        return [(row, machine) for block, machine in blocks for row in block]
    ordered: list[tuple[Row, Text]] = []
    for row, other in zip(rows, others, strict=True):
        both: Word = word("both machines")
        same = [(row, both)]
        ordered += same if row == other else [(row, machines[0]), (other, machines[1])]
    return ordered
