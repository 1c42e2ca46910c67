"""Ranked layouts as a table, and what binds the best of them in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from fuseshard.distributed.planner import Survey
from fuseshard.distributed.planning.records import Cluster, Layout
from fuseshard.show.numbers import number
from fuseshard.show.planner.words import LIMITS, OBSTACLES, layout_name
from fuseshard.show.records import Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, plain, word

GIB = 2.0**30
MOST_ROWS = 10


def layout_table(
    layouts: Sequence[Layout], *, name: str = "layouts", caption: Word | None = None
) -> Table:
    """List layouts in their order, each with memory, time and its largest loss.

    Args:
        layouts: as `plan` returns them, or some of them.
        name: unique on its page.
        caption: what the table shows; None for what all such tables show.
    """
    said = caption or word("Layouts that fit, fastest first, by the planner's arithmetic.")
    table = TableBuilder(name, said)
    degrees = [layout.degrees for layout in layouts]
    table.counts(plain("DP"), [d.dp for d in degrees])
    table.counts(plain("FSDP"), [d.fsdp for d in degrees])
    table.counts(plain("TP"), [d.tp for d in degrees])
    table.counts(plain("PP"), [d.pp for d in degrees])
    table.counts(word("Micro-batches"), [d.num_micro_batches for d in degrees])
    table.texts(word("Recomputes"), [word("yes") if d.recomputes else word("no") for d in degrees])
    table.numbers(word("Memory"), [x.memory.total_bytes / GIB for x in layouts], "GiB")
    table.numbers(word("Step"), [layout.step_s for layout in layouts], "s")
    table.texts(word("Largest loss"), [LIMITS[layout.limit] for layout in layouts])
    return table.build(row_header=False)


def binding(survey: Survey, cluster: Cluster) -> Word:
    """Say what keeps the best layout from being better, or why nothing fits.

    Args:
        survey: what `planner.survey` found.
        cluster: the machines that it was asked about.
    """
    usable = number(cluster.usable_bytes / GIB)
    if not survey.feasible:
        return _nothing_fits(survey, usable)
    best = survey.feasible[0]
    if best.blocked is None:
        return word(
            "Memory keeps no faster layout out; what the best one loses most to: {limit}.",
            limit=LIMITS[best.limit],
        )
    return word(
        "Memory binds: {layout} would take {step} s instead of {own} s, but needs {needed} GiB of "
        "the {usable} GiB that may be filled.",
        layout=layout_name(best.blocked.degrees),
        step=number(best.blocked.step_s),
        own=number(best.step_s),
        needed=number(best.blocked.needed_bytes / GIB),
        usable=usable,
    )


def _nothing_fits(survey: Survey, usable: str) -> Word:
    nearest = survey.nearest
    if nearest is None:
        reason = max(survey.obstacles, key=lambda key: survey.obstacles[key])
        return word("No mesh is possible, most often because {reason}.", reason=OBSTACLES[reason])
    return word(
        "Nothing fits: the smallest, {layout}, needs {needed} GiB of the {usable} GiB that may be "
        "filled.",
        layout=layout_name(nearest.degrees),
        needed=number(nearest.needed_bytes / GIB),
        usable=usable,
    )


def tally(survey: Survey) -> Word:
    """Say how many layouts fit, lack memory, or can't be.

    Args:
        survey: what `planner.survey` found.
    """
    return word(
        "Layouts that fit: {fitting}; that lack memory: {large}; meshes that don't divide the "
        "model: {uneven}.",
        fitting=number(len(survey.feasible)),
        large=number(len(survey.too_large)),
        uneven=number(sum(survey.obstacles.values())),
    )


def obstacle_texts(survey: Survey) -> list[Text]:
    """Return each reason with the number of meshes that fail at it, commonest first.

    Args:
        survey: what `planner.survey` found.
    """
    ranked = sorted(survey.obstacles.items(), key=lambda item: -item[1])
    return [word("{reason} ({count})", reason=OBSTACLES[key], count=count) for key, count in ranked]
