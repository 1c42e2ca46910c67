"""Schedules as text: one line a rank, actions in order, such as `0F0 0F1 0B0 0B1`.

An action is written as torch writes it: stage, kind (F, B, I or W), micro-batch. Where each rank
holds one stage, the stage may be left out: `F0` on rank 1 is `1F0`.
"""

import re

from fuseshard.distributed.scheduling.records import Action, Kind, Orders, ScheduleError

_ACTION = re.compile(r"([0-9]{0,9})([FBIW])([0-9]{1,9})")


def parse_orders(table: str) -> Orders:
    """Read each rank's order from a table of text.

    Args:
        table: a line a rank, from rank 0 on; blank lines and what follows a `#` don't count, nor
            do dots, which may stand for waiting.

    Raises:
        ScheduleError: there is no line, a line only waits, or something is no action.
    """
    if not isinstance(table, str):
        raise ScheduleError(
            f"read_schedule: the table is a {type(table).__name__}, required is text, one line a "
            "rank (orders that are made of actions need no reading); pass those to simulate_orders"
        )
    lines = [line.partition("#")[0].split() for line in table.splitlines()]
    rows = [[text for text in line if text.strip(".")] for line in lines if line]
    if any(rows) and not all(rows):
        raise ScheduleError(
            f"read_schedule: rank {rows.index([])} has only dots, required is an action (the ranks "
            "after it would move up, and their stages with them); give it one, or drop the line"
        )
    if not any(rows):
        raise ScheduleError(
            "read_schedule: the table has no line with an action, required is one line a rank, "
            "such as 'F0 F1 B0 B1' (without orders there is nothing to time); write one"
        )
    return tuple(tuple(_parse(text, rank) for text in row) for rank, row in enumerate(rows))


def format_orders(orders: Orders) -> str:
    """Write orders as `parse_orders` reads them, one line a rank.

    Args:
        orders: each rank's actions in order.
    """
    return "\n".join(" ".join(str(action) for action in order) for order in orders)


def _parse(text: str, rank: int) -> Action:
    match = _ACTION.fullmatch(text)
    if match is None:
        raise ScheduleError(
            f"read_schedule: rank {rank} has {text!r}, required is stage, kind and micro-batch, "
            "such as 0F2 (kinds are F, B, I, W; without a stage the rank's number is meant); "
            "correct it"
        )
    stage, kind, micro_batch = match.groups()
    letter: Kind = kind  # type: ignore[assignment]
    return Action(letter, int(stage or rank), int(micro_batch))
