"""Programs of test_gpu.py, in a module of their own so that a second process can import them."""

import torch
import triton
import triton.language as tl
from torch import nn

BLOCK = tl.constexpr(64)


def softmax(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x * 2, -1)


class Layer(nn.Module):
    """A matmul by a library, and what can be fused after it."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(70, 12)
        self.norm = nn.LayerNorm(12)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(nn.functional.gelu(self.linear(x)))


def asks_for_a_number(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if x.sum().item() > 0 else x


def loops(x: torch.Tensor) -> torch.Tensor:
    while x.numel():
        pass
    return x


def broken(x: torch.Tensor) -> torch.Tensor:
    torch._dynamo.graph_break()
    return x.sin().cos()


@triton.jit
def _scaled(x, factor):
    return x * factor


@triton.jit
def scale_kernel(x_ptr, y_ptr, size, factor: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < size
    tl.store(y_ptr + at, _scaled(tl.load(x_ptr + at, mask=inside), factor), mask=inside)


def scale(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    scale_kernel[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), 3)
    return y
