"""Layer 2 (2 gloo ranks). Oracle: the orders, and the simulator with constructed times."""

import pytest

from fuseshard.distributed.pipelines.trials import StepTrial, time_steps
from fuseshard.distributed.schedules import make_orders, simulate

CHUNKS = {"naive": 1, "1f1b": 1, "zbv": 2}


@pytest.fixture(scope="module")
def trials():
    return time_steps(CHUNKS, 4, num_rounds=1)


@pytest.mark.parametrize(
    ("chunks", "num_rounds", "complaint"),
    [
        ({"naive": 1, "other": 1}, 1, "schedule is 'other'"),
        ({"interleaved_1f1b": 5}, 1, "5 stages on each of 2 ranks, required are at most 8"),
        ({"naive": 1}, 0, "num_rounds is 0"),
    ],
)
def test_what_cannot_be_timed_is_refused_before_anything_starts(chunks, num_rounds, complaint):
    with pytest.raises(ValueError, match=complaint):
        time_steps(chunks, 4, num_rounds=num_rounds)


def test_each_schedule_runs_by_hand_and_where_torch_has_it_by_the_library(trials):
    runners = {name: [trial.runner for trial in own] for name, own in trials.items()}
    assert runners == {
        "naive": ["by hand"],
        "1f1b": ["by hand", "library"],
        "zbv": ["by hand", "library"],
    }


@pytest.mark.parametrize("name", CHUNKS)
def test_a_step_holds_each_ranks_actions_in_order(trials, name):
    orders, _ = make_orders(name, 2, 4, CHUNKS[name])
    for trial in trials[name]:
        for rank, order in enumerate(orders):
            own = sorted((e for e in trial.events if e.rank == rank), key=lambda e: e.start)
            assert tuple(event.action for event in own) == order


@pytest.mark.parametrize("name", CHUNKS)
def test_the_simulated_step_takes_the_measured_times(trials, name):
    for trial in trials[name]:
        assert trial.simulated.schedule == name
        longest = max(event.end - event.start for event in trial.events)
        shortest = min(event.end - event.start for event in trial.events)
        for event in trial.simulated.events:
            assert shortest <= (event.end - event.start) * (1 + 1e-9)
            assert (event.end - event.start) * (1 - 1e-9) <= longest


def made(stretch: float) -> StepTrial:
    timeline = simulate("1f1b", 2, 3)
    events = tuple(
        e._replace(start=5 + stretch * e.start, end=5 + stretch * e.end) for e in timeline.events
    )
    return StepTrial(schedule="1f1b", runner="by hand", events=events, simulated=timeline)


@pytest.mark.parametrize("stretch", [0.5, 1.0, 3.0])
def test_a_measured_step_is_judged_like_a_simulated_one(stretch):
    trial = made(stretch)
    assert trial.total_s == pytest.approx(12 * stretch)
    assert trial.bubble_over_ideal == pytest.approx(1 / 3)
    assert trial.over_simulated == pytest.approx(stretch - 1)
