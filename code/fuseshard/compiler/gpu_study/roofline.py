"""What programs have to compute and to move, and what they move once they are compiled.

One addition, multiplication, comparison, division, exp or the like counts as one operation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import torch

from fuseshard.compiler.gpu_study.programs import Program
from fuseshard.compiler.gpu_study.records import Dtype, WorkPoint
from fuseshard.compiler.gpu_study.traffic import traffic

Shape = tuple[int, ...]
Amounts = tuple[int, int]
"""operations, and elements that have to be read or written"""


def _each(flop: int, passes: int) -> Callable[..., Amounts]:
    """Count per element of the first input: operations, and how often such a tensor is moved."""
    return lambda first, *_: (flop * math.prod(first), passes * math.prod(first))


def _norm(flop: int, passes: int, parameters: int) -> Callable[..., Amounts]:
    """Count like `_each`, and rows of parameters."""

    def amounts(first: Shape) -> Amounts:
        return flop * math.prod(first), passes * math.prod(first) + parameters * first[-1]

    return amounts


def _column_sum(first: Shape) -> Amounts:
    return math.prod(first), math.prod(first) + first[-1]


def _linear(features: int, extra: int) -> Callable[[Shape], Amounts]:
    """Multiply [R, N] by [N, features], add a bias, and apply `extra` operations to each result."""

    def amounts(first: Shape) -> Amounts:
        rows, width = first
        results = rows * features
        moved = rows * width + width * features + features + results
        return 2 * results * width + (1 + extra) * results, moved

    return amounts


def _attention(query: Shape, *_: Shape) -> Amounts:
    """Two products of 2 T x T x D operations for each head, half of it under the causal mask."""
    heads, tokens, width = math.prod(query[:2]), query[2], query[3]
    return 2 * heads * tokens * tokens * width, 4 * math.prod(query)


GELU_FLOP, NORM_FLOP = 5, 7
"""x * (1 + erf(x / sqrt(2))) / 2; and sum, subtract, square, sum, scale, weight, bias"""

WORK: dict[str, Callable[..., Amounts]] = {
    "softmax": _each(5, 2),  # max, subtract, exp, sum, divide
    "softmax-wide": _each(5, 2),
    "layer-norm": _norm(NORM_FLOP, 2, 2),
    # Forward square, sum, scale, weight; backward five for dx's sums, three for dx, two for dw.
    "rms-norm": _norm(4 + 10, 5, 3),
    "gelu-layer-norm": _norm(GELU_FLOP + NORM_FLOP, 2, 2),
    "cross-entropy": _each(4 + 4, 3),  # forward like softmax; backward exp again, minus one-hot
    "column-sum": _column_sum,
    "running-sum": _each(1, 2),
    "chain": _each(10, 2),
    "gelu": _each(GELU_FLOP, 2),
    "linear-relu": _linear(1024, 1),
    "linear-gelu-half": _linear(4096, GELU_FLOP),
    "attention": _attention,
}
"""key of a program in the gallery -> what it has to do, from the shapes of its inputs"""


def work_points(programs: Iterable[Program], *, target: str = "h200") -> tuple[WorkPoint, ...]:
    """Place programs on the roofline.

    Args:
        programs: of the gallery; those without an entry in `WORK` are left out.
        target: the GPU that they are written for.
    """
    return tuple(_point(program, target) for program in programs if program.key in WORK)


def _point(program: Program, target: str) -> WorkPoint:
    first = program.inputs[0]
    flop, elements = WORK[program.key](*(tuple(x.shape) for x in program.inputs))
    dtype: Dtype = "bfloat16" if first.dtype == torch.bfloat16 else "float32"
    return WorkPoint(
        program=program.key,
        dtype=dtype,
        flop=flop,
        least_bytes=elements * first.element_size(),
        traffic=traffic(program.build(target).graphs),
    )
