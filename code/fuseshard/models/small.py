"""Three small models of other families than MiniGPT: a feed-forward block, a conv net, a GRU.

B = examples in the batch, D = features of one example, S = side of an image, T = time steps.
"""

import torch
from torch import nn
from torch.nn import functional

MLP_WIDTH, MLP_HIDDEN = 64, 256
"""features of an example, and of the layer between"""

IMAGE_SIDE, IMAGE_CHANNELS, NUM_CLASSES = 32, 3, 10

GRU_STEPS, GRU_FEATURES, GRU_HIDDEN = 8, 16, 32
"""time steps of a sequence, features of a step, and of the state"""


class ResidualMLP(nn.Module):
    """Two linear layers with GELU between them, added to their input.

    Args:
        seed: of the parameters; the global generator is left as it was.
    """

    def __init__(self, *, seed: int = 0) -> None:
        """Make the layers with parameters that depend on `seed` alone."""
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.up = nn.Linear(MLP_WIDTH, MLP_HIDDEN)
            self.down = nn.Linear(MLP_HIDDEN, MLP_WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Transform each example: [B, D] to [B, D]."""
        return x + self.down(functional.gelu(self.up(x)))


class ConvNet(nn.Module):
    """Two convolutions, each with batch norm and ReLU, then a mean over the image and a head.

    Args:
        seed: of the parameters; the global generator is left as it was.
    """

    def __init__(self, *, seed: int = 0) -> None:
        """Make the layers with parameters that depend on `seed` alone."""
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.first = nn.Conv2d(IMAGE_CHANNELS, 16, 3, padding=1)
            self.first_norm = nn.BatchNorm2d(16)
            self.second = nn.Conv2d(16, 32, 3, padding=1)
            self.second_norm = nn.BatchNorm2d(32)
            self.head = nn.Linear(32, NUM_CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Classify images: [B, 3, S, S] to [B, 10]."""
        x = functional.relu(self.first_norm(self.first(x)))
        x = functional.max_pool2d(x, 2)
        x = functional.relu(self.second_norm(self.second(x)))
        return self.head(x.mean(dim=(2, 3)))


class GRULoop(nn.Module):
    """A recurrent cell in a Python loop over time: many small operations, one after the other.

    Args:
        seed: of the parameters; the global generator is left as it was.
    """

    def __init__(self, *, seed: int = 0) -> None:
        """Make the cell with parameters that depend on `seed` alone."""
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.cell = nn.GRUCell(GRU_FEATURES, GRU_HIDDEN)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Read sequences: [B, T, 16] to the last state, [B, 32]."""
        state = x.new_zeros(x.shape[0], GRU_HIDDEN)
        for step in range(GRU_STEPS):
            state = self._step(x[:, step], state)
        return state

    def _step(self, x: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        """Do what `self.cell` does, spelled out: [B, 16] and [B, 32] to the next state, [B, 32]."""
        cell = self.cell
        new = functional.linear(x, cell.weight_ih, cell.bias_ih).chunk(3, dim=1)
        old = functional.linear(state, cell.weight_hh, cell.bias_hh).chunk(3, dim=1)
        reset, update = torch.sigmoid(new[0] + old[0]), torch.sigmoid(new[1] + old[1])
        candidate = torch.tanh(new[2] + reset * old[2])
        return candidate + update * (state - candidate)
