"""What the maps of the speed-up call their families, rows and columns."""

from __future__ import annotations

from fuseshard.compiler.ledger.records import Family
from fuseshard.show.numbers import number
from fuseshard.show.words import Plain, Text, Word, plain, word


def family_title(family: Family) -> Word:
    """Name a family of work."""
    return {
        "chain": word("Chains of elementwise operations"),
        "matmul": word("Elementwise operations after matrix products"),
        "breaks": word("Graph breaks in a chain of 32 operations"),
        "models": word("Small models"),
    }[family]


def columns_title(family: Family) -> Word:
    """Say what a map's columns count."""
    return {
        "chain": word("elements of the tensor"),
        "matmul": word("rows and columns of the matrices"),
        "breaks": word("elements of the tensor"),
        "models": word("batch"),
    }[family]


def rows_title(family: Family) -> Word:
    """Say what a map's rows count."""
    return word("graph breaks") if family == "breaks" else word("operations")


def row_label(family: Family, row: str) -> Text:
    """Name a row on its axis."""
    return _model(row) if family == "models" else plain(row)


def _model(row: str) -> Text:
    names: dict[str, Text] = {
        "mlp": plain("MLP"),
        "conv": word("conv net"),
        "gru": word("GRU in a loop"),
        "minigpt": plain("MiniGPT"),
        "minigpt-training": word("MiniGPT, training"),
    }
    return names[row]


def row_in_sentence(family: Family, row: str) -> Word | str:
    """Name a row in a sentence."""
    if family in ("chain", "matmul"):
        return word("{n} operations", n=row)
    if family == "breaks":
        return word("{n} breaks", n=row)
    named = _model(row)
    return str(named) if isinstance(named, Plain) else named


def column_in_sentence(family: Family, column: int) -> Word:
    """Name a column in a sentence."""
    size = number(column)
    if family == "matmul":
        return word("{n}×{n} matrices", n=size)
    if family == "models":
        return word("batch {n}", n=size)
    return word("{n} elements", n=size)
