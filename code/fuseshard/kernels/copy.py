"""A copy: the fewest bytes that a kernel with one input and one output can move.

Its bandwidth, measured, is what the other kernels are held against: it does nothing else, so it
shows what this card's memory gives to Triton, which is less than the data sheet says.

S = elements of the tensor.
"""

import torch
import triton
import triton.language as tl

from fuseshard.kernels.checks import check_no_gradient, check_tensors

BLOCK_BYTES = 8192
"""of a program: with four warps, four loads of 128 bits a thread"""


@triton.jit
def copy_kernel(
    out_ptr,  # [S]
    x_ptr,  # [S]
    num_elements,  # S
    BLOCK: tl.constexpr,  # elements of a program
):
    """Copy BLOCK elements."""
    # In 64 bits: 2**31 elements are 4 GiB of bfloat16, less than a card has.
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < num_elements
    x = tl.load(x_ptr + offsets, inside)  # reads S elements
    tl.store(out_ptr + offsets, x, inside)  # writes S elements


def copy(x: torch.Tensor, *, block: int | None = None, num_warps: int = 4) -> torch.Tensor:
    """Copy a tensor with a Triton kernel.

    Args:
        x: contiguous; float32, float16 or bfloat16; on a GPU, or on the CPU with the interpreter.
        block: elements of a program, a power of two; by default BLOCK_BYTES bytes.
        num_warps: of a program.

    Returns:
        A new tensor, equal to x bit for bit.
    """
    check_tensors("copy", copy_kernel, x=x)
    check_no_gradient("copy", x=x)
    block = BLOCK_BYTES // x.element_size() if block is None else block
    out = torch.empty_like(x)
    grid = (triton.cdiv(x.numel(), block),)
    with torch.cuda.device_of(x):
        copy_kernel[grid](out, x, x.numel(), BLOCK=block, num_warps=num_warps)
    return out
