"""How much of a training step torch.compile captures, for several ways to hand it over.

B = rows in the batch, F = features.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import cast

import torch

# Private, checked on torch 2.13: counters, configuration, exceptions. Once `.backward()` is traced
# without being asked (pytorch#167732), `traced_autograd` is obsolete: fewer breaks are counted.
import torch._dynamo.config
import torch._dynamo.exc
from torch import nn
from torch._dynamo.utils import counters
from torch.nn import functional

from fuseshard.compiler.isolate import isolated
from fuseshard.compiler.text import clean
from fuseshard.compiler.training.adamw import AdamW
from fuseshard.compiler.training.quiet import without_profiler_notes
from fuseshard.compiler.training.records import StepCapture
from fuseshard.compiler.training.watching import watching_backend

FEATURES, HIDDEN, BATCH = 7, 12, 5
LEARNING_RATE = 0.01

Step = Callable[[], object]


class TwoLayers(nn.Module):
    """Two linear layers with ReLU between them."""

    def __init__(self) -> None:
        """Make the layers with the same parameters each time."""
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            self.first, self.second = nn.Linear(FEATURES, HIDDEN), nn.Linear(HIDDEN, FEATURES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map [B, F] to [B, F]."""
        return self.second(functional.relu(self.first(x)))


@dataclass(frozen=True)
class Parts:
    """What a training step is made of."""

    model: nn.Module
    x: torch.Tensor
    target: torch.Tensor
    optimizer: torch.optim.Optimizer


def make_parts() -> Parts:
    """Make the same small problem each time."""
    generator = torch.Generator().manual_seed(1)
    x, target = (torch.randn(BATCH, FEATURES, generator=generator) for _ in range(2))
    model = TwoLayers()
    return Parts(model, x, target, torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE))


def loss_only(parts: Parts) -> Step:
    """Hand over the forward pass and the loss; the caller does the rest."""
    model, x, target = parts.model, parts.x, parts.target

    def step() -> torch.Tensor:
        return functional.mse_loss(model(x), target)

    return step


def loss_and_backward(parts: Parts) -> Step:
    """Hand over `.backward()` as well."""
    model, x, target = parts.model, parts.x, parts.target

    def step() -> None:
        loss = functional.mse_loss(model(x), target)
        loss.backward()

    return step


def whole_step(parts: Parts) -> Step:
    """Hand over everything: gradients to zero, loss, backward, optimizer."""
    model, x, target, optimizer = parts.model, parts.x, parts.target, parts.optimizer

    def step() -> None:
        optimizer.zero_grad()
        loss = functional.mse_loss(model(x), target)
        loss.backward()
        optimizer.step()

    return step


def one_graph(parts: Parts) -> Step:
    """Hand over the same step as functions of tensors: gradients, and AdamW by hand."""
    model, x, target = parts.model, parts.x, parts.target
    params = cast(list[nn.Parameter], list(model.parameters()))
    optimizer = AdamW(params, torch.tensor(LEARNING_RATE))

    def step() -> torch.Tensor:
        loss = functional.mse_loss(model(x), target)
        optimizer.step(torch.autograd.grad(loss, params))
        return loss.detach()

    return step


WAYS: dict[str, Callable[[Parts], Step]] = {
    "loss": loss_only,
    "backward": loss_and_backward,
    "whole": whole_step,
    "one graph": one_graph,
}


def step_captures(names: Sequence[str] = tuple(WAYS)) -> list[StepCapture]:
    """Compile each way without Inductor, call it three times, and count.

    Args:
        names: some of `WAYS`.

    Returns:
        One count a way.
    """
    return [_capture(name) for name in names]


def traced_autograd() -> AbstractContextManager[object]:
    """Let Dynamo trace calls of autograd; off by default on torch 2.13."""
    patched: AbstractContextManager[object] = torch._dynamo.config.patch(trace_autograd_ops=True)
    return patched


def losses(name: str, num_steps: int, *, compiled: bool) -> list[float]:
    """Train for some steps one way, and return the loss before each.

    Args:
        name: one of `WAYS`.
        num_steps: calls.
        compiled: whether to compile it, without Inductor.
    """
    parts = make_parts()
    step = WAYS[name](parts)
    if compiled:
        is_one = name == "one graph"
        step = torch.compile(isolated(step), backend="aot_eager", fullgraph=is_one, dynamic=False)
    series = []
    with traced_autograd(), without_profiler_notes():
        for _ in range(num_steps):
            with torch.no_grad():
                series.append(float(functional.mse_loss(parts.model(parts.x), parts.target)))
            step()
    return series


def _capture(name: str) -> StepCapture:
    """Count graphs, breaks and what reaches the backend, for one way."""
    operations: dict[str, int] = {}

    def count(kind: str, graph: torch.fx.GraphModule) -> None:
        operations[kind] = sum(node.op == "call_function" for node in graph.graph.nodes)

    step = isolated(WAYS[name](make_parts()))
    compiled = torch.compile(step, backend=watching_backend(count), dynamic=False)
    graphs, reasons = counters["stats"]["unique_graphs"], dict(counters["graph_break"])
    traced = traced_autograd() if name == "one graph" else nullcontext()
    with traced, without_profiler_notes():
        for _ in range(3):
            compiled()
    new = {why: n - reasons.get(why, 0) for why, n in counters["graph_break"].items()}
    return StepCapture(
        name=name,
        graphs=counters["stats"]["unique_graphs"] - graphs,
        breaks={clean(why).splitlines()[0]: n for why, n in new.items() if n},
        operations=operations,
    )


def fullgraph_message() -> str:
    """Compile the usual training step with fullgraph=True, and return what Dynamo says.

    Returns:
        The first two lines of its message.

    Raises:
        RuntimeError: it says nothing, because the step has become one graph.
    """
    step = torch.compile(
        isolated(whole_step(make_parts())), backend="eager", fullgraph=True, dynamic=False
    )
    try:
        step()
    except torch._dynamo.exc.Unsupported as error:
        return "\n".join(clean(str(error)).splitlines()[:2])
    raise RuntimeError(
        "fullgraph_message: the step was captured as one graph, required a refusal (the page shows "
        "it); tell the reader that the whole step can be compiled now."
    )
