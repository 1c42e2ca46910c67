"""Time one training step under a schedule on two ranks: by hand, by the library, and simulated.

m = micro-batches, v = stages on a rank.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy

from fuseshard.distributed.launcher import run
from fuseshard.distributed.library_pipeline import (
    LIBRARY_SCHEDULES,
    TimedStage,
    make_library_schedule,
)
from fuseshard.distributed.pipeline import MicroBatch, Pipeline
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
        return max(e.end for e in self.events) - min(e.start for e in self.events)

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
    schedule: str, num_micro_batches: int, *, chunks: int = 1, num_steps: int = 4
) -> list[StepTrial]:
    """Run a schedule by hand and, if torch has it, by the library; return a typical step of each.

    Args:
        schedule: as for `simulate`.
        num_micro_batches: m.
        chunks: v, as for `simulate`.
        num_steps: steps of which the one of median length is returned; one more runs before.

    Communicates:
        what the steps send; barriers between them.
    """
    arguments = schedule, num_micro_batches, chunks, num_steps
    steps_of_ranks = run(_timed, NUM_RANKS, args=arguments)
    runners = ["by hand", "library"][: len(steps_of_ranks[0])]
    trials = []
    for index, runner in enumerate(runners):
        steps = [
            tuple(event for events in step for event in events)
            for step in zip(*(ranks[index] for ranks in steps_of_ranks), strict=True)
        ]
        steps.sort(key=lambda events: max(e.end for e in events) - min(e.start for e in events))
        trials.append(_trial(schedule, runner, steps[(len(steps) - 1) // 2], arguments))
    return trials


def _trial(
    schedule: str, runner: str, events: Events, arguments: tuple[str, int, int, int]
) -> StepTrial:
    """Simulate what was measured, with the median time of each kind of action."""
    _, num_micro_batches, chunks, _ = arguments
    orders, num_chunks = make_orders(schedule, NUM_RANKS, num_micro_batches, chunks)
    median_s = {
        kind: num_chunks * statistics.median(times)
        for kind in "FBIW"
        if (times := [e.end - e.start for e in events if e.action.kind == kind])
    }
    halves = (median_s["I"], median_s["W"]) if "I" in median_s else median_s["B"]
    costs = Costs(forward=median_s["F"], backward=halves)
    simulated = simulate_orders(orders, costs=costs, name=schedule)
    return StepTrial(schedule=schedule, runner=runner, events=events, simulated=simulated)


def _timed(
    rank: int, world_size: int, schedule: str, num_micro_batches: int, chunks: int, num_steps: int
) -> list[list[Events]]:
    """Run the steps on one rank; for each runner, each step's events."""
    orders, num_chunks = make_orders(schedule, world_size, num_micro_batches, chunks)
    stages = cut_into_stages(MiniGPT(CONFIG), world_size * num_chunks)
    mine = {s: stages[s] for s in sorted({action.stage for action in orders[rank]})}
    tokens = torch.randint(
        CONFIG.vocabulary,
        (SEQUENCES_PER_MICRO_BATCH * num_micro_batches, NUM_TOKENS + 1),
        generator=torch.Generator().manual_seed(0),
    )
    micro_batches = [(part[:, :-1], part[:, 1:]) for part in tokens.tensor_split(num_micro_batches)]
    pipeline = Pipeline(mine, orders, width=CONFIG.width, loss_fn=_loss)
    found: list[list[Events]] = [[]]
    for _ in range(1 + num_steps):
        dist.barrier()
        found[0].append(pipeline.step(micro_batches).events)
    if schedule in LIBRARY_SCHEDULES:
        found.append(_library_steps(schedule, mine, len(stages), micro_batches, num_steps))
    return [steps[1:] for steps in found]


def _library_steps(
    schedule: str,
    modules: dict[int, MiniGPTStage],
    num_stages: int,
    micro_batches: Sequence[MicroBatch],
    num_steps: int,
) -> list[Events]:
    """Run the library's schedule; each step's events."""
    stages = [TimedStage(module, s, num_stages) for s, module in modules.items()]
    made = make_library_schedule(schedule, stages, len(micro_batches), _loss)
    inputs, targets = (torch.cat(parts) for parts in zip(*micro_batches, strict=True))
    arguments = (inputs,) if 0 in modules else ()
    found = []
    for _ in range(1 + num_steps):
        options = {"target": targets, "losses": []} if num_stages - 1 in modules else {}
        dist.barrier()
        made.step(*arguments, **options)
        found.append(tuple(event for stage in stages for event in stage.events))
        for stage in stages:
            stage.events.clear()
    return found


def _loss(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return cross_entropy(logits.flatten(0, 1), targets.flatten())
