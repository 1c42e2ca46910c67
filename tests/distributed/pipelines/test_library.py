"""Layer 2 (2 gloo ranks). Oracle: one process, and our orders: torch must *run* in them."""

import pytest
import torch.distributed as dist

from fuseshard.distributed.equivalence import gradients, largest_difference
from fuseshard.distributed.launcher import run
from fuseshard.distributed.meter import CommMeter
from fuseshard.distributed.pipelines.library import (
    LIBRARY_SCHEDULES,
    TimedStage,
    make_library_schedule,
)
from fuseshard.distributed.schedules import make_orders, simulate
from tests.distributed import pipeline_workers as shared
from tests.distributed.pipeline_workers import chunks_of, joined

M = 8


def by_library(rank, world_size, name, scale):
    """The second step of two, since the first one also exchanges shapes."""
    orders, chunks = make_orders(name, world_size, M, chunks_of(name))
    num_stages = world_size * chunks
    modules = shared.my_stages(rank, orders, num_stages)
    stages = [TimedStage(module, s, num_stages) for s, module in modules.items()]
    schedule = make_library_schedule(name, stages, M, lambda *pair: scale * shared.loss_fn(*pair))
    inputs, targets = shared.batch()
    arguments = (inputs,) if 0 in modules else ()
    options = {"target": targets, "losses": []} if num_stages - 1 in modules else {}
    schedule.step(*arguments, **options)
    for stage in stages:
        stage.events.clear()
        stage.submod.zero_grad()
    dist.barrier()
    with CommMeter() as meter:
        schedule.step(*arguments, **options)
    events = sorted((e for stage in stages for e in stage.events), key=lambda event: event.start)
    found = joined(gradients(module) for module in modules.values())
    return found, [event.action for event in events], meter.sent_bytes_per_rank


@pytest.fixture(scope="module")
def reference():
    return shared.whole()[0]


@pytest.fixture(scope="module")
def steps():
    return {name: run(by_library, args=(name, 1.0)) for name in LIBRARY_SCHEDULES}


@pytest.mark.parametrize("name", LIBRARY_SCHEDULES)
class TestEverySchedule:
    def test_gives_the_gradients_of_one_process(self, steps, reference, name):
        ours = joined(found for found, *_ in steps[name])
        assert largest_difference(ours, reference).is_rounding(shared.NUM_TERMS)

    def test_runs_in_our_order(self, steps, name):
        orders, _ = make_orders(name, 2, M, chunks_of(name))
        assert [tuple(actions) for _, actions, _ in steps[name]] == list(orders)

    def test_sends_the_bytes_of_the_formula(self, steps, name):
        timeline = simulate(name, 2, M, chunks=chunks_of(name))
        size = shared.NUM_TOKENS * shared.WIDTH * 8
        assert [sent for *_, sent in steps[name]] == [size * n for n in timeline.messages]


def test_another_loss_gives_other_gradients(reference):
    ours = joined(found for found, *_ in run(by_library, args=("1f1b", 1.001)))
    assert not largest_difference(ours, reference).is_rounding(shared.NUM_TERMS)


@pytest.mark.parametrize("name", ["naive", "GPipe"])
def test_a_schedule_that_torch_lacks_is_refused(name):
    with pytest.raises(ValueError, match=f"name is '{name}', required is one of gpipe, 1f1b"):
        make_library_schedule(name, [], 4, shared.loss_fn)


@pytest.mark.parametrize(("name", "stages"), [("gpipe", 2), ("zb_h1", 2), ("zbv", 1), ("1f1b", 0)])
def test_stages_that_a_schedule_would_leave_out_are_refused(name, stages):
    with pytest.raises(ValueError, match=f"got {stages} stages for {name}, required are"):
        make_library_schedule(name, [None] * stages, 8, shared.loss_fn)
