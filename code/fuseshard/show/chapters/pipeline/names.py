"""How the chapter on pipelines calls schedules and what a rank does."""

from __future__ import annotations

from collections.abc import Sequence

from fuseshard import palette
from fuseshard.distributed.scheduling.records import Action
from fuseshard.palette import Mark
from fuseshard.show.words import Text, Word, plain, word

PRIME = "\u2032"
"""after a micro-batch's number for each stage of the rank before this one"""


def schedule_name(schedule: str) -> Text:
    """Name a schedule of `distributed.schedules`, or one of a reader's own.

    Args:
        schedule: as `simulate` calls it.
    """
    names: dict[str, Text] = {
        "naive": word("naive"),
        "gpipe": plain("GPipe"),
        "1f1b": plain("1F1B"),
        "interleaved_1f1b": plain("Interleaved 1F1B"),
        "looped_bfs": plain("Looped BFS"),
        "zb_h1": plain("ZB-H1"),
        "interleaved_zb": plain("Interleaved ZB"),
        "zbv": plain("ZBV"),
        "dualpipev": plain("DualPipeV"),
        "own": word("a schedule of one's own"),
    }
    return names.get(schedule, plain(schedule))


def activities() -> tuple[tuple[str, Word, Mark], ...]:
    """Return what a rank may be doing: kinds of action, its name, how it is drawn."""
    return (
        ("F", word("forward"), palette.FORWARD),
        ("BI", word("backward, or its input half"), palette.BACKWARD),
        ("W", word("weight half of a backward"), palette.WEIGHT),
        ("", word("waiting"), palette.IDLE),
    )


def bar_label(action: Action, stages: Sequence[int]) -> str:
    """Return what stands in an action's bar: its micro-batch, with a prime a stage further down.

    Args:
        action: what is done.
        stages: those of the same rank, in the order of the model.
    """
    return f"{action.micro_batch}{PRIME * stages.index(action.stage)}"
