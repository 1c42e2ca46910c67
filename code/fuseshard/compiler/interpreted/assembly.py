"""Inline assembly: the few instructions that Inductor writes by hand, as NumPy functions.

Triton's interpreter refuses inline assembly. Inductor uses it where it wants one instruction and
no other, such as the fused multiply-adds of `atan`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

# Triton's own, checked on 3.6 and 3.9: the CPU's answers to what a kernel asks a GPU for.
from triton.runtime.interpreter import InterpreterBuilder, TensorHandle

from fuseshard.compiler.described.replace import attributes
from fuseshard.compiler.interpreted.records import NoAnswerError

# Approximate instructions are answered exactly: within their promise, but not their bits.
INSTRUCTIONS: dict[str, Callable[..., Any]] = {
    "rcp.approx": lambda x: 1 / x,
    "rcp.rn": lambda x: 1 / x,
    "sqrt.approx": np.sqrt,
    "sqrt.rn": np.sqrt,
    "rsqrt.approx": lambda x: 1 / np.sqrt(x),
    "sin.approx": np.sin,
    "cos.approx": np.cos,
    "tanh.approx": np.tanh,
    "ex2.approx": np.exp2,
    "lg2.approx": np.log2,
    "add.rn": np.add,
    "mul.rn": np.multiply,
    "div.rn": np.divide,
    "div.full": np.divide,
}
"""float32 instructions by name, computed in float64 and rounded once"""
_ONE_INSTRUCTION = re.compile(r"\s*([\w.]+?)(\.ftz)?\.f32\s+\$0((?:,\s*\$\d)+);?\s*")


class _Results:
    """What Triton gets back from an instruction: its results by number."""

    def __init__(self, handle: Any) -> None:
        self.handle = handle

    def get_result(self, index: int) -> Any:
        assert index == 0
        return self.handle


def fused_multiply_add(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Compute a b + c of float32 with a single rounding.

    A product of two float32 is exact in float64; the sum may not be, and rounding it first to
    float64 and then to float32 can differ from rounding once. Setting the last bit of an inexact
    sum ("round to odd") keeps it off every tie of the second rounding.

    Args:
        a: float32.
        b: float32.
        c: float32.

    Returns:
        float32.

    Source:
        Boldo and Melquiond 2008, "Emulation of FMA and correctly rounded sums",
        doi:10.1109/TC.2007.70819.
    """
    product = a.astype(np.float64) * b
    addend = c.astype(np.float64)
    total = product + addend
    # What the addition lost, exactly (Knuth's two-sum).
    part = total - product
    lost = (product - (total - part)) + (addend - part)
    is_even = (total.view(np.int64) & 1) == 0
    nudged = np.nextafter(total, np.where(lost > 0, np.inf, -np.inf))
    inexact = np.isfinite(total) & np.isfinite(lost) & (lost != 0)
    return np.where(inexact & is_even, nudged, total).astype(np.float32)


def inline_assembly() -> AbstractContextManager[None]:
    """Let the interpreter answer inline assembly while the block runs."""
    return attributes(InterpreterBuilder, create_inline_asm=_inline_assembly)


def _inline_assembly(
    self: Any, source: str, constraints: str, operands: list[Any], *rest: Any
) -> _Results:
    """Answer one instruction whose operands are all of the tile's, in order."""
    found = _ONE_INSTRUCTION.fullmatch(source)
    in_order = "".join(f", ${i}" for i in range(1, len(operands) + 1))
    name = found[1] if found else ""
    is_known = name in {*INSTRUCTIONS, "fma.rn"}
    if found is None or not is_known or re.sub(r",\s*", ", ", found[3]) != in_order:
        raise NoAnswerError(
            f"run_graphs: a kernel holds the inline assembly {source!r}, must be one of "
            f"{', '.join(sorted(INSTRUCTIONS))}, fma.rn for float32, with its operands in order "
            "(a CPU has no such instruction, so each needs an answer of its own); add it to "
            "fuseshard.compiler.interpreted.assembly."
        )
    numbers = np.broadcast_arrays(*(operand.data for operand in operands))
    flush = _flushed if found[2] else np.asarray
    result = _computed(name, [flush(x) for x in numbers])
    return _Results(TensorHandle(flush(result), operands[0].dtype))


def _computed(name: str, numbers: list[np.ndarray]) -> np.ndarray:
    if name == "fma.rn":
        return fused_multiply_add(*numbers)
    wide = [x.astype(np.float64) for x in numbers]
    return np.asarray(INSTRUCTIONS[name](*wide)).astype(np.float32)


def _flushed(numbers: np.ndarray) -> np.ndarray:
    """Replace subnormal numbers by zero, as instructions with "ftz" in their name do."""
    is_subnormal = np.abs(numbers) < np.finfo(np.float32).tiny
    return np.where(is_subnormal, np.copysign(np.float32(0), numbers), numbers)
