"""A CPU in place of a CUDA device: where buffers lie, and the calls that only steer a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch

# Private, checked on torch 2.11 and 2.13: the names that Inductor's wrappers import.
import torch._C._dynamo.guards
from torch._inductor.runtime import triton_helpers

from fuseshard.compiler.described.replace import attributes


def no_driver() -> AbstractContextManager[None]:
    """Let a kernel's module load where no GPU's driver is."""
    return attributes(triton_helpers, set_driver_to_gpu=_nothing)


@contextmanager
def no_steering() -> Iterator[None]:
    """Let calls that choose a device or ask for its stream do nothing."""
    with (
        attributes(torch.cuda, _DeviceGuard=nullcontext, device=nullcontext, set_device=_nothing),
        attributes(torch._C, _cuda_getCurrentRawStream=_nothing),
    ):
        yield


def cpu_memory() -> AbstractContextManager[None]:
    """Put what the wrapper allocates on the GPU into the CPU's memory."""
    return attributes(torch._C._dynamo.guards, _empty_strided_cuda=_empty_strided)


def gpu_layouts() -> AbstractContextManager[None]:
    """Lay results of libraries out as the GPU's libraries would have."""
    return attributes(torch._C._dynamo.guards, assert_size_stride=lay_out)


def lay_out(
    tensor: torch.Tensor, size: tuple[int, ...], stride: tuple[int, ...], op_name: str = ""
) -> None:
    """Give a tensor the strides that the kernels after it take for granted.

    In a wrapper this call is `assert_size_stride`: it states the strides for which the kernels were
    written. The CPU's convolutions and attention answer in other strides than the GPU's, and
    kernels address memory by number, so they would read the right values in the wrong order.

    Args:
        tensor: moved to new memory where its strides differ.
        size: its shape; never changed.
        stride: elements from one index to the next, for each dim.
        op_name: what made it, for the error.

    Raises:
        AssertionError: the shape differs.
    """
    if tuple(tensor.shape) != tuple(size):
        raise AssertionError(
            f"run_graphs: {op_name or 'a result'} has shape {tuple(tensor.shape)}, must have "
            f"{tuple(size)} (the kernels after it are written for that one); the CPU's answer to "
            "this call needs to be adapted in fuseshard.compiler.interpreted.libraries."
        )
    if any(n > 1 and s != t for n, s, t in zip(size, tensor.stride(), stride, strict=True)):
        moved = strided_copy(tensor, stride)
        tensor.set_(moved.untyped_storage(), 0, moved.size(), moved.stride())


def strided_copy(tensor: torch.Tensor, stride: tuple[int, ...]) -> torch.Tensor:
    """Copy a tensor into memory of its own with given strides.

    Args:
        tensor: any tensor; not modified.
        stride: for each dim; 0 where all indices share their elements.
    """
    copy = torch.empty_strided(tensor.shape, stride, dtype=tensor.dtype)
    source, target = tensor.detach(), copy
    for dim, step in enumerate(stride):
        if step == 0 and tensor.shape[dim] > 1:  # one element for all: write it once
            source, target = source.narrow(dim, 0, 1), target.narrow(dim, 0, 1)
    target.copy_(source)
    return copy


def cpu_device(*args: Any, **kwargs: Any) -> torch.device:
    """Answer `device(type="cuda", index=0)`."""
    return torch.device("cpu")


def _empty_strided(
    size: tuple[int, ...], stride: tuple[int, ...], dtype: torch.dtype
) -> torch.Tensor:
    return torch.empty_strided(size, stride, dtype=dtype)


def _nothing(*args: Any, **kwargs: Any) -> int:
    return 0
