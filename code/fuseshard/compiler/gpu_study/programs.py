"""Small programs that are written for GPUs, looked at and run on the CPU.

R = rows, N = columns, B = sequences, T = tokens, H = heads, D = features.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from fuseshard.compiler.gpu import BuildOptions, GpuBuild, build
from fuseshard.models.minigpt import Block, MiniGPT, MiniGPTConfig


@dataclass(frozen=True, kw_only=True)
class Program:
    """A program, and example inputs that say for which shapes and types it is written."""

    key: str
    """its name in this book's calls, such as "layer-norm\""""
    fn: Callable[..., Any] = field(repr=False)
    """function or module that returns one tensor"""
    inputs: tuple[torch.Tensor, ...] = field(repr=False)
    """not filled in the gallery: only their shapes and types count there"""
    backward: bool = False
    """whether its backward pass is written too"""
    options: BuildOptions = field(default_factory=BuildOptions)

    def build(self, target: str) -> GpuBuild:
        """Have Inductor write it for a GPU.

        Args:
            target: a key of `fuseshard.compiler.described.targets.TARGETS`.
        """
        return build(self.fn, self.inputs, target=target, backward=self.backward, **self.options)


def softmax(x: torch.Tensor) -> torch.Tensor:
    """Turn the rows of [R, N] scores into probabilities."""
    return torch.softmax(x, -1)


def gelu(x: torch.Tensor) -> torch.Tensor:
    """Apply GELU, with the error function rather than its approximation."""
    return functional.gelu(x)


def chain(x: torch.Tensor) -> torch.Tensor:
    """Apply ten operations to each element alone."""
    return torch.tanh(torch.sigmoid(x * 2 + 1) * x.sin() + x.cos()).relu() * 0.5


def cross_entropy(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Return the mean cross-entropy of [R, N] logits and [R] classes."""
    return functional.cross_entropy(logits, target)


def column_sum(x: torch.Tensor) -> torch.Tensor:
    """Sum the columns of [R, N]: neighbours in memory belong to different sums."""
    return x.sum(0)


def running_sum(x: torch.Tensor) -> torch.Tensor:
    """Sum each row of [R, N] up to each of its elements."""
    return x.cumsum(-1)


def attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Attend causally; each of [B, H, T, D]."""
    return functional.scaled_dot_product_attention(query, key, value, is_causal=True)


class TokenLoss(nn.Module):
    """A language model with the mean cross-entropy of each next token."""

    def __init__(self, model: MiniGPT) -> None:
        """Keep the model, whose parameters are trained."""
        super().__init__()
        self.model = model

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Predict [B, T] tokens from those before them, and return the loss."""
        scores = self.model(tokens[:, :-1]).flatten(0, 1)
        return functional.cross_entropy(scores.float(), tokens[:, 1:].flatten())


def gallery() -> tuple[Program, ...]:
    """Return the programs of the explorer: sizes of a GPU, tensors without numbers."""
    return (*_row_programs(), *_element_programs(), *_layer_programs())


def _row_programs() -> list[Program]:
    rows = torch.empty(4096, 768)
    return [
        Program(key="softmax", fn=softmax, inputs=(torch.empty(4096, 600),)),
        Program(key="softmax-wide", fn=softmax, inputs=(torch.empty(512, 50257),)),
        Program(key="layer-norm", fn=nn.LayerNorm(768), inputs=(rows,)),
        training("rms-norm", nn.RMSNorm(768), rows),
        Program(key="gelu-layer-norm", fn=_gelu_layer_norm(768), inputs=(rows,)),
        training("cross-entropy", cross_entropy, torch.empty(1024, 600), _classes(1024)),
        Program(key="column-sum", fn=column_sum, inputs=(rows,)),
        Program(key="running-sum", fn=running_sum, inputs=(torch.empty(512, 1024),)),
    ]


def _element_programs() -> list[Program]:
    return [
        Program(key="chain", fn=chain, inputs=(torch.empty(2**22),)),
        Program(key="gelu", fn=gelu, inputs=(torch.empty(2**22),)),
    ]


def _layer_programs() -> list[Program]:
    linear = nn.Sequential(nn.Linear(512, 1024), nn.ReLU())
    half_linear = nn.Sequential(nn.Linear(4096, 4096), nn.GELU()).bfloat16()
    square = torch.empty(4096, 4096, dtype=torch.bfloat16)
    half = torch.empty(4, 8, 1024, 64, dtype=torch.bfloat16)
    block = Block(MiniGPTConfig(width=512, num_heads=8, context=256))
    return [
        Program(key="linear-relu", fn=linear, inputs=(torch.empty(2048, 512),)),
        Program(key="linear-gelu-half", fn=half_linear, inputs=(square,)),
        training(
            "dropout",
            nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Dropout(0.1)),
            torch.empty(2048, 256),
        ),
        Program(key="attention", fn=attention, inputs=(half, half.clone(), half.clone())),
        training(
            "minigpt-block", block, torch.empty(8, 256, 512), options={"autocast": "bfloat16"}
        ),
        Program(
            key="conv-norm-relu", fn=_conv_norm_relu().eval(), inputs=(torch.empty(16, 3, 64, 64),)
        ),
    ]


def training(
    key: str,
    fn: Callable[..., Any],
    *inputs: torch.Tensor,
    options: BuildOptions | None = None,
) -> Program:
    """Make a program that is differentiated, in what is floating-point of its inputs too.

    Args:
        key: its name.
        fn: function or module.
        inputs: not modified.
        options: how it is compiled; None for no option.
    """
    leaves = tuple(x.detach().requires_grad_(x.is_floating_point()) for x in inputs)
    options = options or BuildOptions()
    return Program(key=key, fn=fn, inputs=leaves, backward=True, options=options)


def by_key(programs: Sequence[Program], *keys: str) -> tuple[Program, ...]:
    """Pick programs by their keys, in the order of the keys.

    Raises:
        ValueError: no program has one of the keys.
    """
    known = {program.key: program for program in programs}
    unknown = [key for key in keys if key not in known]
    if unknown:
        raise ValueError(f"by_key: keys hold {unknown}, must be among {list(known)}.")
    return tuple(known[key] for key in keys)


def _gelu_layer_norm(width: int) -> nn.Module:
    return nn.Sequential(nn.GELU(), nn.LayerNorm(width))


def _conv_norm_relu() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU())


def _classes(count: int) -> torch.Tensor:
    return torch.zeros(count, dtype=torch.int64)
