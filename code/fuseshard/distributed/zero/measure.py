"""One training step of MiniGPT, its memory by category and its traffic, for each way to train.

N = ranks. Everything is float32 and on the CPU, so that bytes are exact and equal on any machine,
but for the peak under `fully_shard`, which varies a little from run to run.
"""

import gc
from collections.abc import Sequence

import torch
import torch.distributed as dist
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


Setting = tuple[Variant, bool | None]
"""a way to train, and `reshard_after_forward`, which `zero3` and `fully_shard` heed"""
Measured = tuple[StepMemory, Residency]
"""what one rank held and sent in a step, and which unit was whole when"""


def measure_steps(
    settings: Sequence[Setting],
    world_size: int,
    *,
    width: int = 64,
    learning_rate: float = 1e-3,
) -> list[list[Measured]]:
    """Train MiniGPT for two steps by each way on `world_size` ranks; measure the second step.

    The first step makes the optimizer's states.

    Args:
        settings: ways to train, each with its `reshard_after_forward`, see `shard_by_hand`.
        world_size: N.
        width: MiniGPT's.
        learning_rate: AdamW's.

    Returns:
        for each setting, what was measured on each rank, in rank order.

    Raises:
        ValueError: an argument can't work; no process was started.
    """
    for variant, _ in settings:
        check_variant(variant)
    check_world_size(world_size)
    check_positive("learning_rate", learning_rate)
    args = (list(settings), (MiniGPTConfig(width=width), learning_rate))
    by_rank = run(_all_measured, world_size, args=args)
    return [list(ranks) for ranks in zip(*by_rank, strict=True)]


def measure_step(
    variant: Variant, world_size: int, *, reshard_after_forward: bool | None = None
) -> list[Measured]:
    """Do the same for one way to train.

    Args:
        variant: the way.
        world_size: N.
        reshard_after_forward: for `zero3` and `fully_shard`.

    Returns:
        what was measured on each rank, in rank order.
    """
    (ranks,) = measure_steps([(variant, reshard_after_forward)], world_size)
    return ranks


def _all_measured(
    rank: int, world_size: int, settings: list[Setting], shared: tuple[MiniGPTConfig, float]
) -> list[Measured]:
    """One rank's steps, one way after the other."""
    config, learning_rate = shared
    return [_measured(rank, setting, config, learning_rate) for setting in settings]


def _measured(rank: int, setting: Setting, config: MiniGPTConfig, learning_rate: float) -> Measured:
    """One rank's second step."""
    variant, reshard = setting
    generator = torch.Generator().manual_seed(rank)
    with LiveTensors() as live:
        model = MiniGPT(config)
        blocks = list(model.blocks)
        training = prepare(
            variant,
            model,
            blocks,
            learning_rate=learning_rate,
            reshard_after_forward=reshard,
        )
        training.step(_loss(model, generator))
        gc.collect()  # what the first step left in cycles would count until some later moment
        live.peak_bytes = 0
        units = {f"block {index}": block for index, block in enumerate(blocks)}
        with CommMeter() as meter:
            recorder = ResidencyRecorder(model, {"root": model, **units}, meter)
            with SavedForBackward(model) as saved:
                loss = _loss(model, generator)
            states = _backward(training, loss)
    memory = StepMemory(
        variant=variant,
        world_size=dist.get_world_size(),
        rank=rank,
        states=states,
        activations=saved.num_bytes,
        gathered=recorder.record.most_bytes if variant in ("zero3", "fully_shard") else 0,
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
