"""Measured steps beside simulated ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from fuseshard.distributed.scheduling.records import Event, Timeline
from fuseshard.measure import records
from fuseshard.show.cards import origin_line
from fuseshard.show.chapters.pipeline.names import schedule_name
from fuseshard.show.chapters.pipeline.timelines import measured, simulated, steps_figure
from fuseshard.show.choices import Choice, choose
from fuseshard.show.numbers import number
from fuseshard.show.records import Figure, Origin, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Word, word

_MS = 1e-3


class Trial(Protocol):
    """What is read of `distributed.pipelines.trials.StepTrial`."""

    @property
    def schedule(self) -> str: ...
    @property
    def runner(self) -> str: ...
    @property
    def events(self) -> tuple[Event, ...]: ...
    @property
    def simulated(self) -> Timeline: ...
    @property
    def total_s(self) -> float: ...
    @property
    def bubble_over_ideal(self) -> float: ...
    @property
    def over_simulated(self) -> float: ...


def runner_word(runner: str) -> Word:
    """Name who ran a step.

    Args:
        runner: "by hand" or "library".
    """
    return {
        "by hand": word("measured, by hand"),
        "library": word("measured, torch's schedule"),
    }[runner]


def measured_chooser(
    trials: Mapping[str, Sequence[Trial]], environment: records.Environment, *, start: str
) -> Choice:
    """Draw each schedule's simulated step above the measured ones; the reader picks it.

    Args:
        trials: schedule -> its measured steps.
        environment: where they were measured.
        start: schedule that is seen first.
    """
    origin = origin_line(records.Origin(is_live=True, environment=environment), num_threads=1)
    options = [(schedule_name(name), _figure(own, origin)) for name, own in trials.items()]
    return choose("measured-steps", word("Schedule"), options, start=list(trials).index(start))


def _figure(trials: Sequence[Trial], origin: Origin | None) -> Figure:
    first = trials[0]
    steps = [simulated(first.simulated, word("simulated with the times by hand"), unit=_MS)]
    steps += [measured(trial.events, runner_word(trial.runner)) for trial in trials]
    slug = first.schedule.replace("_", "-")
    return steps_figure(
        f"measured-{slug}",
        steps,
        axis=word("time (ms)"),
        caption=word(
            "One step on two ranks. By hand it took {measured} ms, where the simulator with the "
            "same median times of actions and free messages says {simulated} ms.",
            measured=number(first.total_s / _MS),
            simulated=number(first.simulated.total_time / _MS),
        ),
        origin=origin,
    )


def measured_table(
    trials: Mapping[str, Sequence[Trial]], environment: records.Environment
) -> Table:
    """Set the lengths and bubbles of measured steps beside the simulated ones.

    Args:
        trials: schedule -> its measured steps.
        environment: where they were measured.
    """
    rows = [trial for own in trials.values() for trial in own]
    table = TableBuilder(
        "measured-schedules",
        word(
            "One step on two ranks, measured, and simulated with the measured median time of each "
            "kind of action; bubbles over the ideal time."
        ),
    )
    table.texts(word("Schedule"), [schedule_name(trial.schedule) for trial in rows])
    table.texts(word("Run"), [runner_word(trial.runner) for trial in rows])
    table.seconds(word("Measured step"), [trial.total_s for trial in rows])
    table.seconds(word("Simulated step"), [trial.simulated.total_time for trial in rows])
    table.numbers(word("Measured bubble"), [100 * t.bubble_over_ideal for t in rows], "%")
    shares = [100 * trial.simulated.bubble_over_ideal for trial in rows]
    table.numbers(word("Simulated bubble"), [round(share, 6) for share in shares], "%")
    origin = origin_line(records.Origin(is_live=True, environment=environment), num_threads=1)
    return table.build(origin=origin)


def measured_finding(trials: Mapping[str, Sequence[Trial]]) -> Word:
    """Say how far measured steps are from simulated ones, and the naive one from 1F1B.

    Args:
        trials: schedule -> its measured steps; "naive" and "1f1b" by hand among them.
    """
    apart = [100 * trial.over_simulated for own in trials.values() for trial in own]
    naive, other = trials["naive"][0], trials["1f1b"][0]
    low, high = (f"{bound:+.0f}".replace("-", "\u2212") for bound in (min(apart), max(apart)))
    return word(
        "the measured steps differ from the simulated ones by {low} % to {high} %; run by hand, "
        "the naive step took {ratio} times as long as the one under 1F1B, and the simulator says "
        "{expected}",
        low=low,
        high=high,
        ratio=number(naive.total_s / other.total_s),
        expected=number(naive.simulated.total_time / other.simulated.total_time),
    )
