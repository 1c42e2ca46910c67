"""Real tensors where Inductor computes one on the device in the middle of compiling."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

from fuseshard.compiler.described.targets import Target


@contextmanager
def factories(target: Target) -> Iterator[None]:
    """Make real tensors of the device on the CPU.

    Inductor folds constants by computing tensors of one element on the device, outside any fake
    mode. Without kernels that make them, cross-entropy, dropout and causal masks fail. As no other
    CUDA kernels exist, the CPU's compute what was asked.
    """
    library = torch.library.Library("aten", "IMPL")
    try:
        with warnings.catch_warnings():
            # A CUDA build has kernels of its own in these places, and torch says so.
            warnings.filterwarnings("ignore", ".*verriding a previously registered kernel")
            library.impl("empty.memory_format", _empty, "CUDA")
            library.impl("empty_strided", _empty_strided, "CUDA")
        yield
    finally:
        # Private, checked on torch 2.11 and 2.13: a library's public end is its collection as
        # garbage, which comes when it comes.
        library._destroy()


def _empty(
    size: Sequence[int],
    *,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,
    memory_format: torch.memory_format | None = None,
) -> torch.Tensor:
    memory_format = memory_format or torch.contiguous_format
    return torch.empty(size, dtype=dtype, device="cpu", memory_format=memory_format)


def _empty_strided(
    size: Sequence[int],
    stride: Sequence[int],
    *,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,
) -> torch.Tensor:
    return torch.empty_strided(size, stride, dtype=dtype, device="cpu")
