"""Layer 2 (2 and 4 gloo ranks). Oracle: one process with the whole batch, and the simulator."""

import pytest

from fuseshard.distributed.equivalence import largest_difference
from fuseshard.distributed.launcher import DistributedError, run
from fuseshard.distributed.pipeline import Pipeline
from fuseshard.distributed.schedules import SCHEDULES, make_orders, simulate
from tests.distributed import pipeline_workers as shared
from tests.distributed.pipeline_workers import by_hand, chunks_of, joined

EQUAL = [1] * shared.NUM_SEQUENCES
MESSAGE_BYTES = shared.NUM_TOKENS * shared.WIDTH * 8
"""of one sequence's activation in float64"""


@pytest.fixture(scope="module")
def reference():
    return shared.whole()


@pytest.fixture(scope="module")
def steps():
    """Each schedule on 2 and on 4 ranks: every rank's gradients, record and bytes."""
    return {(name, p): run(by_hand, p, args=(name, EQUAL)) for name in SCHEDULES for p in (2, 4)}


@pytest.mark.parametrize("p", [2, 4])
@pytest.mark.parametrize("name", SCHEDULES)
class TestEverySchedule:
    def test_gives_the_gradients_of_one_process(self, steps, reference, name, p):
        ours = joined(found for found, *_ in steps[name, p])
        assert largest_difference(ours, reference[0]).is_rounding(shared.NUM_TERMS)

    def test_gives_the_loss_of_one_process_on_the_last_stages_rank(self, steps, reference, name, p):
        losses = [record.loss for _, record, *_ in steps[name, p] if record.loss is not None]
        assert losses == [pytest.approx(reference[1], rel=1e-14)]

    def test_sends_the_bytes_of_the_formula(self, steps, name, p):
        timeline = simulate(name, p, len(EQUAL), chunks=chunks_of(name))
        expected = [count * MESSAGE_BYTES for count in timeline.messages]
        assert [sent for *_, sent, _ in steps[name, p]] == expected
        # The operating system's count: the same with a header of fixed size on each message.
        excess = [wire - sent for *_, sent, wire in steps[name, p]]
        headers = {e / count for e, count in zip(excess, timeline.messages, strict=True)}
        assert len(headers) == 1
        assert 0 < headers.pop() < 300

    def test_holds_what_the_simulator_says(self, steps, name, p):
        timeline = simulate(name, p, len(EQUAL), chunks=chunks_of(name))
        held = [record.peak_held / timeline.chunks for _, record, *_ in steps[name, p]]
        assert held == list(timeline.peak_activations)

    def test_keeps_to_the_order_and_to_what_actions_need(self, steps, name, p):
        orders, _ = make_orders(name, p, len(EQUAL), chunks_of(name))
        events = [event for _, record, *_ in steps[name, p] for event in record.events]
        assert [event.action for event in events] == [a for order in orders for a in order]
        ends = {event.action: event.end for event in events}
        for event in events:
            before = event.action._replace(stage=event.action.stage - 1)
            if event.action.kind == "F" and before in ends:
                assert ends[before] <= event.start


def test_uneven_micro_batches_count_by_their_sequences(reference):
    found = run(by_hand, 2, args=("zb_h1", [3, 1, 4]))
    ours = joined(gradients for gradients, *_ in found)
    assert largest_difference(ours, reference[0]).is_rounding(shared.NUM_TERMS)


def test_a_step_without_its_last_action_is_not_one_process(reference):
    ours = joined(found for found, *_ in run(by_hand, 2, args=("zb_h1", EQUAL, "dropped")))
    assert not largest_difference(ours, reference[0]).is_rounding(shared.NUM_TERMS)


def test_micro_batches_that_dont_fit_the_orders_are_refused():
    def misfits(rank, world_size):
        orders, _ = make_orders("1f1b", world_size, 2)
        stages = shared.my_stages(rank, orders, world_size)
        pipeline = Pipeline(stages, orders, width=shared.WIDTH, loss_fn=shared.loss_fn)
        said = []
        for sizes in ([8], [4, 2, 2], [8, 0]):
            parts = [tensor.split(sizes) for tensor in shared.batch()]
            try:
                pipeline.step(list(zip(*parts, strict=True)))
            except ValueError as error:
                said.append(str(error))
        return said

    for said in run(misfits):
        sizes = "[8]", "[4, 2, 2]", "[8, 0]"
        assert all(of in message for of, message in zip(sizes, said, strict=True))
        assert all("required are 2 of at least one" in message for message in said)


def test_a_rank_with_other_stages_than_its_orders_say_is_refused():
    def exchanged(rank, world_size):
        orders, _ = make_orders("gpipe", world_size, 2)
        stages = shared.my_stages(1 - rank, orders, world_size)
        Pipeline(stages, orders, width=shared.WIDTH, loss_fn=shared.loss_fn)

    with pytest.raises(DistributedError, match=r"holds the stages \[\d\], required are \[\d\]"):
        run(exchanged)
