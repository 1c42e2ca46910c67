"""Identical layers in a row: the shape of model in which compile time grows with depth.

B = rows, D = width.
"""

import torch
from torch import nn

RECIPE_WIDTH = 10
"""features of a row in PyTorch's recipe on regional compilation"""

WEIGHT_SCALE = 8.0
"""times torch's initial weights, which would make all rows alike after a few layers, so that a
test couldn't tell one row from another"""


class Layer(nn.Module):
    """Two linear maps, ReLU and sigmoid after the first, ReLU after the second.

    Source:
        https://docs.pytorch.org/tutorials/recipes/regional_compilation.html, where 64 of them
        stand for the blocks of a language model.
    """

    def __init__(self, width: int = RECIPE_WIDTH) -> None:
        """Make both maps, D to D."""
        super().__init__()
        self.first = nn.Linear(width, width)
        self.second = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Transform rows: [B, D] to [B, D]."""
        x = torch.sigmoid(torch.relu(self.first(x)))
        return torch.relu(self.second(x))


class HalfLayer(nn.Module):
    """The first half of a layer: the smallest program for which Inductor writes one kernel."""

    def __init__(self, width: int = RECIPE_WIDTH, *, seed: int = 0) -> None:
        """Make the linear map, D to D, untrained; the global generator is left as it was."""
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.linear = nn.Linear(width, width)
        _scale(self)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Transform rows: [B, D] to [B, D]."""
        x = torch.relu(self.linear(x))
        return torch.sigmoid(x)


class Stack(nn.Module):
    """Layers of one kind, one after the other.

    Args:
        num_layers: how many.
        width: D, features of a row.
        seed: of the initial parameters; the global generator is left as it was.
    """

    def __init__(self, num_layers: int, width: int = RECIPE_WIDTH, *, seed: int = 0) -> None:
        """Make the layers with parameters that depend on `seed` alone, none of them trained."""
        super().__init__()
        self.width = width
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.layers = nn.ModuleList(Layer(width) for _ in range(num_layers))
        _scale(self)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Apply every layer in turn: [B, D] to [B, D]."""
        for layer in self.layers:
            x = layer(x)
        return x


def rows(num_rows: int, width: int = RECIPE_WIDTH, *, seed: int = 0) -> torch.Tensor:
    """Draw an input for a stack.

    Args:
        num_rows: B.
        width: D.
        seed: of the numbers; the global generator is left as it was.

    Returns:
        [B, D], standard normal.
    """
    return torch.randn(num_rows, width, generator=torch.Generator().manual_seed(seed))


def _scale(model: nn.Module) -> None:
    """Scale the weights of all linear maps, and let no parameter need a gradient."""
    model.requires_grad_(False)
    for module in model.modules():
        if isinstance(module, nn.Linear):
            module.weight.mul_(WEIGHT_SCALE)
