"""Numbers narrower than float32: what the interpreter keeps as bit patterns, computed as numbers.

NumPy has neither bfloat16 nor float8, so Triton's interpreter stores them as unsigned integers. It
turns float32 into bfloat16 by cutting bits off, where a GPU rounds to the nearest and, in the
middle, to the even one; and it adds, multiplies and sums bit patterns as if they were integers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import torch
import triton.language as tl

# Triton's own, checked on 3.6 and 3.9: the CPU's answers to what a kernel asks a GPU for.
from triton.runtime.interpreter import InterpreterBuilder, TensorHandle, _ir

from fuseshard.compiler.described.replace import attributes
from fuseshard.compiler.interpreted.records import NoAnswerError

FLOAT8 = {
    "fp8e4nv": torch.float8_e4m3fn,
    "fp8e5": torch.float8_e5m2,
    "fp8e4b8": torch.float8_e4m3fnuz,
    "fp8e5b16": torch.float8_e5m2fnuz,
}
"""Triton's names and torch's, for the formats that both have"""


def is_pattern(dtype: Any) -> bool:
    """Say whether the interpreter keeps numbers of a type as bit patterns."""
    return dtype == tl.bfloat16 or dtype.name in FLOAT8


def bfloat16_patterns(numbers: np.ndarray) -> np.ndarray:
    """Round float32 to bfloat16 as hardware does: to the nearest, in the middle to the even one.

    bfloat16 is the upper half of float32. Adding 0x7FFF to the whole carries into the upper half
    where the lower half is above its middle, 0x8000; adding the last bit of the upper half as well
    makes the middle itself carry exactly where that bit is odd.

    Args:
        numbers: float32.

    Returns:
        uint16 bit patterns; every NaN becomes the same quiet one.
    """
    bits = numbers.view(np.uint32).astype(np.uint64)
    last_kept = (bits >> 16) & 1
    rounded = ((bits + 0x7FFF + last_kept) >> 16).astype(np.uint16)
    return np.where(np.isnan(numbers), np.uint16(0x7FC0), rounded)


def to_numbers(handle: Any) -> np.ndarray:
    """Read the numbers of a tile as float32; exact, since float32 holds every narrower format."""
    if handle.dtype.scalar == tl.bfloat16:
        return (handle.data.astype(np.uint32) << 16).view(np.float32)
    flat = torch.from_numpy(np.array(handle.data).reshape(-1))
    return flat.view(FLOAT8[handle.dtype.scalar.name]).float().numpy().reshape(handle.data.shape)


def to_tile(numbers: np.ndarray, dtype: Any) -> Any:
    """Round numbers to a narrow format and make a tile of them.

    Args:
        numbers: float32, float64 or integers; rounded to float32 first, as torch does it.
        dtype: Triton's bfloat16, or a float8 in which what is too large becomes the largest number,
            as NVIDIA's conversion does it (torch's makes it NaN or infinity).
    """
    narrow = np.asarray(numbers, dtype=np.float32)
    if dtype.scalar == tl.bfloat16:
        return TensorHandle(bfloat16_patterns(narrow), dtype.scalar)
    format8 = FLOAT8[dtype.scalar.name]
    largest = torch.finfo(format8).max
    flat = torch.from_numpy(np.clip(narrow, -largest, largest).reshape(-1))
    patterns = flat.to(format8).view(torch.uint8).numpy().reshape(narrow.shape)
    return TensorHandle(patterns, dtype.scalar)


def numbers_not_patterns() -> AbstractContextManager[None]:
    """Let the interpreter convert and compute with numbers while the block runs."""
    return attributes(
        InterpreterBuilder,
        cast_impl=_cast(InterpreterBuilder.cast_impl),
        create_fp_to_fp=_rounding_cast(InterpreterBuilder.create_fp_to_fp),
        create_dot=_with_numbers(InterpreterBuilder.create_dot),
        create_fma=_with_numbers(InterpreterBuilder.create_fma),
        unary_op=_with_numbers(InterpreterBuilder.unary_op),
        binary_op=_with_numbers(InterpreterBuilder.binary_op),
        ternary_op=_ternary(InterpreterBuilder.ternary_op),
        create_atomic_rmw=_refusing_atomics(InterpreterBuilder.create_atomic_rmw),
        # Triton 3.6 has none.
        get_bf16=lambda self, value: to_tile(np.array([value]), tl.bfloat16),
    )


def _cast(old: Callable[..., Any]) -> Callable[..., Any]:
    def cast_impl(self: Any, src: Any, dst_type: Any) -> Any:
        if src.dtype.scalar == dst_type.scalar:
            return src
        wide = _widened(src)
        if is_pattern(dst_type.scalar):
            return to_tile(wide.data, dst_type)
        return old(self, wide, dst_type)

    return cast_impl


def _rounding_cast(old: Callable[..., Any]) -> Callable[..., Any]:
    def create_fp_to_fp(self: Any, src: Any, dst_type: Any, mode: Any) -> Any:
        to_nearest = mode != _ir.ROUNDING_MODE.RTZ  # else to cut off is what was asked for
        unknown = tl.float8e4b15 in (src.dtype.scalar, dst_type.scalar)
        if to_nearest and not unknown:
            return self.cast_impl(src, dst_type)
        return old(self, src, dst_type, mode)

    return create_fp_to_fp


def _with_numbers(old: Callable[..., Any]) -> Callable[..., Any]:
    """Compute in float32 and round once, as tensor cores and a GPU's narrow arithmetic do."""

    def compute(self: Any, *operands: Any) -> Any:
        tiles = [x for x in operands if isinstance(x, TensorHandle)]
        if not any(is_pattern(x.dtype.scalar) for x in tiles):
            return old(self, *operands)
        result = old(self, *(_widened(x) for x in operands))
        narrow = all(is_pattern(x.dtype.scalar) for x in tiles)
        if narrow and result.data.dtype != np.bool_:  # a comparison stays one
            return to_tile(result.data, tiles[0].dtype)
        return result

    return compute


def _ternary(old: Callable[..., Any]) -> Callable[..., Any]:
    """Select among bit patterns as they are, and clip numbers."""
    clipping = _with_numbers(old)

    def ternary_op(self: Any, *operands: Any) -> Any:
        operation = operands[-1]
        return (old if operation is np.where else clipping)(self, *operands)

    return ternary_op


def _refusing_atomics(old: Callable[..., Any]) -> Callable[..., Any]:
    def create_atomic_rmw(self: Any, operation: Any, pointers: Any, value: Any, *rest: Any) -> Any:
        if is_pattern(value.dtype.scalar):
            raise NoAnswerError(
                f"run_graphs: a kernel adds to memory atomically in {value.dtype}, must do so in "
                "float32 or float16 (the interpreter adds in memory, where it has no other "
                "formats); take the tensor that is added to in float32."
            )
        return old(self, operation, pointers, value, *rest)

    return create_atomic_rmw


def _widened(operand: Any) -> Any:
    if isinstance(operand, TensorHandle) and is_pattern(operand.dtype.scalar):
        return TensorHandle(to_numbers(operand), tl.float32)
    return operand


def narrow_tiles(tensors: Sequence[Any]) -> bool:
    """Say whether any of some Triton tensors is kept as bit patterns."""
    return any(is_pattern(tensor.dtype.scalar) for tensor in tensors)
