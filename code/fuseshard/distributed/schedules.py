"""Simulate pipeline schedules: who does what when, who waits, and what each rank must hold.

    timeline = simulate("1f1b", stages=4, micro_batches=8)
    timeline.bubble_over_ideal, timeline.bubble_over_total, timeline.peak_activations

Orders and timing are in `fuseshard.distributed.scheduling`. No torch here.
"""

from fuseshard.distributed.scheduling.catalog import SCHEDULES, make_orders
from fuseshard.distributed.scheduling.legality import check_orders
from fuseshard.distributed.scheduling.records import (
    Action,
    Costs,
    Event,
    Orders,
    ScheduleError,
    Timeline,
)
from fuseshard.distributed.scheduling.text import format_orders, parse_orders
from fuseshard.distributed.scheduling.timing import times_of

__all__ = [
    "SCHEDULES",
    "Action",
    "Costs",
    "Event",
    "Orders",
    "ScheduleError",
    "Timeline",
    "format_orders",
    "make_orders",
    "parse_orders",
    "read_schedule",
    "simulate",
    "simulate_orders",
]


def simulate(
    schedule: str,
    stages: int,
    micro_batches: int,
    *,
    chunks: int = 1,
    forward: float = 1.0,
    backward: float | tuple[float, float] = 2.0,
    send: float = 0.0,
) -> Timeline:
    """Simulate one training step of a pipeline under a named schedule.

    Costs are those of all stages on one rank together, so that schedules with several stages a
    rank can be compared with those that have one: the work is the same.

    Args:
        schedule: "naive", "gpipe", "1f1b", "interleaved_1f1b", "looped_bfs", "zb_h1",
            "interleaved_zb", "zbv" or "dualpipev".
        stages: p, ranks in the pipeline, at least 1.
        micro_batches: m, at least 1.
        chunks: v, stages of the model on each rank, for the interleaved ones and looped_bfs;
            zbv and dualpipev always have 2.
        forward: unit of time; one micro-batch's forward pass on one rank.
        backward: unit of time; its whole backward pass, of which each half takes half; or two
            times, of the input's and of the weights' gradients.
        send: unit of time; from the end of an action to its result's arrival on another rank.

    Returns:
        the timeline, each action as early as its order and what it needs allow.

    Raises:
        ScheduleError: a ValueError; says which argument, why, and what to change.
    """
    costs = Costs(forward=forward, backward=backward, send=send)
    orders, num_chunks = make_orders(schedule, stages, micro_batches, chunks)
    return _timeline(schedule, orders, costs, chunks=num_chunks, num_micro_batches=micro_batches)


def simulate_orders(orders: Orders, *, costs: Costs | None = None, name: str = "own") -> Timeline:
    """Check orders of your own, and simulate them.

    Args:
        orders: each rank's actions in order.
        costs: times of the actions, for all stages of one rank together; None means `Costs()`.
        name: what the timeline calls the schedule.

    Raises:
        ScheduleError: the orders are incomplete, impossible for a rank, or deadlock.
    """
    _, num_micro_batches = check_orders(orders)
    chunks = max(len({action.stage for action in order}) for order in orders)
    return _timeline(
        name, orders, costs or Costs(), chunks=chunks, num_micro_batches=num_micro_batches
    )


def read_schedule(table: str, *, costs: Costs | None = None, name: str = "own") -> Timeline:
    """Read a schedule from a table of text, check it, and simulate it.

        F0 F1 B0 B1        # rank 0, from its first action to its last
        F0 B0 F1 B1        # rank 1

    Args:
        table: one line a rank; an action is stage, kind (F, B, I, W) and micro-batch, such as
            0F1; without a stage, that of the rank's number is meant.
        costs: as for `simulate_orders`.
        name: what the timeline calls the schedule.

    Raises:
        ScheduleError: the table can't be read, or as in `simulate_orders`.
    """
    return simulate_orders(parse_orders(table), costs=costs, name=name)


def _timeline(
    name: str, orders: Orders, costs: Costs, *, chunks: int, num_micro_batches: int
) -> Timeline:
    durations = costs.of_stage(chunks)
    times = times_of(
        orders,
        durations=durations,
        send=costs.send,
        num_micro_batches=num_micro_batches,
    )
    timeline = Timeline(
        schedule=name,
        stages=len(orders),
        chunks=chunks,
        micro_batches=num_micro_batches,
        orders=orders,
        starts=times.starts,
        ends=times.ends,
    )
    if not min(durations.values()) > 1e-9 * timeline.total_time:
        raise ScheduleError(
            f"simulate: {costs} can't be added up, required are times of similar size (a float "
            "keeps 16 digits, so the small ones got lost); use another unit, or drop the extreme"
        )
    return timeline
