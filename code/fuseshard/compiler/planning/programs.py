"""Six small programs for memory planning, from one long chain to one fused kernel.

B = rows (256), D = features of a row (64), H = features of a wide row (256).
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch

ROWS, WIDTH, WIDE = 256, 64, 256


@dataclass(frozen=True)
class Program:
    """A function with its arguments, which it takes in the order in which it uses them."""

    fn: Callable[..., torch.Tensor]
    args: tuple[torch.Tensor, ...]

    def __call__(self) -> torch.Tensor:
        """Run it eagerly."""
        return self.fn(*self.args)


def products(x: torch.Tensor, *weights: torch.Tensor) -> torch.Tensor:
    """Multiply by one matrix after the other.

    Args:
        x: [B, D]; not modified.
        weights: [D, D] each.
    """
    for weight in weights:
        x = x @ weight
    return x


def layers(x: torch.Tensor, *weights: torch.Tensor) -> torch.Tensor:
    """Multiply by one matrix after the other, with a relu in between.

    Args:
        x: [B, D]; not modified.
        weights: [D, D] each.
    """
    for weight in weights[:-1]:
        x = torch.relu(x @ weight)
    return x @ weights[-1]


def blocks(x: torch.Tensor, *weights: torch.Tensor) -> torch.Tensor:
    """Add to x, twice, what two matrices and a relu make of it, as a transformer's MLPs do.

    Args:
        x: [B, D]; not modified.
        weights: up [D, H] and down [H, D], in turn.
    """
    for up, down in zip(weights[::2], weights[1::2], strict=True):
        x = x + torch.relu(x @ up) @ down
    return x


def gated(x: torch.Tensor, *weights: torch.Tensor) -> torch.Tensor:
    """Multiply two projections, one of them through a sigmoid, and project back; twice.

    Args:
        x: [B, D]; not modified.
        weights: gate [D, H], up [D, H] and down [H, D], in turn.
    """
    for gate, up, down in zip(weights[::3], weights[1::3], weights[2::3], strict=True):
        x = (torch.sigmoid(x @ gate) * (x @ up)) @ down
    return x


def attention(
    x: torch.Tensor, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor
) -> torch.Tensor:
    """Compute one attention head, step by step.

    Args:
        x: [B, D]; not modified.
        query: [D, D].
        key: [D, D].
        value: [D, D].
    """
    weights = torch.softmax((x @ query) @ (x @ key).T, dim=-1)
    return weights @ (x @ value)


def pointwise(x: torch.Tensor) -> torch.Tensor:
    """Apply a gelu, written out with tanh.

    Args:
        x: [B, H]; not modified.
    """
    return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def programs() -> dict[str, Program]:
    """Make the programs; values are drawn from a fixed seed and nothing needs a gradient."""
    generator = torch.Generator().manual_seed(0)

    def matrix(rows: int, columns: int) -> torch.Tensor:
        return torch.randn(rows, columns, generator=generator) / rows**0.5

    x = torch.randn(ROWS, WIDTH, generator=generator)
    squares = [matrix(WIDTH, WIDTH) for _ in range(4)]
    ups = [matrix(WIDTH, WIDE) for _ in range(4)]
    downs = [matrix(WIDE, WIDTH) for _ in range(2)]
    return {
        "products": Program(products, (x, *squares)),
        "layers": Program(layers, (x, *squares)),
        "blocks": Program(blocks, (x, ups[0], downs[0], ups[1], downs[1])),
        "gated": Program(gated, (x, ups[0], ups[1], downs[0], ups[2], ups[3], downs[1])),
        "attention": Program(attention, (x, *squares[:3])),
        "pointwise": Program(pointwise, (torch.randn(ROWS, WIDE, generator=generator),)),
    }
