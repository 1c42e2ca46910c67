"""Build tables column by column: each column knows its unit and how it prints numbers.

table = TableBuilder("sizes", word("Sent bytes grow with the group."))
table.texts(word("Kind"), [word("by hand"), word("by DDP")])
table.seconds(word("Median"), [0.0012, 0.0031])      # heading "Median (ms)"
table.counts(word("Sent"), [1024, 2048], unit="B")   # exact integers
table.build(notes=[word("One thread.")])
"""

from __future__ import annotations

from collections.abc import Sequence

from fuseshard.show.numbers import SIGNIFICANT, number, size_unit, time_unit
from fuseshard.show.records import Cell, Code, Column, Number, Origin, Table
from fuseshard.show.words import Plain, Text, Word

MISSING = Plain("—")
"""stands where a number is None: there is nothing to print"""


class TableBuilder:
    """Collects columns of equal length; the first one names the rows."""

    def __init__(self, name: str, caption: Word) -> None:
        """Start a table without columns.

        Args:
            name: lower-case words joined by hyphens, unique on its page.
            caption: states what the table shows.
        """
        self._name = name
        self._caption = caption
        self._columns: list[tuple[Column, list[Cell]]] = []

    def texts(self, title: Text, cells: Sequence[Text]) -> None:
        """Add a column of words or plain texts."""
        self._add(Column(title), list(cells))

    def code(self, title: Text, cells: Sequence[str]) -> None:
        """Add a column of code: operators, flags, expressions."""
        self._add(Column(title, code=True), [Code(cell) for cell in cells])

    def counts(self, title: Text, values: Sequence[int | None], unit: str | None = None) -> None:
        """Add a column of integers, printed with all their digits.

        Args:
            title: head of the column.
            values: one a row; None where there is none.
            unit: symbol shown in the head, e.g. "B".
        """
        self._numbers(title, [None if v is None else int(v) for v in values], unit, SIGNIFICANT)

    def numbers(
        self,
        title: Text,
        values: Sequence[float | None],
        unit: str | None = None,
        *,
        significant: int = SIGNIFICANT,
    ) -> None:
        """Add a column of measured or computed numbers, rounded to significant digits.

        Args:
            title: head of the column.
            values: one a row, in `unit`; None where there is none.
            unit: symbol shown in the head; None for a pure number.
            significant: digits kept.
        """
        floats = [None if value is None else float(value) for value in values]
        self._numbers(title, floats, unit, significant)

    def seconds(
        self, title: Text, seconds: Sequence[float | None], *, significant: int = SIGNIFICANT
    ) -> None:
        """Add a column of times in the unit that suits them all (s, ms, µs, ns).

        Args:
            title: head of the column, without a unit.
            seconds: one a row; None where there is none.
            significant: digits kept.
        """
        symbol, length = time_unit(s for s in seconds if s is not None)
        scaled = [None if s is None else s / length for s in seconds]
        self.numbers(title, scaled, symbol, significant=significant)

    def sizes(
        self, title: Text, num_bytes: Sequence[float | None], *, significant: int = SIGNIFICANT
    ) -> None:
        """Add a column of sizes in the unit that suits them all (B, KiB, MiB, GiB).

        For bytes that a formula must match to the last one, use `counts` with unit="B".

        Args:
            title: head of the column, without a unit.
            num_bytes: one a row; None where there is none.
            significant: digits kept.
        """
        symbol, length = size_unit(n for n in num_bytes if n is not None)
        scaled = [None if n is None else n / length for n in num_bytes]
        self.numbers(title, scaled, symbol, significant=significant)

    def build(
        self,
        *,
        notes: Sequence[Word] = (),
        origin: Origin | None = None,
        row_header: bool = True,
    ) -> Table:
        """Return the table.

        Args:
            notes: small print below the table.
            origin: where the numbers come from.
            row_header: whether the first column names the rows.

        Raises:
            ValueError: there is no column, or their lengths differ.
        """
        lengths = [(str(column.title), len(cells)) for column, cells in self._columns]
        if len({length for _, length in lengths}) != 1:
            raise ValueError(
                f"table {self._name!r}: columns have {lengths} cells, must be at least one column "
                "and all of one length (a row takes a cell of each); add what is missing"
            )
        rows = zip(*(cells for _, cells in self._columns), strict=True)
        return Table(
            name=self._name,
            caption=self._caption,
            columns=tuple(column for column, _ in self._columns),
            rows=tuple(tuple(row) for row in rows),
            row_header=row_header,
            notes=tuple(notes),
            origin=origin,
        )

    def _numbers(
        self, title: Text, values: Sequence[float | None], unit: str | None, significant: int
    ) -> None:
        cells: list[Cell] = [
            MISSING if value is None else Number(value, number(value, significant))
            for value in values
        ]
        self._add(Column(title, unit, numeric=True), cells)

    def _add(self, column: Column, cells: list[Cell]) -> None:
        self._columns.append((column, cells))
