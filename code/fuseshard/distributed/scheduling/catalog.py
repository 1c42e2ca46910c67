"""The schedules by name, and what each demands of ranks, stages and micro-batches."""

from collections.abc import Callable
from dataclasses import dataclass

from fuseshard.distributed.scheduling import looped, single, v_shaped
from fuseshard.distributed.scheduling.records import Action, Orders, ScheduleError


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """How a schedule's order is made, and for what."""

    order: Callable[[int, int, int, int], list[Action]]
    """(rank, ranks, micro-batches, stages on a rank) -> that rank's actions"""
    least_chunks: int = 1
    """stages on a rank, at least"""
    most_chunks: int | None = 1
    """stages on a rank, at most; None means any number"""
    needs_rounds: bool = False
    """micro-batches must fall into equal rounds of at least as many as there are ranks"""
    least_per_rank: int = 0
    """micro-batches, at least this many times the ranks"""


def _single(order: Callable[[int, int, int], list[Action]], chunks: int = 1) -> Schedule:
    """A schedule whose order doesn't depend on the number of chunks."""
    return Schedule(
        order=lambda rank, p, m, _: order(rank, p, m), least_chunks=chunks, most_chunks=chunks
    )


SCHEDULES: dict[str, Schedule] = {
    "naive": _single(single.naive),
    "gpipe": _single(single.gpipe),
    "1f1b": _single(single.one_f_one_b),
    "interleaved_1f1b": Schedule(
        order=looped.interleaved_1f1b, most_chunks=None, needs_rounds=True
    ),
    "looped_bfs": Schedule(order=looped.looped_bfs, most_chunks=None),
    "zb_h1": _single(single.zb_h1),
    "interleaved_zb": Schedule(order=looped.interleaved_zb, most_chunks=None, needs_rounds=True),
    "zbv": _single(v_shaped.zbv, chunks=2),
    "dualpipev": Schedule(
        order=lambda rank, p, m, _: v_shaped.dualpipev(rank, p, m),
        least_chunks=2,
        most_chunks=2,
        least_per_rank=2,
    ),
}
"""name -> schedule"""


def make_orders(
    schedule: str, num_ranks: int, num_micro_batches: int, chunks: int = 1
) -> tuple[Orders, int]:
    """Make every rank's order of a named schedule.

    Args:
        schedule: one of `SCHEDULES`.
        num_ranks: p, at least 1.
        num_micro_batches: m, at least 1.
        chunks: v, stages on each rank; a schedule that always has two takes 1 as well, as "not
            said".

    Returns:
        the orders, and the number of stages on each rank.

    Raises:
        ScheduleError: the schedule is unknown, or the numbers don't suit it.
    """
    if not isinstance(schedule, str) or schedule not in SCHEDULES:
        raise ScheduleError(
            f"simulate: schedule is {schedule!r}, required is one of {', '.join(SCHEDULES)} "
            "(these have an order here); to time one of your own, use read_schedule"
        )
    for name, value in (
        ("stages", num_ranks),
        ("micro_batches", num_micro_batches),
        ("chunks", chunks),
    ):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ScheduleError(
                f"simulate: {name} is {value!r}, required is a whole number of at least 1 (it "
                "counts things); correct it"
            )
    made = SCHEDULES[schedule]
    num_chunks = _chunks(schedule, made, chunks)
    _check_micro_batches(schedule, made, num_ranks, num_micro_batches)
    return tuple(
        tuple(made.order(rank, num_ranks, num_micro_batches, num_chunks))
        for rank in range(num_ranks)
    ), num_chunks


def _chunks(name: str, schedule: Schedule, chunks: int) -> int:
    if schedule.most_chunks is not None and chunks > schedule.most_chunks:
        raise ScheduleError(
            f"simulate: chunks is {chunks}, {name} takes {schedule.most_chunks} (it has so many "
            "stages on each rank); leave chunks out, or use interleaved_1f1b, looped_bfs or "
            "interleaved_zb"
        )
    return max(chunks, schedule.least_chunks)


def _check_micro_batches(
    name: str, schedule: Schedule, num_ranks: int, num_micro_batches: int
) -> None:
    length = looped.round_length(num_ranks, num_micro_batches)
    if schedule.needs_rounds and length is None:
        num_rounds = num_micro_batches // num_ranks
        raise ScheduleError(
            f"simulate: micro_batches is {num_micro_batches}, for {name} on {num_ranks} ranks "
            f"required is a multiple of {num_rounds} (they pass each stage in {num_rounds} equal "
            f"rounds); use {num_micro_batches - num_micro_batches % num_ranks}"
        )
    least = schedule.least_per_rank * num_ranks
    if num_micro_batches < least:
        raise ScheduleError(
            f"simulate: micro_batches is {num_micro_batches}, for {name} on {num_ranks} ranks "
            f"required are at least {least} (as many as stages, to fill both directions); use "
            f"{least}"
        )
