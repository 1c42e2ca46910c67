"""A training step of MiniGPT at several memory budgets, by Inductor, on a GPU."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from fuseshard.compiler.isolate import isolated
from fuseshard.compiler.joint.memory import eager_bytes
from fuseshard.compiler.joint.records import TrainingPoint, TrainingSweep
from fuseshard.compiler.joint.trace import memory_budget
from fuseshard.measure.clock import compare
from fuseshard.measure.experiments import experiment
from fuseshard.models.minigpt import MiniGPT, MiniGPTConfig

BUDGETS = (1.0, 0.7, 0.5, 0.2, 0.0)

CONFIG = MiniGPTConfig(vocabulary=4096, width=1024, num_layers=3, num_heads=16, context=512)
BATCH = 16
"""sequences; with the context, 8192 tokens a step"""

Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""tokens, [B, T], and next tokens, [B, T], to one number"""


@experiment("aotautograd.budgets-gpu", needs="cuda")
def training_sweep_gpu() -> TrainingSweep:
    """Measure memory and time of a training step on a CUDA GPU."""
    return training_sweep(BUDGETS, config=CONFIG, batch=BATCH, device="cuda")


def training_sweep(
    budgets: Sequence[float],
    *,
    config: MiniGPTConfig,
    batch: int,
    device: str,
    backend: str = "inductor",
    budget_s: float = 20.0,
) -> TrainingSweep:
    """Run a step in eager mode, with each block checkpointed, and compiled at each budget.

    Args:
        budgets: of the partitioner.
        config: the model's sizes.
        batch: sequences of a step, each as long as the model's context.
        device: "cuda", or "cpu", which counts no peak.
        backend: who compiles.
        budget_s: seconds of timing.

    Returns:
        One point for each way, bfloat16 throughout.
    """
    model = MiniGPT(config).to(device, torch.bfloat16)
    parameters = list(model.parameters())
    generator = torch.Generator().manual_seed(0)
    shape = (2, batch, config.context)
    tokens, targets = torch.randint(config.vocabulary, shape, generator=generator).to(device)
    losses = _losses(model, budgets, backend)
    steps = {
        name: partial(_step, loss, tokens, targets, parameters) for name, loss in losses.items()
    }
    points = []
    for name, loss in losses.items():
        with memory_budget(float(name) if name in map(str, budgets) else 1.0):
            steps[name]()  # compiles
        # Saved-tensor hooks hear of a compiled function's tensors as well.
        saved = eager_bytes(loss, tokens, targets, free=[*parameters, tokens, targets])
        points.append(
            TrainingPoint(name=name, saved_bytes=saved, peak_bytes=_peak_bytes(steps[name], device))
        )
    clock_device = None if device == "cpu" else device
    comparison = compare(steps, budget_s=budget_s, device=clock_device)
    return TrainingSweep(
        device=device,
        dtype="bfloat16",
        width=config.width,
        num_layers=config.num_layers,
        batch=batch,
        tokens=config.context,
        points=tuple(points),
        # One origin for all: a recording replaces it, and would miss one further in.
        comparison=replace(comparison, origin=None),
        origin=comparison.origin,
    )


def _losses(model: MiniGPT, budgets: Sequence[float], backend: str) -> Mapping[str, Loss]:
    def eager(tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return _cross_entropy(model(tokens), targets)

    def checkpointed(tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return _cross_entropy(_block_by_block(model, tokens), targets)

    losses: dict[str, Loss] = {"eager": eager, "checkpoint": checkpointed}
    for budget in budgets:
        losses[str(budget)] = torch.compile(isolated(eager), backend=backend, dynamic=False)
    return losses


def _block_by_block(model: MiniGPT, tokens: torch.Tensor) -> torch.Tensor:
    """Do what MiniGPT's forward does, keeping of each block its input alone."""
    positions = torch.arange(tokens.shape[-1], device=tokens.device)
    x = model.token_embedding(tokens) + model.position_embedding(positions)
    for block in model.blocks:
        x = checkpoint(block, x, use_reentrant=False)
    logits: torch.Tensor = model.head(model.norm(x))
    return logits


def _cross_entropy(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def _step(
    loss: Loss, tokens: torch.Tensor, targets: torch.Tensor, parameters: list[nn.Parameter]
) -> tuple[torch.Tensor, ...]:
    return torch.autograd.grad(loss(tokens, targets), parameters)


def _peak_bytes(run: Callable[[], object], device: str) -> int | None:
    if device == "cpu":
        return None
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    run()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before
