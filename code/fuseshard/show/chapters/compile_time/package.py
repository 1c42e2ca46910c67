"""Show what three forms of one model say of an input that they were not made for."""

from __future__ import annotations

from fuseshard.compiler.caches.records import PackageReport
from fuseshard.show.cards import origin_line
from fuseshard.show.records import Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, plain, word


def shapes_table(report: PackageReport) -> Table:
    """Show what each form does with more rows than it was made for.

    Args:
        report: from `compiler.caches.package`.
    """
    rows: list[tuple[Text, Text]] = [
        (word("exported program"), plain(report.exported)),
        (plain("AOTI_RUNTIME_CHECK_INPUTS=1"), plain(report.checked)),
        (word("package as it is"), _unchecked(report)),
    ]
    caption = word(
        "A model made for {made} rows, called with {given}.",
        made=report.num_rows,
        given=report.other_rows,
    )
    table = TableBuilder("other-shape", caption)
    table.texts(word("Form"), [form for form, _ in rows])
    table.texts(word("Answer"), [answer for _, answer in rows])
    return table.build(origin=origin_line(report.origin))


def _unchecked(report: PackageReport) -> Word:
    return word(
        "returns {rows} rows without a word; {right} of them are right",
        rows=report.returned_rows,
        right=report.right_rows,
    )
