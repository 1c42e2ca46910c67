"""Two machines' tables in one (pure data). Oracle: the cells that went in."""

from dataclasses import replace

from fuseshard.show.beside.tables import joined_tables
from fuseshard.show.html import cell_text
from fuseshard.show.records import Origin, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import plain, word

MACHINES = plain("H200"), plain("T4")


def make_table(seconds: dict[str, float], *, graphs: int = 1, note: str = "one") -> Table:
    """A table with a column whose unit the values choose, one that is counted, and one in words."""
    builder = TableBuilder("times", word("Times."))
    builder.texts(word("Way"), [plain(way) for way in seconds])
    builder.counts(word("Graphs"), [graphs for _ in seconds])
    builder.seconds(word("Median"), list(seconds.values()))
    origin = Origin(False, word("Recorded on {gpu}.", gpu=note))
    return builder.build(notes=[word("note {n}", n=note)], origin=origin)


def cells(table: Table) -> list[list[str]]:
    return [[cell_text(cell.to_json()) for cell in row] for row in table.rows]


def test_rows_that_belong_together_stand_together_in_the_smaller_unit() -> None:
    first = make_table({"eager": 2.5e-3, "compiled": 1e-3})
    second = make_table({"eager": 2e-4, "compiled": 7.5e-5}, note="two")
    joined = joined_tables(first, second, MACHINES)
    assert joined is not None
    assert [column.unit for column in joined.columns] == [None, None, None, "µs"]
    assert cells(joined) == [
        ["eager", "H200", "1", "2\u202f500"],
        ["eager", "T4", "1", "200"],
        ["compiled", "H200", "1", "1\u202f000"],
        ["compiled", "T4", "1", "75.0"],
    ]
    assert [str(note) for note in joined.notes] == ["note one", "note two"]
    assert (joined.origin, joined.second_origin) == (first.origin, second.origin)


def test_the_order_of_the_machines_is_that_of_the_arguments() -> None:
    """Or nobody would notice rows under the wrong name."""
    first, second = make_table({"eager": 2e-3}), make_table({"eager": 5e-3})
    there, back = (joined_tables(*pair, MACHINES) for pair in ((first, second), (second, first)))
    assert there is not None and back is not None
    assert cells(there) == [["eager", "H200", "1", "2.00"], ["eager", "T4", "1", "5.00"]]
    assert cells(back) != cells(there)


def test_tables_of_different_rows_follow_each_other() -> None:
    first = make_table({"eager": 2e-3, "compiled": 1e-3})
    joined = joined_tables(first, make_table({"eager": 4e-3}), MACHINES)
    assert joined is not None
    assert [row[:2] for row in cells(joined)] == [
        ["eager", "H200"],
        ["compiled", "H200"],
        ["eager", "T4"],
    ]


def test_a_row_that_reads_the_same_stands_once() -> None:
    first = make_table({"eager": 2e-3, "compiled": 1e-3})
    joined = joined_tables(first, make_table({"eager": 2e-3, "compiled": 3e-3}), MACHINES)
    assert joined is not None
    assert [row[1] for row in cells(joined)] == ["both machines", "H200", "T4"]


def test_equal_tables_stay_as_they_are_and_say_so() -> None:
    first, second = make_table({"eager": 2e-3}), make_table({"eager": 2e-3}, note="two")
    joined = joined_tables(first, second, MACHINES)
    assert joined is not None
    assert (joined.columns, joined.rows) == (first.columns, first.rows)
    assert "same on both machines" in str(joined.notes[-1])
    assert joined.second_origin == second.origin


def test_columns_that_differ_are_not_put_under_one_head() -> None:
    first, second = make_table({"eager": 2e-3}), make_table({"eager": 4e-3})
    assert joined_tables(first, second, MACHINES) is not None
    fewer = replace(second, columns=second.columns[:2], rows=tuple(r[:2] for r in second.rows))
    renamed = replace(second.columns[2], title=word("Mean"))
    in_bytes = replace(second.columns[2], unit="MiB")
    for other in (
        fewer,
        replace(second, columns=(*second.columns[:2], renamed)),
        replace(second, columns=(*second.columns[:2], in_bytes)),
    ):
        assert joined_tables(first, other, MACHINES) is None


def test_a_table_whose_rows_have_no_heads_begins_with_the_machine() -> None:
    first, second = (
        replace(make_table({"eager": seconds}), row_header=False) for seconds in (2e-3, 4e-3)
    )
    joined = joined_tables(first, second, MACHINES)
    assert joined is not None
    assert [row[0] for row in cells(joined)] == ["H200", "T4"]
