"""How fast a program could be on a GPU at best: the roofline. Torch-free.

A program with F operations that moves B bytes takes at least F / peak seconds and at least
B / bandwidth seconds, whichever is longer. Peaks are those of the data sheets, which no program
reaches; bfloat16's is that of tensor cores.
"""

from __future__ import annotations

from typing import Literal

from fuseshard.compiler.described.targets import Target
from fuseshard.compiler.gpu_study.records import Dtype, WorkPoint

Bound = Literal["memory", "computing"]


def peak_flop_per_s(target: Target, dtype: Dtype) -> float:
    """Return the data sheet's operations a second in a type."""
    return target.fp32_flop_per_s if dtype == "float32" else target.bf16_flop_per_s


def ridge(target: Target, dtype: Dtype) -> float:
    """Return the operations for each byte at which memory and computing take equally long."""
    return peak_flop_per_s(target, dtype) / target.memory_bytes_per_s


def attainable_flop_per_s(target: Target, dtype: Dtype, intensity: float) -> float:
    """Return the operations a second that a GPU allows at best.

    Args:
        target: the GPU.
        dtype: in which is computed.
        intensity: operations for each byte moved.
    """
    return min(peak_flop_per_s(target, dtype), intensity * target.memory_bytes_per_s)


def least_s(target: Target, point: WorkPoint) -> float:
    """Return the seconds that a compiled program takes at least."""
    return point.flop / attainable_flop_per_s(target, point.dtype, point.intensity)


def bound_by(target: Target, point: WorkPoint) -> Bound:
    """Tell which of the two a compiled program waits for at best."""
    return "memory" if point.intensity < ridge(target, point.dtype) else "computing"
