"""The lab: a reader picks a schedule, then ranks, micro-batches and times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fuseshard.distributed.scheduling.records import Costs, Timeline
from fuseshard.show.chapters.pipeline.names import schedule_name
from fuseshard.show.chapters.pipeline.timelines import simulated, steps_figure
from fuseshard.show.choices import NestedChoice, choose, choose_twice
from fuseshard.show.numbers import number
from fuseshard.show.records import Figure, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Word, word

UNIT_AXIS = word("time (a forward pass of one micro-batch on one rank is 1)")


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One simulated step and what it was simulated with."""

    timeline: Timeline
    """the step"""
    costs: Costs
    """its times"""

    @property
    def setting(self) -> Word:
        """Say ranks, micro-batches and times."""
        times = self.costs.of_stage(1)
        halves = times["I"], times["W"]
        input_half, weight_half, message = (f"{t:g}" for t in (*halves, self.costs.send))
        return word(
            "{ranks} ranks, {micro_batches} micro-batches; input half {input}, weight half "
            "{weight}, message {send}",
            ranks=self.timeline.stages,
            micro_batches=self.timeline.micro_batches,
            input=input_half,
            weight=weight_half,
            send=message,
        )


def schedule_figure(timeline: Timeline, name: str | None = None) -> Figure:
    """Draw one simulated step; the caption says its bubble on both bases, and its memory.

    Args:
        timeline: from `simulate`, `simulate_orders` or `read_schedule`.
        name: unique on its page; None means the schedule's name.
    """
    unique = name or f"step-{timeline.schedule.replace('_', '-')}"
    return steps_figure(
        unique,
        [simulated(timeline)],
        axis=UNIT_AXIS,
        caption=bubble_caption(timeline),
        table=_ranks_table(f"{unique}-ranks", timeline),
    )


def bubble_caption(timeline: Timeline) -> Word:
    """Say a step's bubble on both bases, and how many micro-batches a rank holds at most.

    Args:
        timeline: a simulated step.
    """
    held = f"{max(timeline.peak_activations):g}"
    return word(
        "Bubble: {ideal} % of the ideal time, {total} % of the whole step. Most micro-batches held "
        "by a rank: {peak}.",
        ideal=number(100 * timeline.bubble_over_ideal),
        total=number(100 * timeline.bubble_over_total),
        peak=held,
    )


def schedule_lab(trials: Sequence[Trial], *, start: tuple[str, int] = ("1f1b", 0)) -> NestedChoice:
    """Let a reader pick a schedule, and then a setting.

    Args:
        trials: at least two of each schedule; a setting that a schedule refuses is left out.
        start: schedule that is seen first, and the index of the setting in each schedule.
    """
    names = list(dict.fromkeys(trial.timeline.schedule for trial in trials))
    label = word("Ranks, micro-batches and times")
    options = []
    for name in names:
        slug = name.replace("_", "-")
        own = [trial for trial in trials if trial.timeline.schedule == name]
        figures = [
            (trial.setting, schedule_figure(trial.timeline, f"lab-{slug}-{index}"))
            for index, trial in enumerate(own)
        ]
        choice = choose(f"lab-{slug}", label, figures, start=min(start[1], len(own) - 1))
        options.append((schedule_name(name), choice))
    return choose_twice("schedule-lab", word("Schedule"), options, start=names.index(start[0]))


def _ranks_table(name: str, timeline: Timeline) -> Table:
    """What each rank does, holds and sends."""
    table = TableBuilder(name, word("Each rank's step."))
    ranks = range(timeline.stages)
    table.counts(word("Rank"), list(ranks))
    table.numbers(word("Computing"), timeline.busy_times)
    table.numbers(word("Waiting"), [timeline.total_time - busy for busy in timeline.busy_times])
    table.numbers(word("Micro-batches held"), timeline.peak_activations)
    table.counts(word("Messages sent"), timeline.messages)
    return table.build()
