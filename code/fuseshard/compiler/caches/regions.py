"""A stack compiled as a whole, layer by layer, and as a whole with a nested region."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace

import torch

# Private, checked on torch 2.11 and 2.13: how many threads call the C++ compiler.
import torch._inductor.config

from fuseshard.compiler.caches.counting import compiler_runs
from fuseshard.compiler.caches.errors import error_of
from fuseshard.compiler.caches.records import FirstCall, RegionPoint, RegionSweep
from fuseshard.compiler.graphs import graphs_captured
from fuseshard.compiler.inductor import first_call_parts
from fuseshard.measure.clock import compare, first_call
from fuseshard.measure.experiments import experiment
from fuseshard.measure.provenance import environment
from fuseshard.measure.records import Origin
from fuseshard.measure.statistics import paired_ratio
from fuseshard.measure.stopwatch import threads
from fuseshard.models.stack import HalfLayer, Stack, rows

Call = Callable[[torch.Tensor], torch.Tensor]

NUM_ROWS = 10
"""of the narrow stacks' input, as in PyTorch's recipe"""

CPU_DEPTHS, GPU_DEPTHS = (8, 24), (8, 64)
"""narrow layers; PyTorch's recipe takes 64"""

CPU_WIDE, GPU_WIDE = (8, 384, 128), (64, 2048, 2048)
"""layers, width and rows of the wide stack"""

TIMING_S = 2.0
"""for the rounds of one stack"""


@experiment("compile-time.regions-cpu", needs="cpu")
def cpu_regions() -> RegionSweep:
    """Compile stacks on this machine's CPU: a short one, a deep one, and one of wide layers."""
    return region_sweep(CPU_DEPTHS, CPU_WIDE)


@experiment("compile-time.regions-gpu", needs="cuda")
def gpu_regions() -> RegionSweep:
    """Compile stacks on a CUDA GPU: a short one, the recipe's, and one of wide layers."""
    return region_sweep(GPU_DEPTHS, GPU_WIDE, device="cuda")


def whole(stack: Stack) -> Call:
    """Compile the stack as one function: one graph with all layers in it."""
    compiled: Call = torch.compile(stack, dynamic=False)
    return compiled


def regional(stack: Stack) -> Call:
    """Compile each layer by itself: the first call compiles one, and all others find it."""
    layers = [torch.compile(layer, dynamic=False) for layer in stack.layers]

    def forward(x: torch.Tensor) -> torch.Tensor:
        for layer in layers:
            x = layer(x)
        return x

    return forward


def nested(stack: Stack) -> Call:
    """Compile the stack as one function in which the layer is a region, compiled once."""

    @torch.compiler.nested_compile_region
    def region(layer: Call, x: torch.Tensor) -> torch.Tensor:
        return layer(x)

    def forward(x: torch.Tensor) -> torch.Tensor:
        for layer in stack.layers:
            x = region(layer, x)
        return x

    compiled: Call = torch.compile(forward, dynamic=False)
    return compiled


WAYS: dict[str, Callable[[Stack], Call]] = {
    "whole": whole,
    "regional": regional,
    "nested": nested,
}


def region_sweep(
    depths: Sequence[int], wide: tuple[int, int, int], *, device: str = "cpu"
) -> RegionSweep:
    """Compile narrow stacks and a wide one in three ways, and time them in the same rounds.

    Before them a smaller program is compiled, which pays for what Inductor sets up once a process.
    The deepest stack comes first, in all three ways, and finds nothing in any cache. Shallower ones
    find its layer in memory. The wide stack's first calls aren't timed: its layer is as much work
    for the compiler as a narrow one.

    Args:
        depths: layers of the narrow stacks, growing.
        wide: layers, width and rows of the wide one.
        device: "cpu" (one thread) or "cuda".

    Returns:
        First calls and steady times.
    """
    torch.compiler.reset()
    *shallow, deepest = depths
    with threads(1), torch._inductor.config.patch(compile_threads=1):
        smaller, x = HalfLayer().to(device), rows(1).to(device)
        first_call(functools.partial(torch.compile(smaller, dynamic=False), x))
        deep = region_point(Stack(deepest), NUM_ROWS, device=device, fresh=tuple(WAYS))
        points = [
            region_point(
                Stack(n), NUM_ROWS, device=device, ways=("whole", "regional"), fresh=("whole",)
            )
            for n in shallow
        ]
        return RegionSweep(
            device=device,
            points=(*points, deep),
            wide=region_point(Stack(*wide[:2]), wide[2], device=device),
            origin=Origin(is_live=True, environment=environment()),
        )


def region_point(
    stack: Stack,
    num_rows: int,
    *,
    device: str = "cpu",
    ways: Sequence[str] = tuple(WAYS),
    fresh: Sequence[str] = (),
) -> RegionPoint:
    """Compile one stack in several ways, and time it.

    Args:
        stack: is moved to the device.
        num_rows: of the input.
        device: "cpu" or "cuda".
        ways: of WAYS, the whole first.
        fresh: ways whose first call must find nothing on disk; the others may.

    Returns:
        First calls and steady times.
    """
    x = rows(num_rows, stack.width).to(device)
    stack = stack.to(device)
    calls = {way: functools.partial(WAYS[way](stack), x) for way in ways}
    first_calls = {way: _first_call(call, device, way in fresh) for way, call in calls.items()}
    variants = {"eager": functools.partial(stack, x), **calls}
    comparison = compare(variants, budget_s=TIMING_S, device=device)
    whole_s = comparison["whole"].rounds_s
    return RegionPoint(
        num_layers=len(stack.layers),
        width=stack.width,
        num_rows=num_rows,
        first_calls=first_calls,
        comparison=replace(comparison, origin=None),  # the sweep carries it once
        to_whole={way: paired_ratio(whole_s, comparison[way].rounds_s) for way in ways[1:]},
        errors={way: error_of(call(), stack, x) for way, call in variants.items()},
    )


def _first_call(call: Callable[[], object], device: str, is_fresh: bool) -> FirstCall:
    """Make a first call; if it finds nothing on disk its time counts, by stages on the CPU."""
    parts_s: dict[str, float] = {}

    def run() -> None:
        if not is_fresh:
            call()
        elif device == "cpu":
            parts_s.update(first_call_parts(call))
        else:
            parts_s["all"] = first_call(call, sync=torch.cuda.synchronize)

    runs = compiler_runs()
    graphs = graphs_captured(run)
    return FirstCall(parts_s=parts_s, graphs=graphs, compiler_runs=compiler_runs() - runs)
