"""What a pipeline schedule and its simulation are, as data.

p = ranks in the pipeline, v = stages (chunks of the model) on each, m = micro-batches.
No torch here: pages and tests read these records without starting it.
"""

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, NamedTuple

Kind = Literal["F", "B", "I", "W"]
"""forward; whole backward; its half for the input's gradient; its half for the weights'"""


class ScheduleError(ValueError):
    """A schedule that can't be made, or that no group of ranks could carry out."""


class Action(NamedTuple):
    """One thing that a rank does: one stage's work on one micro-batch."""

    kind: Kind
    """"F", "B", "I" or "W", torch's letters; B does the work of I and W at once"""
    stage: int
    """index of the stage, 0 holds the model's first layers"""
    micro_batch: int
    """index of the micro-batch"""

    def __str__(self) -> str:
        return f"{self.stage}{self.kind}{self.micro_batch}"


Orders = tuple[tuple[Action, ...], ...]
"""for each rank what it does, in order; when, only the timing tells"""


@dataclass(frozen=True, kw_only=True)
class Costs:
    """How long things take, in any unit; for all stages on one rank together."""

    forward: float = 1.0
    """units of time; forward pass of one micro-batch"""
    backward: float | tuple[float, float] = 2.0
    """units of time; its whole backward pass, or (input half, weight half)"""
    send: float = 0.0
    """units of time; from the end of an action to its result's arrival on another rank"""

    def __post_init__(self) -> None:
        """Refuse costs that no hardware has."""
        if isinstance(self.backward, tuple) and len(self.backward) != 2:
            raise ScheduleError(
                f"simulate: backward is {self.backward!r}, required is one time or two, (input "
                "half, weight half); correct it"
            )
        for name, values in (("forward", self.forward), ("backward", self.backward)):
            for value in values if isinstance(values, tuple) else (values,):
                _check_time(name, value, is_zero_allowed=False)
        _check_time("send", self.send, is_zero_allowed=True)

    def of_stage(self, chunks: int) -> dict[Kind, float]:
        """Return the time of each kind of action where a rank's work is cut into stages.

        Args:
            chunks: v, stages on a rank.
        """
        backward = self.backward
        halves = backward if isinstance(backward, tuple) else (backward / 2, backward / 2)
        whole: dict[Kind, float] = {
            "F": self.forward,
            "B": sum(halves),
            "I": halves[0],
            "W": halves[1],
        }
        return {kind: time / chunks for kind, time in whole.items()}


class Event(NamedTuple):
    """One action with its time."""

    rank: int
    """who"""
    action: Action
    """what"""
    start: float
    """when it begins, in the unit of the costs (measured: seconds)"""
    end: float
    """when it is done"""


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """Who does what when in one training step of a pipeline."""

    schedule: str
    """name of the schedule"""
    stages: int
    """p, ranks in the pipeline"""
    chunks: int
    """v, stages of the model on each rank; the largest number where ranks differ"""
    micro_batches: int
    """m"""
    orders: Orders
    """each rank's actions in order"""
    starts: tuple[tuple[float, ...], ...]
    """unit of the costs; when each of them begins"""
    ends: tuple[tuple[float, ...], ...]
    """unit of the costs; when each of them is done"""

    @cached_property
    def total_time(self) -> float:
        """Return the time from the first action's start to the last one's end."""
        first = min(starts[0] for starts in self.starts)
        return max(ends[-1] for ends in self.ends) - first

    @cached_property
    def busy_times(self) -> tuple[float, ...]:
        """Return how long each rank computes."""
        pairs = zip(self.starts, self.ends, strict=True)
        return tuple(math.fsum(ends) - math.fsum(starts) for starts, ends in pairs)

    @property
    def ideal_time(self) -> float:
        """Return the busiest rank's work: what the step would take if nobody ever waited."""
        return max(self.busy_times)

    @property
    def bubble_time(self) -> float:
        """Return how much longer the step takes than its busiest rank's work."""
        return max(0.0, self.total_time - self.ideal_time)  # rounding may leave less than nothing

    @property
    def bubble_over_ideal(self) -> float:
        """Return the waiting in units of the ideal time: how much longer the step takes."""
        return self.bubble_time / self.ideal_time

    @property
    def bubble_over_total(self) -> float:
        """Return the waiting as a share of the whole step: between 0 and 1."""
        return self.bubble_time / self.total_time

    @property
    def longest_span(self) -> float:
        """Return the longest time from a rank's own first start to its own last end.

        It matters where ranks needn't wait for each other between steps: a rank that began late
        may also end late, and steps then follow each other at this distance.
        """
        return max(
            ends[-1] - starts[0] for starts, ends in zip(self.starts, self.ends, strict=True)
        )

    @property
    def bubble_in_span(self) -> float:
        """Return the waiting within the longest span, in units of the ideal time."""
        return max(0.0, self.longest_span / self.ideal_time - 1)

    @cached_property
    def peak_activations(self) -> tuple[float, ...]:
        """Return how many micro-batches' activations each rank holds at its worst moment.

        The unit is one micro-batch on all of a rank's stages: with v stages, each counts 1/v.
        They are held from the start of a forward pass to the end of the whole backward pass, or
        of its weight half.
        """
        return tuple(_peak(order) / self.chunks for order in self.orders)

    @cached_property
    def messages(self) -> tuple[int, ...]:
        """Return how many activations and gradients each rank sends to another one."""
        rank_of = {a.stage: rank for rank, order in enumerate(self.orders) for a in order}
        return tuple(
            sum(rank_of.get(neighbour(a), rank) != rank for a in order if a.kind != "W")
            for rank, order in enumerate(self.orders)
        )

    @property
    def events(self) -> Iterator[Event]:
        """Yield all actions with their times, rank by rank."""
        for rank, order in enumerate(self.orders):
            times = zip(order, self.starts[rank], self.ends[rank], strict=True)
            yield from (Event(rank, *timed) for timed in times)

    @property
    def idle(self) -> Iterator[tuple[int, float, float]]:
        """Yield where ranks wait: rank, from, to; between the step's first start and last end."""
        first = min(starts[0] for starts in self.starts)
        last = first + self.total_time
        for rank, (starts, ends) in enumerate(zip(self.starts, self.ends, strict=True)):
            borders = [first, *(t for pair in zip(starts, ends, strict=True) for t in pair), last]
            gaps = list(pairwise(borders))[::2]
            yield from ((rank, low, high) for low, high in gaps if high - low > 1e-12 * last)


def neighbour(action: Action) -> int:
    """Return the stage that needs an action's result: the next one, or for a gradient the last."""
    return action.stage + 1 if action.kind == "F" else action.stage - 1


def _peak(order: tuple[Action, ...]) -> int:
    """The largest number of (stage, micro-batch) pairs that one rank holds activations of."""
    held = highest = 0
    for action in order:
        if action.kind == "F":
            held += 1
            highest = max(highest, held)
        elif action.kind != "I":
            held -= 1
    return highest


def _check_time(name: str, value: Any, *, is_zero_allowed: bool) -> None:
    """Refuse what is no time: of another type, negative, NaN, infinite."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # A whole number may be too large for a float, and math.isfinite would raise.
    if is_number and 0 <= value <= sys.float_info.max and (value > 0 or is_zero_allowed):
        return
    lowest = "0 or more" if is_zero_allowed else "above 0"
    raise ScheduleError(
        f"simulate: {name} is {value!r}, required is a finite number {lowest} (it is a time, in "
        "any unit); correct it"
    )
