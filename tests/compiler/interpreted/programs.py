"""Programs of these tests, in a module of their own so that other processes can import them."""

import torch
import triton
import triton.language as tl
from torch import nn
from torch.nn import functional

from fuseshard.models.minigpt import MiniGPT, MiniGPTConfig


def softmax(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, -1)


def total(x: torch.Tensor) -> torch.Tensor:
    return x.sum(-1)


def cross_entropy(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return functional.cross_entropy(logits, targets)


def gelu(x: torch.Tensor) -> torch.Tensor:
    return functional.gelu(x)


def gelu_tanh(x: torch.Tensor) -> torch.Tensor:
    return functional.gelu(x, approximate="tanh")


def to_bfloat16(x: torch.Tensor) -> torch.Tensor:
    return x.to(torch.bfloat16)


def to_float8(x: torch.Tensor) -> torch.Tensor:
    return x.to(torch.float8_e4m3fn)


def arctangent(x: torch.Tensor) -> torch.Tensor:
    return torch.atan(x)


def prefixes(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return x.cumsum(-1), x.logcumsumexp(-1)


def statistics(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return x.var(-1), x.amax(-1), x.prod(-1), x.lgamma(), x.abs() ** 1.7


def exact_functions(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    order, places = x.sort(-1)
    near = torch.nextafter(x, x + 1)
    return x.argmax(-1), order, places, x.round(), x.floor(), near, x.to(torch.int32) % 5


def drop(x: torch.Tensor) -> torch.Tensor:
    return functional.dropout(x, 0.25)


def times_constant(x: torch.Tensor) -> torch.Tensor:
    return x * torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0] * 4, device=x.device)


def embed(weight: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    return functional.embedding(tokens, weight).tanh()


def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def attend_by_token(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Inputs [B, T, H, D], as a linear layer leaves them."""
    return attend(*(x.transpose(1, 2) for x in (q, k, v))) + v.transpose(1, 2)


def attend_biased(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=bias, scale=0.3)


def attend_dropped(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return functional.scaled_dot_product_attention(q, k, v, dropout_p=0.25)


def broken(x: torch.Tensor) -> torch.Tensor:
    torch._dynamo.graph_break()
    return x.sin()


@triton.jit
def sum_kernel(x_ptr, y_ptr, out_ptr, count, size: tl.constexpr):
    i = tl.program_id(0) * size + tl.arange(0, size)
    inside = i < count
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=inside) + tl.load(y_ptr + i, mask=inside), inside)


def sine_of_own_sum(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    sum_kernel[(triton.cdiv(x.numel(), 64),)](x, y, out, x.numel(), 64)
    return out.sin()


class Normalized(nn.Module):
    """Batch norm, which changes its own buffers."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(12)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x).relu()


class LanguageLoss(nn.Module):
    """MiniGPT and its loss, small enough for a test."""

    def __init__(self) -> None:
        super().__init__()
        self.model = MiniGPT(
            MiniGPTConfig(vocabulary=101, width=32, num_layers=1, num_heads=2, context=24)
        )

    def forward(self, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        logits = self.model(tokens)
        return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def attend_at_a_lower_level(x: torch.Tensor) -> torch.Tensor:
    lengths = x.shape[1], x.shape[1]
    attention = torch.ops.aten._flash_attention_forward
    return attention(x, x, x, None, None, *lengths, 0.0, False, False)[0]
