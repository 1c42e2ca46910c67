"""From each rank's order to times: every action starts as soon as it may.

An action starts when its rank has done the one before it and what it needs has arrived: a forward
pass needs the stage before, a backward pass the stage after. Sends take their time beside the
computation and block nobody.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fuseshard.distributed.scheduling.records import Action, Kind, Orders, ScheduleError

_UNKNOWN = -1.0


@dataclass(frozen=True, kw_only=True)
class Times:
    """Start and end of each action, in the shape of the orders."""

    starts: tuple[tuple[float, ...], ...]
    """unit of the costs"""
    ends: tuple[tuple[float, ...], ...]
    """unit of the costs"""


def times_of(
    orders: Orders, *, durations: Mapping[Kind, float], send: float, num_micro_batches: int
) -> Times:
    """Let all ranks work through their orders, as early as what they need allows.

    Args:
        orders: each rank's actions; stages count from 0 without a gap.
        durations: unit of time; how long an action of each kind takes.
        send: unit of time; how long a result takes to another rank.
        num_micro_batches: m.

    Raises:
        ScheduleError: a deadlock; says where each rank stands and what it waits for.
    """
    clock = _Clock(orders, durations, send, num_micro_batches)
    clock.run()
    if any(len(ends) < len(order) for ends, order in zip(clock.ends, orders, strict=True)):
        raise ScheduleError(_deadlock(orders, [len(ends) for ends in clock.ends]))
    return Times(starts=tuple(map(tuple, clock.starts)), ends=tuple(map(tuple, clock.ends)))


class _Clock:
    """All ranks' progress; arrays are indexed by stage * m + micro-batch."""

    def __init__(
        self, orders: Orders, durations: Mapping[Kind, float], send: float, num_micro_batches: int
    ) -> None:
        self.orders, self.durations, self.send, self.m = orders, durations, send, num_micro_batches
        rank_of = {action.stage: rank for rank, order in enumerate(orders) for action in order}
        self.rank_of = [rank_of[stage] for stage in range(len(rank_of))]
        size = len(rank_of) * num_micro_batches
        self.forward_done, self.backward_done = [_UNKNOWN] * size, [_UNKNOWN] * size
        self.starts: list[list[float]] = [[] for _ in orders]
        self.ends: list[list[float]] = [[] for _ in orders]

    def run(self) -> None:
        """Let one rank go on until it has to wait; then whoever may have waited for it."""
        ready = list(range(len(self.orders) - 1, -1, -1))
        is_ready = [True] * len(ready)
        while ready:
            rank = ready.pop()
            is_ready[rank] = False
            for woken in self._advance(rank):
                if not is_ready[woken]:
                    is_ready[woken] = True
                    ready.append(woken)

    def _advance(self, rank: int) -> set[int]:
        """Do as many of a rank's actions as possible; return the ranks that got something."""
        order, starts, ends = self.orders[rank], self.starts[rank], self.ends[rank]
        durations, rank_of, m = self.durations, self.rank_of, self.m
        size = len(self.forward_done)
        now = ends[-1] if ends else 0.0
        woken = set()
        for position in range(len(ends), len(order)):
            kind, stage, index = order[position]
            place = stage * m + index
            done, step = (self.forward_done, -m) if kind == "F" else (self.backward_done, m)
            source = -1 if kind == "W" else place + step
            if 0 <= source < size:
                arrived = done[source]
                if arrived < 0:
                    break
                now = max(now, arrived if rank_of[source // m] == rank else arrived + self.send)
            starts.append(now)
            now += durations[kind]
            ends.append(now)
            if kind != "W":
                done[place] = now
                if 0 <= place - step < size:
                    woken.add(rank_of[(place - step) // m])
        woken.discard(rank)
        return woken


def needed(action: Action, num_stages: int) -> Action | None:
    """Return the other stage's action whose result an action needs, if any.

    Args:
        action: any action; of a backward pass, "B" stands for either kind of it.
        num_stages: stages of the whole model.
    """
    if action.kind == "F" and action.stage > 0:
        return Action("F", action.stage - 1, action.micro_batch)
    if action.kind in "BI" and action.stage < num_stages - 1:
        return Action("B", action.stage + 1, action.micro_batch)
    return None


def _deadlock(orders: Orders, done: Sequence[int]) -> str:
    """Say where each rank stands."""
    place = {}
    for rank, order in enumerate(orders):
        for position, action in enumerate(order):
            key = action._replace(kind="B") if action.kind == "I" else action
            place[key] = rank, position
    num_stages = len({action.stage for order in orders for action in order})
    lines = []
    for rank, position in enumerate(done):
        if position == len(orders[rank]):
            continue
        action = orders[rank][position]
        want = needed(action, num_stages)
        other, other_position = place[want] if want else (rank, position)
        lines.append(
            f"rank {rank} stands at its action {position + 1}, {action}, and waits for {want}, "
            f"action {other_position + 1} of rank {other}"
        )
    return (
        f"the schedule deadlocks: {'; '.join(lines)}; required is an order in which somebody can "
        "always go on; put what others wait for earlier"
    )
