"""Memory: pure data, and what autograd keeps. Oracles: torch's hook, a paper, sums by hand."""

from dataclasses import replace

import pytest
import torch
from torch.nn.functional import cross_entropy

from fuseshard.distributed.planning import memory, shape
from fuseshard.distributed.planning.presets import model_preset
from fuseshard.distributed.planning.records import Degrees
from fuseshard.models.minigpt import MiniGPT, MiniGPTConfig
from tests.distributed.planning.shapes import SMALL

PLAIN = Degrees(1, 1, 1, 1, 1, False)


def kept_by_autograd(num_layers: int, num_sequences: int) -> int:
    """Bytes of all tensors that MiniGPT's forward pass saves, parameters left out."""
    model = MiniGPT(MiniGPTConfig(num_layers=num_layers))
    own = {param.untyped_storage().data_ptr() for param in model.parameters()}
    kept: dict[int, torch.Tensor] = {}

    def note(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.untyped_storage().data_ptr() not in own:
            kept[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    tokens = torch.randint(0, 600, (num_sequences, 129))
    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
    return sum(tensor.untyped_storage().nbytes() for tensor in kept.values())


@pytest.mark.parametrize("num_sequences", [1, 3])
def test_a_layer_keeps_what_autograd_keeps(num_sequences: int) -> None:
    mini = model_preset("minigpt")
    one, two = (kept_by_autograd(layers, num_sequences) for layers in (1, 2))
    # Beside the formula's: log-sums of four heads, mean and deviation of two norms, in float32.
    statistics = 4 * (4 + 4) * num_sequences * mini.sequence
    layer = memory.layer_activation_bytes(mini, num_sequences)
    assert two - one == layer + statistics
    rest = one - (two - one)
    assert rest == pytest.approx(memory.head_activation_bytes(mini, num_sequences), rel=0.01)


def test_a_gpt_layer_with_dropout_keeps_34_bytes_a_feature() -> None:
    gpt = replace(SMALL, num_kv_heads=6, feed_forward_width=4 * 96, has_dropout=True)
    # Korthikanti et al. 2022, equation 1 without its attention scores: s b h · 34.
    assert memory.layer_activation_bytes(gpt, 5) == 34 * gpt.sequence * 5 * gpt.width
    assert memory.layer_activation_bytes(replace(gpt, has_dropout=False), 5) == (
        32 * gpt.sequence * 5 * gpt.width
    )


def test_mixed_precision_with_adam_keeps_16_bytes_a_parameter() -> None:
    assert memory.state_bytes_per_parameter(SMALL) == 16
    held = memory.memory(SMALL, PLAIN)
    assert held.state_bytes == 16 * shape.num_parameters(SMALL)
    assert held.gathered_bytes == 0


def test_one_gpu_keeps_all_activations_of_the_batch() -> None:
    batch = SMALL.global_batch
    layers = 6 * memory.layer_activation_bytes(SMALL, batch)
    held = memory.memory(SMALL, PLAIN)
    assert held.activation_bytes == layers + memory.head_activation_bytes(SMALL, batch)
    halves = memory.memory(SMALL, PLAIN._replace(num_micro_batches=2))
    assert halves.activation_bytes == held.activation_bytes / 2


def test_recomputing_keeps_inputs_and_one_whole_layer() -> None:
    held = memory.memory(SMALL, PLAIN._replace(recomputes=True))
    batch = SMALL.global_batch
    inputs = 6 * 2 * batch * SMALL.sequence * SMALL.width
    whole = memory.layer_activation_bytes(SMALL, batch)
    assert held.activation_bytes == inputs + whole + memory.head_activation_bytes(SMALL, batch)


def test_each_axis_divides_what_it_should_and_nothing_else() -> None:
    one = memory.memory(SMALL, PLAIN._replace(num_micro_batches=12))
    dp = memory.memory(SMALL, Degrees(3, 1, 1, 1, 4, False))
    assert (dp.state_bytes, dp.activation_bytes) == (one.state_bytes, one.activation_bytes)
    fsdp = memory.memory(SMALL, Degrees(1, 3, 1, 1, 4, False))
    assert fsdp.state_bytes == pytest.approx(one.state_bytes / 3)
    assert fsdp.activation_bytes == one.activation_bytes
    assert fsdp.gathered_bytes == 6 * shape.largest_unit(SMALL)
    tp = memory.memory(SMALL, Degrees(1, 1, 3, 1, 12, False))
    assert tp.state_bytes == pytest.approx(one.state_bytes / 3)
    assert tp.activation_bytes == pytest.approx(one.activation_bytes / 3)


def test_the_first_stage_keeps_as_many_micro_batches_as_there_are_stages() -> None:
    deep = Degrees(1, 1, 1, 3, 12, False)
    per_layer = memory.layer_activation_bytes(SMALL, 1)
    assert memory.memory(SMALL, deep).activation_bytes == 3 * 2 * per_layer
    # With two micro-batches of six, there are never three in flight.
    few = deep._replace(num_micro_batches=2)
    assert memory.memory(SMALL, few).activation_bytes == 2 * 2 * 6 * per_layer


def test_the_last_stage_counts_where_its_head_is_large() -> None:
    wordy = replace(SMALL, vocabulary=100_003)
    held = memory.memory(wordy, Degrees(1, 1, 1, 3, 12, False))
    _, last = shape.stage_parameters(wordy, 3)
    assert held.state_bytes == 16 * last
    head = memory.head_activation_bytes(wordy, 1)
    assert held.activation_bytes == 2 * memory.layer_activation_bytes(wordy, 1) + head
