"""What a program computed when a CPU read its GPU code aloud."""

from __future__ import annotations

from dataclasses import dataclass

import torch


class NoAnswerError(ValueError):
    """A program asks a GPU, or one of its libraries, for what has no answer on a CPU."""


@dataclass(frozen=True, kw_only=True)
class InterpretedLaunch:
    """One start of a Triton kernel in the interpreter."""

    kernel: str
    blocks: dict[str, int]
    """sizes of the tile that were used, such as {"XBLOCK": 64}, and a user's other constants"""
    programs: int
    """tiles that ran, one after the other"""
    elapsed_s: float
    """seconds of the CPU; they say nothing about a GPU"""


@dataclass(frozen=True, kw_only=True)
class Interpreted:
    """The results of one run."""

    outputs: tuple[torch.Tensor | None, ...]
    """what the graph returns to the program, in the graph's order; None for what isn't a tensor"""
    gradients: tuple[torch.Tensor | None, ...]
    """one for each of the caller's tensors, None where the program asks for none; empty without a
    backward graph"""
    inputs: tuple[torch.Tensor, ...]
    """the caller's tensors as the program left them: copies, in which running statistics and
    updated parameters show"""
    launches: tuple[InterpretedLaunch, ...]
    """in order, forward before backward"""
