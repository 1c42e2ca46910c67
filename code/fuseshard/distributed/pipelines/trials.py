"""Time training steps under schedules on two ranks: by hand, by the library, and simulated.

m = micro-batches, v = stages on a rank.
"""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy

from fuseshard.distributed.launcher import run
from fuseshard.distributed.pipeline import MicroBatch, Pipeline
from fuseshard.distributed.pipelines.library import (
    LIBRARY_SCHEDULES,
    TimedStage,
    make_library_schedule,
)
from fuseshard.distributed.schedules import Costs, Event, Timeline, make_orders, simulate_orders
from fuseshard.models.minigpt import MiniGPT, MiniGPTConfig
from fuseshard.models.minigpt_stages import MiniGPTStage, cut_into_stages

NUM_RANKS = 2
CONFIG = MiniGPTConfig(vocabulary=64, width=128, num_layers=8, context=64)
"""large enough that an action takes milliseconds, and a message takes less"""
NUM_TOKENS, SEQUENCES_PER_MICRO_BATCH = 64, 2
Events = tuple[Event, ...]


@dataclass(frozen=True, kw_only=True)
class StepTrial:
    """One measured step, and what the simulator says with the same times of actions."""

    schedule: str
    """name of the schedule"""
    runner: str
    """"by hand" or "library" """
    events: Events
    """seconds on the machine's monotonic clock; of all ranks"""
    simulated: Timeline
    """seconds; each action takes as long as the median of its kind in the measured step"""

    @property
    def total_s(self) -> float:
        """Return seconds from the first action's start to the last one's end."""
        return _length(self.events)

    @property
    def bubble_over_ideal(self) -> float:
        """Return the waiting of the busiest rank in units of its work."""
        busy_s = [0.0] * NUM_RANKS
        for event in self.events:
            busy_s[event.rank] += event.end - event.start
        return self.total_s / max(busy_s) - 1

    @property
    def over_simulated(self) -> float:
        """Return by which share the measured step is longer than the simulated one."""
        return self.total_s / self.simulated.total_time - 1


def time_steps(
    chunks: Mapping[str, int], num_micro_batches: int, *, num_rounds: int = 3
) -> dict[str, list[StepTrial]]:
    """Run schedules by hand and, where torch has them, by the library; return a step of each.

    All take turns, a step each in every round, so that what slows the machine down for a while
    slows all of them; the step returned is the shortest, the one that was disturbed least.

    Args:
        chunks: schedule -> v, as for `simulate`.
        num_micro_batches: m.
        num_rounds: steps of each that are timed; one more runs before.

    Returns:
        schedule -> the step by hand and, if torch has the schedule, the library's.

    Raises:
        ValueError: an argument can't work; nothing was started.

    Communicates:
        what the steps send; barriers between them.
    """
    _check(chunks, num_micro_batches, num_rounds)
    ranks = run(
        _rounds, NUM_RANKS, args=(dict(chunks), (num_micro_batches, num_rounds)), timeout=120
    )
    found: dict[str, list[StepTrial]] = {name: [] for name in chunks}
    for schedule, runner in ranks[0]:
        parts = zip(*(steps[schedule, runner] for steps in ranks), strict=True)
        steps = [tuple(event for events in step for event in events) for step in parts]
        shortest = min(steps, key=_length)
        orders, num_chunks = make_orders(schedule, NUM_RANKS, num_micro_batches, chunks[schedule])
        simulated = simulate_orders(orders, costs=_costs(shortest, num_chunks), name=schedule)
        trial = StepTrial(schedule=schedule, runner=runner, events=shortest, simulated=simulated)
        found[schedule].append(trial)
    return found


def _check(chunks: Mapping[str, int], num_micro_batches: int, num_rounds: int) -> None:
    for name, wanted in chunks.items():
        _, num_chunks = make_orders(name, NUM_RANKS, num_micro_batches, wanted)  # refuses the rest
        if NUM_RANKS * num_chunks > CONFIG.num_layers:
            raise ValueError(
                f"time_steps: {name} has {num_chunks} stages on each of {NUM_RANKS} ranks, "
                f"required are at most {CONFIG.num_layers} in all (each takes a layer of the "
                "model); use fewer"
            )
    if num_rounds < 1:
        raise ValueError(
            f"time_steps: num_rounds is {num_rounds}, required is at least 1 (a time needs a "
            "step); raise it"
        )


def _length(events: Events) -> float:
    return max(event.end for event in events) - min(event.start for event in events)


def _costs(events: Events, num_chunks: int) -> Costs:
    """The median time of each kind of action, for all stages of a rank together."""
    median_s = {
        kind: num_chunks * statistics.median(times)
        for kind in "FBIW"
        if (times := [e.end - e.start for e in events if e.action.kind == kind])
    }
    halves = (median_s["I"], median_s["W"]) if "I" in median_s else median_s["B"]
    return Costs(forward=median_s["F"], backward=halves)


def _rounds(
    rank: int, world_size: int, chunks: Mapping[str, int], counts: tuple[int, int]
) -> dict[tuple[str, str], list[Events]]:
    """Let everybody take turns on one rank; for each schedule and runner, each step's events."""
    num_micro_batches, num_rounds = counts
    micro_batches = _micro_batches(num_micro_batches)
    steps: dict[tuple[str, str], Callable[[], Events]] = {}
    for name, wanted in chunks.items():
        orders, num_chunks = make_orders(name, world_size, num_micro_batches, wanted)
        stages = cut_into_stages(MiniGPT(CONFIG), world_size * num_chunks)
        mine = {s: stages[s] for s in sorted({action.stage for action in orders[rank]})}
        pipeline = Pipeline(mine, orders, width=CONFIG.width, loss_fn=_loss)
        steps[name, "by hand"] = _hand_step(pipeline, micro_batches)
        if name in LIBRARY_SCHEDULES:
            steps[name, "library"] = _library_step(name, mine, len(stages), micro_batches)
    found: dict[tuple[str, str], list[Events]] = {key: [] for key in steps}
    for _ in range(1 + num_rounds):
        for key, step in steps.items():
            dist.barrier()
            found[key].append(step())
    return {key: events[1:] for key, events in found.items()}


def _micro_batches(count: int) -> list[MicroBatch]:
    generator = torch.Generator().manual_seed(0)
    shape = count, SEQUENCES_PER_MICRO_BATCH, NUM_TOKENS + 1
    tokens = torch.randint(CONFIG.vocabulary, shape, generator=generator)
    return [(part[:, :-1], part[:, 1:]) for part in tokens]


def _hand_step(pipeline: Pipeline, micro_batches: Sequence[MicroBatch]) -> Callable[[], Events]:
    return lambda: pipeline.step(micro_batches).events


def _library_step(
    schedule: str,
    modules: Mapping[int, MiniGPTStage],
    num_stages: int,
    micro_batches: Sequence[MicroBatch],
) -> Callable[[], Events]:
    """Make the library's schedule; a call runs one step of it and returns the events."""
    stages = [TimedStage(module, s, num_stages) for s, module in modules.items()]
    made: Any = make_library_schedule(schedule, stages, len(micro_batches), _loss)
    inputs, targets = (torch.cat(parts) for parts in zip(*micro_batches, strict=True))
    arguments = (inputs,) if 0 in modules else ()

    def step() -> Events:
        made.step(
            *arguments, **({"target": targets, "losses": []} if num_stages - 1 in modules else {})
        )
        events = tuple(event for stage in stages for event in stage.events)
        for stage in stages:
            stage.events.clear()
        return events

    return step


def _loss(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return cross_entropy(logits.flatten(0, 1), targets.flatten())
