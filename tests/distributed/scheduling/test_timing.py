"""Layer 1. Oracle: what each action needs, looked up in the finished timeline; small cases by hand.

The check of a timeline here knows nothing of how it was made: it goes through all pairs.
"""

import itertools
import random

import pytest

from fuseshard.distributed.schedules import SCHEDULES, read_schedule, simulate
from fuseshard.distributed.scheduling.records import Action, Costs, ScheduleError


def breaches(timeline, send: float) -> list[str]:
    """Actions that begin before they can, or later than they must; ranks that do two at once."""
    events = list(timeline.events)
    at = {event.action._replace(kind="B" if event.action.kind == "I" else event.action.kind): event
          for event in events}  # fmt: skip
    found = []
    for rank, group in itertools.groupby(events, key=lambda event: event.rank):
        previous_end = 0.0
        for event in group:
            earliest = max(previous_end, *needs(event, at, rank, send))
            if abs(event.start - earliest) > 1e-9:
                found.append(f"{event.action} at {event.start}, could be at {earliest}")
            previous_end = event.end
    return found


def needs(event, at, rank: int, send: float) -> list[float]:
    """When the neighbour's result is here, and when the rank's own earlier work is done."""
    kind, stage, i = event.action
    own = {"F": [], "B": ["F"], "I": ["F"], "W": ["B"]}[kind]
    times = [0.0, *(at[Action(before, stage, i)].end for before in own)]
    source = {"F": Action("F", stage - 1, i), "W": None}.get(kind, Action("B", stage + 1, i))
    if source in at:
        times.append(at[source].end + (send if at[source].rank != rank else 0.0))
    return times


@pytest.mark.parametrize("name", SCHEDULES)
def test_every_action_starts_as_soon_as_it_may_and_no_sooner(name):
    draw = random.Random(name)
    chunks = 3 if SCHEDULES[name].most_chunks is None else 1
    for p, m in ((1, 3), (2, 4), (3, 6), (4, 12), (5, 10)):
        costs = [draw.uniform(0.3, 2.0) for _ in range(4)]
        timeline = simulate(
            name, p, m, chunks=chunks, forward=costs[0], backward=tuple(costs[1:3]), send=costs[3]
        )
        assert breaches(timeline, costs[3]) == []
        assert breaches(timeline, costs[3] + 0.1) != [] or p == 1


def test_two_ranks_by_hand():
    timeline = read_schedule("F0 F1 B0 B1\nF0 B0 F1 B1", costs=Costs(send=0.5))
    assert timeline.starts == ((0.0, 1.0, 5.0, 8.0), (1.5, 2.5, 4.5, 5.5))
    assert timeline.ends == ((1.0, 2.0, 7.0, 10.0), (2.5, 4.5, 5.5, 7.5))
    assert list(timeline.idle) == [(0, 2.0, 5.0), (0, 7.0, 8.0), (1, 0.0, 1.5), (1, 7.5, 10.0)]


def test_between_stages_of_one_rank_nothing_is_sent():
    timeline = read_schedule("0F0 1F0 1B0 0B0", costs=Costs(send=5.0))
    assert (timeline.chunks, timeline.total_time, timeline.messages) == (2, 3.0, (0,))


def test_a_deadlock_names_who_waits_for_what():
    with pytest.raises(ScheduleError) as caught:
        read_schedule("F0 B0 F1 B1\nF0 F1 B0 B1")
    message = str(caught.value)
    assert "rank 0 stands at its action 2, 0B0, and waits for 1B0, action 3 of rank 1" in message
    assert "rank 1 stands at its action 2, 1F1, and waits for 0F1, action 3 of rank 0" in message


def test_the_same_orders_without_the_circle_run():
    assert read_schedule("F0 F1 B0 B1\nF0 F1 B0 B1").total_time == 9.0


def test_a_deadlock_within_one_rank_is_found():
    with pytest.raises(ScheduleError, match="0F0, action 2 of rank 0"):
        read_schedule("1F0 0F0 1B0 0B0")


def test_a_rank_that_has_finished_is_left_out_of_the_message():
    # Rank 1 holds the last stage and is done; ranks 0 and 2 wait for each other.
    with pytest.raises(ScheduleError, match="deadlocks: rank 0 stands") as caught:
        read_schedule("0F0 2F0 0B0 2B0\n3F0 3B0\n1F0 1B0")
    assert "rank 2 stands at its action 2, 1B0" in str(caught.value)
    assert "rank 1 stands" not in str(caught.value)
