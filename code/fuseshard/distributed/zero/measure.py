"""One training step of MiniGPT, its memory by category and its traffic, for each way to train.

N = ranks. Everything is float32 and on the CPU, so that bytes are exact and equal on any machine.
"""

from dataclasses import dataclass

import torch
from torch.nn.functional import cross_entropy

from fuseshard.distributed.launcher import run
from fuseshard.distributed.meter import CommMeter
from fuseshard.distributed.zero.formulas import check_positive, check_world_size
from fuseshard.distributed.zero.memory import (
    LiveTensors,
    SavedForBackward,
    optimizer_state_bytes,
    storage_bytes,
)
from fuseshard.distributed.zero.records import ModelStates, Residency, StepMemory
from fuseshard.distributed.zero.residency import ResidencyRecorder
from fuseshard.distributed.zero.training import Training, Variant, check_variant, prepare
from fuseshard.models.minigpt import MiniGPT, MiniGPTConfig

_NUM_SEQUENCES, _NUM_TOKENS = 2, 33


def measure_step(
    variant: Variant,
    world_size: int,
    *,
    width: int = 64,
    reshard_after_forward: bool | None = None,
    learning_rate: float = 1e-3,
) -> list[tuple[StepMemory, Residency]]:
    """Train MiniGPT for two steps on `world_size` ranks and measure the second.

    The first step makes the optimizer's states.

    Args:
        variant: the way to train.
        world_size: N.
        width: MiniGPT's.
        reshard_after_forward: for `zero3` and `fully_shard`, see `shard_by_hand`.
        learning_rate: AdamW's.

    Returns:
        what each rank held and sent, and which unit was whole when; in rank order.

    Raises:
        ValueError: an argument can't work; no process was started.
    """
    check_variant(variant)
    check_world_size(world_size)
    check_positive("learning_rate", learning_rate)
    setup = _Setup(variant, MiniGPTConfig(width=width), reshard_after_forward, learning_rate)
    return run(_measured, world_size, args=(setup,))


@dataclass(frozen=True)
class _Setup:
    """What all ranks do."""

    variant: Variant
    config: MiniGPTConfig
    reshard_after_forward: bool | None
    learning_rate: float


def _measured(rank: int, world_size: int, setup: _Setup) -> tuple[StepMemory, Residency]:
    """One rank's second step."""
    generator = torch.Generator().manual_seed(rank)
    with LiveTensors() as live:
        model = MiniGPT(setup.config)
        blocks = list(model.blocks)
        training = prepare(
            setup.variant,
            model,
            blocks,
            learning_rate=setup.learning_rate,
            reshard_after_forward=setup.reshard_after_forward,
        )
        training.step(_loss(model, generator))
        live.peak_bytes = 0
        units = {f"block {index}": block for index, block in enumerate(blocks)}
        with CommMeter() as meter:
            recorder = ResidencyRecorder(model, {"rest": model, **units}, meter)
            with SavedForBackward(model) as saved:
                loss = _loss(model, generator)
            states = _backward(training, loss)
    memory = StepMemory(
        variant=setup.variant,
        world_size=world_size,
        rank=rank,
        states=states,
        activations=saved.num_bytes,
        gathered=recorder.record.most_bytes if setup.variant in ("zero3", "fully_shard") else 0,
        peak=live.peak_bytes,
        sent=meter.sent_bytes_per_rank,
    )
    return memory, recorder.record


def _backward(training: Training, loss: torch.Tensor) -> ModelStates:
    """Finish the step, and count what is there right after the backward pass."""
    loss.backward()
    params = [*training.model.parameters(), *training.kept]
    trained = [param for group in training.optimizer.param_groups for param in group["params"]]
    states = ModelStates(
        parameters=storage_bytes(training.kept),
        gradients=storage_bytes(_gradients([*params, *trained])),
        optimizer_states=optimizer_state_bytes(training.optimizer),
    )
    training.reduce()
    training.optimizer.step()
    training.gather()
    return states


def _gradients(tensors: list[torch.Tensor]) -> list[torch.Tensor | None]:
    return [tensor.grad for tensor in tensors if tensor.is_leaf]


def _loss(model: torch.nn.Module, generator: torch.Generator) -> torch.Tensor:
    """Mean loss over tokens that differ from rank to rank."""
    tokens = torch.randint(0, 600, (_NUM_SEQUENCES, _NUM_TOKENS), generator=generator)
    logits = model(tokens[:, :-1])
    return cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
