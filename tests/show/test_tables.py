"""The table builder: units of columns, and columns that don't fit (pure data)."""

import pytest

from fuseshard.show.records import Code, Number
from fuseshard.show.tables import MISSING, TableBuilder
from fuseshard.show.words import plain, word


def test_each_column_has_one_unit_for_all_its_numbers():
    builder = TableBuilder("t", word("c"))
    builder.texts(word("Variant"), [plain("a"), plain("b")])
    builder.seconds(word("Median"), [0.5, 0.002])
    builder.sizes(word("Sent"), [3 * 2**20, 2**11])
    builder.numbers(word("Ratio"), [0.98765, 2])
    table = builder.build()
    assert [column.unit for column in table.columns] == [None, "ms", "KiB", None]
    assert [column.numeric for column in table.columns] == [False, True, True, True]
    assert [cell.text for cell in table.rows[0]] == ["a", "500", "3\u202f070", "0.988"]
    assert [cell.text for cell in table.rows[1]] == ["b", "2.00", "2.00", "2.00"]
    assert table.rows[0][2] == Number(3072.0, "3\u202f070")


def test_counts_are_exact_and_missing_numbers_are_dashes():
    builder = TableBuilder("t", word("c"))
    builder.code(plain("op"), ["aten::mm", "aten::add"])
    builder.counts(word("Bytes"), [123456, None], unit="B")
    builder.seconds(word("Median"), [None, 1.0])
    table = builder.build()
    assert table.rows[0] == (Code("aten::mm"), Number(123456, "123\u202f456"), MISSING)
    assert table.rows[1][1] == MISSING


def test_columns_of_different_lengths_are_refused():
    builder = TableBuilder("t", word("c"))
    builder.counts(word("Ranks"), [1, 2])
    builder.counts(word("Bytes"), [1])
    with pytest.raises(ValueError, match=r"columns have \[\('Ranks', 2\), \('Bytes', 1\)\] cells"):
        builder.build()


def test_columns_with_equal_heads_are_still_compared():
    builder = TableBuilder("t", word("c"))
    builder.counts(word("Bytes"), [1])
    builder.counts(word("Bytes"), [1, 2])
    with pytest.raises(ValueError, match="all of one length"):
        builder.build()


def test_a_table_without_columns_is_refused():
    with pytest.raises(ValueError, match="at least one column"):
        TableBuilder("t", word("c")).build()
