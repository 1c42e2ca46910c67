"""Maps of the speed-up: the same work, eager and compiled, over two sizes at a time.

One compiled version serves all columns of a row (`dynamic=True`), as it would in a program whose
sizes vary. Caches on disk may serve the first calls, so no first call of a map is a compile time.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import nn

from fuseshard.compiler.graphs import graphs_captured
from fuseshard.compiler.isolate import isolated
from fuseshard.compiler.ledger.records import (
    COMPILED,
    EAGER,
    Family,
    MapCell,
    SpeedMap,
    SpeedMaps,
)
from fuseshard.compiler.ledger.workloads import Elementwise, broken_chain, chain, layers
from fuseshard.compiler.modes.records import Task
from fuseshard.compiler.modes.steps import exact_outputs, largest_error, step_for, tokens_for
from fuseshard.measure.clock import compare
from fuseshard.measure.experiments import experiment
from fuseshard.models.minigpt import MiniGPT, MiniGPTConfig
from fuseshard.models.small import (
    GRU_FEATURES,
    GRU_STEPS,
    IMAGE_CHANNELS,
    IMAGE_SIDE,
    MLP_WIDTH,
    ConvNet,
    GRULoop,
    ResidualMLP,
)

Inputs = tuple[torch.Tensor, ...]
Function = Callable[..., torch.Tensor]
Step = Callable[..., torch.Tensor | tuple[torch.Tensor, ...]]

CHAIN_ROWS, BREAK_ROWS, LAYER_ROWS = (2, 8, 32, 128), (0, 3, 15), (0, 2, 8, 32)
"""operations of a chain; breaks in one of `BROKEN_OPERATIONS`; operations after each product"""

BROKEN_OPERATIONS = 32

GPT_CONFIG, GPT_TOKENS = MiniGPTConfig(num_layers=1), 32
"""one layer compiles in a fraction of the time of four, and has every kind of operation"""

CPU_COLUMNS: Mapping[Family, tuple[int, ...]] = {
    "chain": (16, 1024, 32_768, 1_048_576),
    "matmul": (32, 128, 512),
    "breaks": (1024, 32_768, 1_048_576),
    "models": (2, 8, 32),
}
GPU_COLUMNS: Mapping[Family, tuple[int, ...]] = {
    "chain": (1024, 65_536, 4_194_304, 67_108_864),
    "matmul": (64, 512, 4096),
    "breaks": (1024, 1_048_576, 67_108_864),
    "models": (2, 32, 512),
}

ROUNDS, CELL_BUDGET_S = 9, 2.0
"""rounds of a cell (8 are the fewest that reach 99 % confidence), and seconds for them at most"""

ALLOWED_ERRORS = 8.0
"""times the eager error that a compiled result may be off: another order of the same roundings"""


@dataclass(frozen=True)
class Work:
    """One row of a map."""

    eager: Step
    compiled: Step
    exact: Step
    """the same in float64, eagerly"""
    inputs: Callable[[int], Inputs]
    """column -> arguments"""


def chain_map(device: str = "cpu", columns: Sequence[int] | None = None) -> SpeedMap:
    """Map chains of elementwise operations: length against elements.

    Args:
        device: "cpu" (one thread) or "cuda".
        columns: elements, growing; None means those of the page, or of the recording.
    """
    rows = {str(n): _elementwise(chain(n), device) for n in CHAIN_ROWS}
    return _measure("chain", rows, device, columns)


def break_map(device: str = "cpu", columns: Sequence[int] | None = None) -> SpeedMap:
    """Map a chain with graph breaks: breaks against elements.

    Args:
        device: "cpu" (one thread) or "cuda".
        columns: elements, growing; None means those of the page, or of the recording.
    """
    rows = {str(n): _elementwise(broken_chain(BROKEN_OPERATIONS, n), device) for n in BREAK_ROWS}
    return _measure("breaks", rows, device, columns)


def matmul_map(device: str = "cpu", columns: Sequence[int] | None = None) -> SpeedMap:
    """Map two matrix products: elementwise operations after each against the side of a matrix.

    Args:
        device: "cpu" (one thread) or "cuda".
        columns: sides, growing; None means those of the page, or of the recording.
    """

    def inputs(side: int) -> Inputs:
        # Columns of length about 1, so that products stay near the size of what goes in.
        return _drawn(side, side, device=device), _drawn(side, side, device=device) / side**0.5

    rows = {str(n): _work(layers(n), inputs, layers(n)) for n in LAYER_ROWS}
    return _measure("matmul", rows, device, columns)


def model_map(device: str = "cpu", columns: Sequence[int] | None = None) -> SpeedMap:
    """Map small models: which one against the batch.

    Args:
        device: "cpu" (one thread) or "cuda".
        columns: batch sizes, growing; None means those of the page, or of the recording.
    """
    sides = (IMAGE_CHANNELS, IMAGE_SIDE, IMAGE_SIDE)
    rows = {
        "mlp": _model(ResidualMLP(), (MLP_WIDTH,), device),
        "conv": _model(ConvNet(), sides, device),
        "gru": _model(GRULoop(), (GRU_STEPS, GRU_FEATURES), device),
        "minigpt": _minigpt("inference", device),
        "minigpt-training": _minigpt("training", device),
    }
    return _measure("models", rows, device, columns)


@experiment("when-it-helps.maps-gpu", needs="cuda")
def gpu_maps() -> SpeedMaps:
    """Make all four maps on a CUDA GPU, without one analysis that fails there on symbolic sizes."""
    # Private, checked on torch 2.11 and 2.13. In 2.11 the analysis ends MiniGPT's training step
    # with an AssertionError in tiling_utils.py, of which pytorch#181793 repairs one.
    with torch._inductor.config.patch({"triton.coalesce_tiling_analysis": False}):
        made = [make("cuda") for make in (chain_map, matmul_map, break_map, model_map)]
    # One origin for all: a recording replaces this one, and would miss those further in.
    maps = tuple(replace(one, origin=None) for one in made)
    return SpeedMaps(maps=maps, origin=made[0].origin)


def _measure(
    family: Family, rows: Mapping[str, Work], device: str, columns: Sequence[int] | None
) -> SpeedMap:
    """Time every row at every column, and hold each result against float64 first."""
    sizes = tuple(columns or (CPU_COLUMNS if device == "cpu" else GPU_COLUMNS)[family])
    for row, work in rows.items():
        _require_graphs(row, work, sizes[0])
    cells = [_cell(row, work, size, device) for row, work in rows.items() for size in sizes]
    return SpeedMap(
        family=family,
        device=device,
        rows=tuple(rows),
        columns=sizes,
        cells=tuple(replace(c, comparison=replace(c.comparison, origin=None)) for c in cells),
        origin=cells[0].comparison.origin,
    )


def _require_graphs(row: str, work: Work, size: int) -> None:
    """Make the first call, and refuse to compare eager with eager."""
    inputs = work.inputs(size)
    if not graphs_captured(lambda: work.compiled(*inputs)):
        raise ValueError(
            f"{row}: torch.compile captured 0 graphs, must capture at least 1 (otherwise eager "
            "would be compared with eager); compile a function that computes with tensors."
        )


def _cell(row: str, work: Work, size: int, device: str) -> MapCell:
    inputs = work.inputs(size)
    exact = _listed(work.exact(*(x.double() if x.is_floating_point() else x for x in inputs)))
    eager_error = largest_error(_listed(work.eager(*inputs)), exact)
    error = largest_error(_listed(work.compiled(*inputs)), exact)
    allowed = ALLOWED_ERRORS * max(eager_error, torch.finfo(torch.float32).eps)
    if not error <= allowed:  # NaN compares false
        raise ArithmeticError(
            f"{row} at {size}: the compiled result is off by {error:.1e}, at most {allowed:.1e} "
            f"expected (eager: {eager_error:.1e}); a speed-up of a wrong result means nothing."
        )
    comparison = compare(
        {
            EAGER: functools.partial(work.eager, *inputs),
            COMPILED: functools.partial(work.compiled, *inputs),
        },
        rounds=ROUNDS,
        budget_s=CELL_BUDGET_S,
        device=device,
    )
    return MapCell(
        row=row, column=size, comparison=comparison, error=error, eager_error=eager_error
    )


def _listed(result: torch.Tensor | tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
    return result if isinstance(result, tuple) else (result,)


def _elementwise(fn: Elementwise, device: str) -> Work:
    return _work(fn, lambda size: (_drawn(size, device=device),), fn)


def _model(model: nn.Module, shape: Sequence[int], device: str) -> Work:
    model = model.to(device).eval().requires_grad_(False)
    exact = type(model)().to(device, torch.float64).eval().requires_grad_(False)
    exact.load_state_dict(model.state_dict())
    return _work(model, lambda batch: (_drawn(batch, *shape, device=device),), exact)


def _minigpt(task: Task, device: str) -> Work:
    model = MiniGPT(GPT_CONFIG).to(device)
    if task == "inference":
        model.requires_grad_(False)
    return Work(
        eager=step_for(task, model),
        compiled=step_for(task, model, _compiled),
        exact=functools.partial(exact_outputs, task, model),
        inputs=lambda batch: (tokens_for(batch, GPT_TOKENS, device=device),),
    )


def _work(fn: Function, inputs: Callable[[int], Inputs], exact: Function) -> Work:
    return Work(eager=fn, compiled=_compiled(isolated(fn)), exact=exact, inputs=inputs)


def _compiled(fn: Function) -> Function:
    compiled: Function = torch.compile(fn, dynamic=True)
    return compiled


def _drawn(*shape: int, device: str) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0)).to(device)
