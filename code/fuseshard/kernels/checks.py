"""What every launcher asks of its tensors before it starts a kernel.

A kernel computes addresses from the sizes it is told. A tensor of another layout, type or place
isn't an error to it: it reads other memory.
"""

from typing import Any

import torch
import triton

STORAGE = (torch.float32, torch.float16, torch.bfloat16)
"""types in which kernels read and write; they compute in float32"""


def is_interpreted(kernel: Any) -> bool:
    """Tell whether Triton's interpreter runs a kernel, on the CPU.

    `triton.jit` decides it when it decorates: with TRITON_INTERPRET=1 set by then it makes an
    object of the interpreter's, otherwise a JITFunction, which is compiled for the GPU.

    Args:
        kernel: what `triton.jit` made.
    """
    return not isinstance(kernel, triton.JITFunction)


def check_tensors(caller: str, kernel: Any, **tensors: torch.Tensor) -> None:
    """Refuse tensors that a kernel would misread.

    Args:
        caller: the launcher, for the message.
        kernel: that is about to be started.
        tensors: by the names that the caller gave them; the first sets device and type.

    Raises:
        ValueError: a tensor is on another device than the first, on one where the kernel can't
            run, of another type, of a type that kernels don't store, or not contiguous.
    """
    first_name, first = next(iter(tensors.items()))
    for name, tensor in tensors.items():
        check_device(caller, kernel, **{name: tensor})
        if tensor.dtype not in STORAGE:
            raise ValueError(
                f"{caller}: {name} is {tensor.dtype}, must be one of {', '.join(map(str, STORAGE))}"
                " (the kernel computes in float32, whatever the storage); convert it."
            )
        if (tensor.dtype, tensor.device) != (first.dtype, first.device):
            raise ValueError(
                f"{caller}: {name} is {tensor.dtype} on {tensor.device}, must be {first.dtype} on "
                f"{first.device} like {first_name} (one kernel reads both); convert one of them."
            )
        check_contiguous(caller, **{name: tensor})


def check_device(caller: str, kernel: Any, **tensors: torch.Tensor) -> None:
    """Refuse tensors that are where the kernel can't run.

    Args:
        caller: the launcher, for the message.
        kernel: that is about to be started.
        tensors: by the names that the caller gave them.

    Raises:
        ValueError: a tensor isn't on a GPU, or with the interpreter not on the CPU.
    """
    needed = "cpu" if is_interpreted(kernel) else "cuda"
    for name, tensor in tensors.items():
        if tensor.device.type == needed:
            continue
        why, what = {
            "cpu": ("Triton's interpreter runs here", "move it, or leave TRITON_INTERPRET out"),
            "cuda": (
                "the kernel is compiled for a GPU",
                "move it, or start a process with TRITON_INTERPRET=1 to run kernels on the CPU",
            ),
        }[needed]
        raise ValueError(
            f"{caller}: {name} is on {tensor.device}, must be on {needed} ({why}); {what}."
        )


def check_contiguous(caller: str, **tensors: torch.Tensor) -> None:
    """Refuse tensors whose elements don't lie one after the other.

    Args:
        caller: the launcher, for the message.
        tensors: by the names that the caller gave them.

    Raises:
        ValueError: a tensor isn't contiguous.
    """
    for name, tensor in tensors.items():
        if not tensor.is_contiguous():
            raise ValueError(
                f"{caller}: {name} has strides {tensor.stride()} for shape {tuple(tensor.shape)}, "
                "must be contiguous (the kernel takes the next element from the next address); "
                f"pass {name}.contiguous()."
            )


def check_shape(caller: str, expected: tuple[int, ...], **tensors: torch.Tensor) -> None:
    """Refuse tensors of another shape.

    Args:
        caller: the launcher, for the message.
        expected: the shape.
        tensors: by the names that the caller gave them.

    Raises:
        ValueError: a tensor has another shape.
    """
    for name, tensor in tensors.items():
        if tensor.shape != expected:
            raise ValueError(
                f"{caller}: {name} has shape {tuple(tensor.shape)}, must have {expected} (that is "
                "where the kernel reads it); reshape it or correct the other arguments."
            )


def check_rows(caller: str, **tensors: torch.Tensor) -> None:
    """Refuse tensors without rows to walk along.

    Args:
        caller: the launcher, for the message.
        tensors: by the names that the caller gave them.

    Raises:
        ValueError: a tensor has no dims, or its last one has no elements.
    """
    for name, tensor in tensors.items():
        if tensor.dim() == 0 or tensor.shape[-1] == 0:
            raise ValueError(
                f"{caller}: {name} has shape {tuple(tensor.shape)}, must have a last dim of at "
                "least 1 (rows lie along it); give it one."
            )


def check_no_gradient(caller: str, **tensors: torch.Tensor) -> None:
    """Refuse tensors whose gradient would be lost, as the kernel has no backward pass.

    Args:
        caller: the launcher, for the message.
        tensors: by the names that the caller gave them.

    Raises:
        ValueError: autograd records, and a tensor needs a gradient.
    """
    for name, tensor in tensors.items():
        if tensor.requires_grad and torch.is_grad_enabled():
            raise ValueError(
                f"{caller}: {name} needs a gradient, must not (this kernel has no backward pass, "
                f"and autograd can't see into it); call it under torch.no_grad() or pass "
                f"{name}.detach()."
            )


def check_linear(
    caller: str,
    kernel: Any,
    hidden: torch.Tensor,
    weight: torch.Tensor,
    *,
    target: torch.Tensor,
) -> None:
    """Refuse what isn't a linear layer with a target for each of its rows.

    Args:
        caller: the launcher, for the message.
        kernel: that is about to be started.
        hidden: has to be [N, D].
        weight: has to be [V, D], V at least 1.
        target: has to be [N], int64. Its values aren't looked at: the GPU would have to be waited
            for.

    Raises:
        ValueError: a shape doesn't fit the others, the target isn't int64, or a tensor is one that
            a kernel would misread.
    """
    check_tensors(caller, kernel, hidden=hidden, weight=weight)
    shapes = f"{tuple(hidden.shape)} and {tuple(weight.shape)}"
    if hidden.dim() != 2 or weight.dim() != 2 or hidden.shape[1] != weight.shape[1]:
        raise ValueError(
            f"{caller}: hidden and weight have shapes {shapes}, must have (N, D) and (V, D) (a "
            "logit is a row of one times a row of the other); flatten batch and sequence into N."
        )
    if weight.numel() == 0:
        raise ValueError(
            f"{caller}: hidden and weight have shapes {shapes}, must have V and D of at least 1 "
            "(without logits there is no loss); pass a weight with rows."
        )
    check_device(caller, kernel, target=target)
    check_contiguous(caller, target=target)
    check_shape(caller, (hidden.shape[0],), target=target)
    if target.dtype != torch.int64:
        raise ValueError(
            f"{caller}: target is {target.dtype}, must be torch.int64 (the kernel reads 8 bytes "
            "a token); convert it."
        )
