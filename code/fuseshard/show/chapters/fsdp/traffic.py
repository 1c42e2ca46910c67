"""Put the bytes that a rank sends beside the formula, with and without resharding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fuseshard.show.chapters.fsdp.ways import reshard_name, way_name
from fuseshard.show.records import Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import plain, word

_ALL_DIGITS = 12  # more than any count of bytes here has


class Sent(NamedTuple):
    """What one rank sent in a step."""

    variant: str
    """way to train"""
    world_size: int
    """ranks"""
    reshard: bool | None
    """`reshard_after_forward`, where the way has it"""
    metered: float
    """bytes, by the meter"""
    formula: float
    """bytes, by the formula"""


def traffic_table(rows: Sequence[Sent], parameter_bytes: int) -> Table:
    """Print bytes by meter and formula, and in units of what one all-gather sends.

    Args:
        rows: one a run.
        parameter_bytes: of the whole model.
    """
    table = TableBuilder(
        "traffic",
        word(
            "Bytes that one rank sends in a step, by the meter and by the formula, and how many "
            "times (N - 1)/N of the parameters that is."
        ),
    )
    has_choice = ("zero3", "fully_shard")
    table.texts(word("Way"), [way_name(row.variant) for row in rows])
    table.counts(word("Ranks"), [row.world_size for row in rows])
    table.texts(
        plain("reshard_after_forward"),
        [reshard_name(row.reshard) if row.variant in has_choice else plain("") for row in rows],
    )
    for title, values in (
        (word("Meter"), [row.metered for row in rows]),
        (word("Formula"), [row.formula for row in rows]),
    ):
        if all(float(value).is_integer() for value in values):
            table.counts(title, [int(value) for value in values], unit="B")
        else:
            table.numbers(title, values, "B", significant=_ALL_DIGITS)
    once = [parameter_bytes * (row.world_size - 1) / row.world_size for row in rows]
    times = [row.metered / unit for row, unit in zip(rows, once, strict=True)]
    table.numbers(word("Times"), times, significant=4)
    return table.build()
