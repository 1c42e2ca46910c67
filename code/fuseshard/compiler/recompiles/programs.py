"""The functions that the chapter calls again and again, and what changes between the calls."""

from __future__ import annotations

from types import SimpleNamespace

import torch
from torch import nn

WIDTH = 6
"""size of the dimension that stays as it is"""


def scaled_softmax(x: torch.Tensor) -> torch.Tensor:
    """Two operations on [T, WIDTH]; any T will do."""
    return torch.softmax(2 * x, dim=-1)


def double(x: torch.Tensor) -> torch.Tensor:
    """One operation, for guards that have nothing to do with it."""
    return 2 * x


def times(x: torch.Tensor, n: float) -> torch.Tensor:
    """Multiply by a Python number."""
    return n * x


def long_or_short(x: torch.Tensor) -> torch.Tensor:
    """Branch on a size, which the graph then has to remember."""
    return x.cumsum(0) if x.shape[0] > 10 else x.sum(0, keepdim=True)


def positive_places(x: torch.Tensor) -> torch.Tensor:
    """Return indices of which nobody knows how many there are before it runs."""
    return 2 * (x > 0).nonzero()


def maybe_double(x: torch.Tensor, is_on: bool) -> torch.Tensor:
    """Return early, without an operation on tensors, if switched off."""
    if not is_on:
        return x
    return 2 * x


class CountsInPython(nn.Module):
    """Keep a step counter as a Python int."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.steps += 1
        return x / self.steps


class CountsInTensor(nn.Module):
    """Keep the step counter as a buffer."""

    steps: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("steps", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.steps += 1
        return x / self.steps


class KnowsItsIndex(nn.Module):
    """Scale by the layer's index, a Python int."""

    def __init__(self, index: int) -> None:
        super().__init__()
        self.index = index

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x / (self.index + 1)


class KnowsItsScale(nn.Module):
    """Scale by a buffer that was made from the layer's index."""

    scale: torch.Tensor

    def __init__(self, index: int) -> None:
        super().__init__()
        self.register_buffer("scale", torch.tensor(index + 1.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x / self.scale


SETTINGS = SimpleNamespace(step=2)
"""a global that a training loop would change"""


def reads_a_global(x: torch.Tensor) -> torch.Tensor:
    """Read the step from a global object."""
    return x / SETTINGS.step


def takes_the_step(x: torch.Tensor, step: int) -> torch.Tensor:
    """Take the step as an argument."""
    return x / step


def adds_a_list(tensors: list[torch.Tensor]) -> torch.Tensor:
    """Add up a list in a Python loop, which tracing unrolls."""
    total = tensors[0]
    for tensor in tensors[1:]:
        total = total + tensor
    return total


def adds_a_stack(stacked: torch.Tensor) -> torch.Tensor:
    """Add up the same tensors, stacked into one."""
    return stacked.sum(0)


SCALES = {f"task-{index}": 1.0 + index for index in range(12)}
"""a table that a model with many tasks would have"""


def looks_up_inside(x: torch.Tensor, task: str) -> torch.Tensor:
    """Look a scale up by its name, inside."""
    return SCALES[task] * x


def takes_the_scale(x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """Take the scale, looked up outside."""
    return scale * x
