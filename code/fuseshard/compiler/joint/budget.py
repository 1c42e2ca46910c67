"""Memory budgets: one joint graph cut at several, and a training step of MiniGPT at several."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.fx import GraphModule
from torch.nn import functional
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode

from fuseshard.compiler.isolate import isolated
from fuseshard.compiler.joint.examples import tower
from fuseshard.compiler.joint.graphs import op_name
from fuseshard.compiler.joint.memory import eager_bytes
from fuseshard.compiler.joint.records import (
    BudgetPoint,
    BudgetSweep,
    TrainingPoint,
    TrainingSweep,
)
from fuseshard.compiler.joint.trace import (
    MIN_CUT,
    Halves,
    Partitioner,
    Traced,
    memory_budget,
    trace,
)
from fuseshard.measure.clock import compare
from fuseshard.measure.experiments import experiment
from fuseshard.models.minigpt import MiniGPT, MiniGPTConfig

BUDGETS = (1.0, 0.9, 0.7, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0)

ROWS, WIDTH, NUM_HALVES = 257, 128, 3
"""sizes of the tower on the page; a prime number of rows"""

ROUNDS = 25
"""enough for an interval narrower than the range, at 99 % confidence"""

_VIEWS = {"aten.view", "aten.permute", "aten.expand", "aten.alias"}
"""operators without work of their own; a repeated one costs nothing"""

TRAINING_BUDGETS = (1.0, 0.7, 0.5, 0.2, 0.0)

CONFIG = MiniGPTConfig(vocabulary=4096, width=1024, num_layers=3, num_heads=16, context=512)
BATCH = 16
"""sequences; with the context, 8192 tokens a step"""

Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""tokens, [B, T], and next tokens, [B, T], to one number"""


def budget_sweep(
    budgets: Sequence[float] = BUDGETS,
    *,
    rows: int = ROWS,
    width: int = WIDTH,
    num_halves: int = NUM_HALVES,
    budget_s: float = 10.0,
) -> BudgetSweep:
    """Cut the joint graph of a tower of halves at several budgets, and time the pieces.

    The graph is traced once. The halves run operator by operator, so that nothing is fused: the
    times are an upper bound of what recomputing costs, and only comparable with each other.

    Args:
        budgets: from 1 down to 0.
        rows: rows of the input.
        width: features of a row, a multiple of 4.
        num_halves: halves of MiniGPT blocks, one after the other.
        budget_s: seconds of timing.

    Returns:
        One point a budget.
    """
    stacked, _ = tower(num_halves, width=width)
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(rows, width, generator=generator)
    tangent = torch.randn(rows, width, generator=generator)
    traced = trace(
        stacked,
        x.requires_grad_(),
        partitioners={str(budget): with_budget(budget) for budget in budgets},
    )
    steps = {name: step(traced, halves, tangent) for name, halves in traced.halves.items()}
    variants = _variants(traced.halves)
    distinct = dict.fromkeys(variants.values())
    comparison = compare({name: steps[name] for name in distinct}, rounds=ROUNDS, budget_s=budget_s)
    points = tuple(
        _point(float(name), halves, steps[name]) for name, halves in traced.halves.items()
    )
    return BudgetSweep(
        points=points,
        comparison=replace(comparison, origin=None),
        variants=variants,
        origin=comparison.origin,
    )


def with_budget(budget: float) -> Partitioner:
    """Make torch's min-cut partitioner one with a memory budget of its own.

    Args:
        budget: 1 keeps what is fastest, 0 keeps the inputs alone.
    """

    def partition(joint: GraphModule, *args: Any, **kwargs: Any) -> tuple[GraphModule, GraphModule]:
        with memory_budget(budget):
            return MIN_CUT(joint, *args, **kwargs)

    return partition


def step(traced: Traced, halves: Halves, *tangents: torch.Tensor) -> Callable[[], list[Any]]:
    """Make a function that runs a forward and a backward graph, without autograd around them.

    Args:
        traced: has the inputs.
        halves: one of its halves.
        tangents: one for each result of the function.

    Returns:
        A function without arguments that returns the gradients, in the order of the inputs.
    """

    @torch.no_grad()
    def run() -> list[Any]:
        kept = halves.forward(*traced.inputs)[traced.num_outputs :]
        return list(halves.backward(*kept, *tangents))

    return run


def repeated_ops(halves: Halves) -> dict[str, int]:
    """Count the operators of the forward graph that the backward graph runs again.

    Args:
        halves: cut from one joint graph, so that the same value has the same name in both.

    Returns:
        Operator -> calls; views are left out.
    """
    forward = {node.name for node in halves.forward.graph.nodes if op_name(node)}
    names = [op_name(n) for n in halves.backward.graph.nodes if n.name in forward]
    return dict(Counter(name for name in names if name not in {"", "getitem", *_VIEWS}))


def _variants(halves: dict[str, Halves]) -> dict[str, str]:
    """Give budgets that saved the same tensors one name, that of the first of them."""
    first: dict[tuple[str, ...], str] = {}
    return {
        name: first.setdefault(tuple(tensor.name for tensor in made.saved), name)
        for name, made in halves.items()
    }


def _point(budget: float, halves: Halves, run: Callable[[], object]) -> BudgetPoint:
    return BudgetPoint(
        budget=budget, saved=halves.saved, recomputed=repeated_ops(halves), flop=_flop(run)
    )


def _flop(run: Callable[[], object]) -> int:
    with FlopCounterMode(display=False) as counter:
        run()
    return int(counter.get_total_flops())


@experiment("aotautograd.budgets-gpu", needs="cuda")
def training_sweep_gpu() -> TrainingSweep:
    """Measure memory and time of a training step on a CUDA GPU."""
    return training_sweep(TRAINING_BUDGETS, config=CONFIG, batch=BATCH, device="cuda")


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
    tokens, targets = _data(config, batch, device)
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
        peak = _peak_bytes(steps[name], device)
        points.append(TrainingPoint(name=name, saved_bytes=saved, peak_bytes=peak))
    comparison = compare(steps, budget_s=budget_s, device=None if device == "cpu" else device)
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


def _data(config: MiniGPTConfig, batch: int, device: str) -> torch.Tensor:
    """Draw tokens and, as if they followed, next tokens: [2, B, T]."""
    generator = torch.Generator().manual_seed(0)
    shape = (2, batch, config.context)
    return torch.randint(config.vocabulary, shape, generator=generator).to(device)


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
