"""Softmax and RMS norm by hand, by Inductor and by eager mode, against a copy of the same matrix.

R = rows, N = columns.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch.nn import functional

from fuseshard.compiler.isolate import isolated
from fuseshard.compiler.kernel_times.records import (
    BY_HAND,
    COPY,
    EAGER,
    INDUCTOR,
    RowPoint,
    RowTask,
    RowTimes,
)
from fuseshard.compiler.modes.cuda_graph import replayed
from fuseshard.kernels.rms_norm import rms_norm
from fuseshard.kernels.softmax import softmax
from fuseshard.measure.clock import compare
from fuseshard.measure.experiments import experiment
from fuseshard.measure.provenance import environment
from fuseshard.measure.records import Origin

MATRIX_BYTES = 2**30
"""of one matrix: twenty times an H200's L2 cache, so that every call reads fresh data"""

COLUMNS = (1000, 1024, 2048, 4096, 8192)
"""1000 is no multiple of a tile"""

POINT_S = 2.5
"""seconds for the rounds of one point"""

SAMPLED_ROWS = 256
"""whose results are checked in float64"""

EPS = 1e-6

Call = Callable[[], torch.Tensor]


@dataclass(frozen=True)
class _Task:
    """One operation in all the ways to compute it."""

    name: RowTask
    by_hand: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
    plain: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def _softmax(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, -1)


def _rms_norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return functional.rms_norm(x, (x.shape[-1],), weight, EPS)


TASKS = (
    _Task("softmax", lambda x, weight: softmax(x), _softmax),
    _Task("rms norm", lambda x, weight: rms_norm(x, weight, eps=EPS), _rms_norm),
)


@experiment("triton.rows-gpu", needs="cuda")
def gpu_rows() -> RowTimes:
    """Time softmax and RMS norm on a CUDA GPU, over widths, in float32 and bfloat16."""
    return row_times(COLUMNS, (torch.float32, torch.bfloat16), device="cuda")


def row_times(
    columns: Sequence[int],
    dtypes: Sequence[torch.dtype],
    *,
    device: str,
    matrix_bytes: int = MATRIX_BYTES,
    point_s: float = POINT_S,
) -> RowTimes:
    """Time both operations in all ways.

    Args:
        columns: widths of the matrices.
        dtypes: of the matrices.
        device: "cuda"; a CPU has no Triton kernels.
        matrix_bytes: of each matrix, rounded down to whole rows.
        point_s: seconds for the rounds of one point.

    Returns:
        One point a task, type and width.

    Raises:
        AssertionError: a result is wrong by more than rounding.
    """
    points = tuple(
        point
        for dtype in dtypes
        for num_columns in columns
        for point in _points(num_columns, dtype, device, matrix_bytes, point_s=point_s)
    )
    return RowTimes(points=points, origin=Origin(is_live=True, environment=environment()))


def _points(
    num_columns: int, dtype: torch.dtype, device: str, matrix_bytes: int, *, point_s: float
) -> Iterator[RowPoint]:
    rows = max(SAMPLED_ROWS, matrix_bytes // (num_columns * dtype.itemsize))
    generator = torch.Generator(device).manual_seed(num_columns)
    x = torch.empty(rows, num_columns, dtype=dtype, device=device).normal_(generator=generator)
    weight = torch.linspace(0.5, 1.5, num_columns, device=device).to(dtype)
    out = torch.empty_like(x)
    for task in TASKS:
        calls = replayed(_calls(task, x, weight), device)
        errors = {way: error_share(task.name, call(), x, weight) for way, call in calls.items()}
        assert max(errors.values()) <= 1, (task.name, num_columns, dtype, errors)
        # The copy stays outside a graph: as one of a graph's nodes it is far slower.
        ways: dict[str, Call] = {COPY: lambda: out.copy_(x), **calls}
        comparison = compare(ways, device=device, budget_s=point_s)
        yield RowPoint(
            task=task.name,
            dtype=str(dtype).removeprefix("torch."),
            rows=rows,
            columns=num_columns,
            moved_bytes=2 * x.numel() * dtype.itemsize,
            comparison=replace(comparison, origin=None),  # the result has it once for all
            errors=errors,
        )


def _calls(task: _Task, x: torch.Tensor, weight: torch.Tensor) -> dict[str, Call]:
    compiled = torch.compile(isolated(task.plain), dynamic=False)
    return {
        BY_HAND: lambda: task.by_hand(x, weight),
        INDUCTOR: lambda: compiled(x, weight),
        EAGER: lambda: task.plain(x, weight),
    }


def error_share(
    task: RowTask, result: torch.Tensor, x: torch.Tensor, weight: torch.Tensor
) -> float:
    """Return the largest error over what rounding explains, on rows spread over the matrix.

    Each element is rounded once to its type, and the float32 arithmetic before it adds a sum of
    N terms in some order: at most 4 (log2 N + 8) float32 roundings in any of the ways here, which
    add in trees. A result beyond 1 is a bug.

    Args:
        task: which operation.
        result: [R, N].
        x: [R, N].
        weight: [N]; softmax doesn't use it.

    Returns:
        0 for an exact result, up to 1 for rounding.
    """
    step = max(1, x.shape[0] // SAMPLED_ROWS)
    plain = _softmax if task == "softmax" else _rms_norm
    true = plain(x[::step].double(), weight.double())
    num_steps = 4 * (torch.tensor(float(x.shape[1])).log2().item() + 8)
    float32_eps = torch.finfo(torch.float32).eps
    stored = torch.finfo(x.dtype)
    # The largest |x| bounds how far exp carries the rounding of its argument.
    reach = 1 + (x[::step].double().abs().max().item() if task == "softmax" else 0.0)
    relative = num_steps * float32_eps * reach + stored.eps
    bound = relative * true.abs() + stored.smallest_normal
    return ((result[::step].double() - true).abs() / bound).max().item()
