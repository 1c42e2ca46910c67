"""Three small programs on which a CPU can try every mode: pointwise, products, a transformer."""

import copy
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import nn

from fuseshard.compiler.isolate import isolated
from fuseshard.models.minigpt import MiniGPT, MiniGPTConfig


@dataclass(frozen=True)
class Program:
    """A function of one tensor, with an input for it."""

    fn: Callable[[torch.Tensor], torch.Tensor]
    x: torch.Tensor

    def __call__(self) -> torch.Tensor:
        """Run it eagerly."""
        return self.fn(self.x)

    def exact(self) -> torch.Tensor:
        """Run it eagerly in float64, on the same numbers."""
        wide = copy.deepcopy(self.fn).double() if isinstance(self.fn, nn.Module) else self.fn
        return wide(self.x.double() if self.x.is_floating_point() else self.x)

    def calls(self, modes: Sequence[str]) -> dict[str, Callable[[], torch.Tensor]]:
        """Compile it under each mode, for its first call to come.

        Args:
            modes: of torch.compile.

        Returns:
            Mode -> function without arguments; each has a code object of its own.
        """
        return {
            mode: functools.partial(
                torch.compile(isolated(self.fn), mode=mode, dynamic=False), self.x
            )
            for mode in modes
        }


def chain(x: torch.Tensor) -> torch.Tensor:
    """Apply six pointwise operations.

    Args:
        x: any shape; not modified.

    Returns:
        A new tensor of the same shape.
    """
    return torch.tanh(torch.relu(x * 2 + 1)).sigmoid() * x


def programs() -> dict[str, Program]:
    """Make the programs: a chain of pointwise operations, two layers, and a one-block MiniGPT.

    Returns:
        "chain", "layers" and "minigpt"; sizes don't divide evenly, and nothing needs a gradient.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        layers = nn.Sequential(nn.Linear(300, 700), nn.ReLU(), nn.Linear(700, 100))
    model = MiniGPT(MiniGPTConfig(num_layers=1))
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(model.config.vocabulary, (2, 33), generator=generator)
    return {
        "chain": Program(chain, torch.randn(300, 700, generator=generator)),
        "layers": Program(layers.requires_grad_(False), torch.randn(65, 300, generator=generator)),
        "minigpt": Program(model.requires_grad_(False), tokens),
    }


def linear_layer() -> Program:
    """Make one linear layer with an input, for a single matrix product.

    Returns:
        65 rows, from 300 features to 700; without gradients.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        layer = nn.Linear(300, 700).requires_grad_(False)
    rows = torch.randn(65, 300, generator=torch.Generator().manual_seed(0))
    return Program(layer, rows)


def batched_product() -> Program:
    """Make three matrix products in one batched operation.

    Returns:
        Three matrices of 65 rows and 300 columns, each times one of 300 rows and 70 columns.
    """
    generator = torch.Generator().manual_seed(0)
    right = torch.randn(3, 300, 70, generator=generator)

    def product(x: torch.Tensor) -> torch.Tensor:
        return torch.bmm(x, right)

    return Program(product, torch.randn(3, 65, 300, generator=generator))
