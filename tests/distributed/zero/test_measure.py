"""One step measured. Oracles: the closed formulas, and fully_shard against the version by hand.

2, 3 and 4 gloo ranks, one launch a size and way.
"""

import math

import pytest

from fuseshard.distributed.zero.formulas import model_state_bytes, step_traffic_bytes
from fuseshard.distributed.zero.measure import measure_step, measure_steps
from fuseshard.models.minigpt import MiniGPTConfig

NUM_PARAMETERS = MiniGPTConfig().num_parameters
NUM_TENSORS = 12 * 4 + 2 + 2 + 2  # of the blocks, the embeddings, the last norm and the head
STAGES = {"ddp": 0, "zero1": 1, "zero2": 2, "zero3": 3, "fully_shard": 3}


@pytest.fixture(scope="module", params=[2, 4], ids="N={}".format)
def measured(request):
    size = request.param
    found = measure_steps([(variant, True) for variant in STAGES], size)
    return dict(zip(STAGES, found, strict=True))


@pytest.mark.ranks
@pytest.mark.parametrize("variant", STAGES)
def test_a_rank_keeps_what_the_formula_says(measured, variant) -> None:
    for memory, _ in measured[variant]:
        said = model_state_bytes(NUM_PARAMETERS, memory.world_size, STAGES[variant])
        assert memory.states.parameters == said.parameters
        assert memory.states.gradients == said.gradients
        # Adam also keeps a counter of 4 bytes for each tensor that it updates.
        num_tensors = 5 if variant.startswith("zero") else NUM_TENSORS
        assert memory.states.optimizer_states == said.optimizer_states + 4 * num_tensors


@pytest.mark.ranks
@pytest.mark.parametrize("variant", STAGES)
def test_a_rank_sends_what_the_formula_says(measured, variant) -> None:
    for memory, _ in measured[variant]:
        stage = STAGES[variant]
        assert memory.sent == step_traffic_bytes(4 * NUM_PARAMETERS, memory.world_size, stage)
        # Must-fail twin: the formula of another stage, or of the same without resharding.
        kept = 4 * NUM_PARAMETERS if stage == 3 else 0
        assert memory.sent != step_traffic_bytes(
            4 * NUM_PARAMETERS, memory.world_size, 3, kept_bytes=kept
        )


@pytest.mark.ranks
def test_by_hand_and_by_torch_the_same_is_whole_at_each_layer(measured) -> None:
    for (_, ours), (_, torchs) in zip(measured["zero3"], measured["fully_shard"], strict=True):
        assert [m.layer for m in ours.moments] == [m.layer for m in torchs.moments]
        assert [m.whole for m in ours.moments] == [m.whole for m in torchs.moments]
        # Must-fail twin: unsharded parameters are always whole.
    _, always = measured["ddp"][0]
    assert [m.whole for m in always.moments] != [m.whole for m in ours.moments]


@pytest.mark.ranks
def test_activations_do_not_depend_on_the_way(measured) -> None:
    assert len({memory.activations for ranks in measured.values() for memory, _ in ranks}) == 1


@pytest.mark.ranks
def test_all_live_tensors_hold_at_least_what_is_counted_by_category(measured) -> None:
    for ranks in measured.values():
        for memory, _ in ranks:
            states = memory.states.parameters + memory.states.optimizer_states
            assert states + memory.activations + memory.gathered < memory.peak
            assert memory.peak < 2 * (states + memory.states.gradients + memory.activations) + 1e6


@pytest.mark.ranks
def test_three_ranks_pad_and_so_send_a_little_more() -> None:
    said = step_traffic_bytes(4 * NUM_PARAMETERS, 3, 3)
    for variant in ("zero3", "fully_shard"):
        sent = [m.sent for m, _ in measure_step(variant, 3, reshard_after_forward=True)]
        assert len(set(sent)) == 1
        assert said < sent[0] < 1.02 * said


@pytest.mark.parametrize("size", [0, -1, 2.5, True, math.nan])
def test_a_world_that_cannot_be_is_refused_before_anything_starts(size) -> None:
    with pytest.raises(ValueError, match="world_size is"):
        measure_step("zero3", size)


def test_other_bad_input_is_refused_before_anything_starts() -> None:
    with pytest.raises(ValueError, match="variant is 'zero9'"):
        measure_step("zero9", 2)
    with pytest.raises(ValueError, match="learning_rate is nan"):
        measure_steps([("zero3", None)], 2, learning_rate=math.nan)
    with pytest.raises(ValueError, match="width is 0"):
        measure_steps([("zero3", None)], 2, width=0)
