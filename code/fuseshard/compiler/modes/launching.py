"""What launching many small kernels costs, and what fusion and CUDA graphs take away of it."""

import functools
import statistics
import timeit
from collections.abc import Callable

import torch

from fuseshard.compiler.isolate import isolated
from fuseshard.compiler.modes.cuda_graph import graph_by_hand
from fuseshard.compiler.modes.records import LaunchProgram, LaunchReport, LaunchRun
from fuseshard.compiler.modes.traces import device_trace
from fuseshard.measure.experiments import experiment
from fuseshard.measure.records import Range

STEPS = 100
WIDTH = 64

WARM_UP_CALLS = 5
"""with CUDA graphs the first call compiles, the second captures, the third replays"""

TIMED_CALLS = 101
"""odd, so that the median is one of them"""

Program = Callable[[torch.Tensor], torch.Tensor]


@experiment("modes.launches-gpu", needs="cuda", processes=5)
def gpu_launches() -> LaunchReport:
    """Time and count the launches of two programs of many small kernels on a CUDA GPU."""
    return launch_report("cuda")


def programs(device: str, steps: int = STEPS) -> dict[str, Program]:
    """Make two programs of many small kernels, whose results no reordering can change.

    Args:
        device: where they will run.
        steps: pairs of operations in each.

    Returns:
        "pointwise", which one kernel can do, since all its factors are powers of two; and
        "products", with a matrix product between any two additions: the matrix permutes columns,
        so each of its sums has one term. Both take a [n, WIDTH] tensor.
    """
    order = torch.randperm(WIDTH, generator=torch.Generator().manual_seed(0))
    matrix = torch.eye(WIDTH)[order].to(device)

    def pointwise(x: torch.Tensor) -> torch.Tensor:
        for _ in range(steps):
            x = x * 0.5
            x = x + 1.0
        return x

    def products(x: torch.Tensor) -> torch.Tensor:
        for _ in range(steps):
            x = x @ matrix
            x = x + 1.0
        return x

    return {"pointwise": isolated(pointwise), "products": isolated(products)}


def launch_report(device: str, *, steps: int = STEPS, calls: int = TIMED_CALLS) -> LaunchReport:
    """Run each program in each way, check that results are equal, and count and time launches.

    Args:
        device: "cpu" or "cuda"; a CPU has no graphs by hand.
        steps: pairs of operations in each program.
        calls: timed, of which the median is kept.

    Returns:
        All runs.
    """
    x = torch.arange(WIDTH * WIDTH, dtype=torch.float32).view(WIDTH, WIDTH).to(device)
    measured = []
    for name, program in programs(device, steps).items():
        expected = program(x).clone()
        runs = [
            _run(way, functools.partial(fn, x), expected, device=device, calls=calls)
            for way, fn in _ways(program, x, device).items()
        ]
        measured.append(LaunchProgram(name=name, steps=steps, runs=tuple(runs)))
    return LaunchReport(device=device, programs=tuple(measured))


def _ways(program: Program, x: torch.Tensor, device: str) -> dict[str, Program]:
    """Eager, compiled without and with the library's graphs, and graphs by hand around both."""
    compiled = torch.compile(isolated(program), dynamic=False)
    ways = {
        "eager": program,
        "default": compiled,
        "reduce-overhead": torch.compile(isolated(program), mode="reduce-overhead", dynamic=False),
    }
    if device == "cuda":
        compiled(x)  # a capture must find everything compiled
        ways["graph of eager"] = graph_by_hand(program, x)
        ways["graph of default"] = graph_by_hand(compiled, x)
    return ways


def _run(
    way: str,
    call: Callable[[], torch.Tensor],
    expected: torch.Tensor,
    *,
    device: str,
    calls: int,
) -> LaunchRun:
    for _ in range(WARM_UP_CALLS):
        result = call()
    is_equal = torch.equal(result, expected)
    del result
    host_s, whole_s = zip(*(_timed(call, device) for _ in range(calls)), strict=True)
    median_s = statistics.median(whole_s)
    return LaunchRun(
        way=way,
        host_s=statistics.median(host_s),
        whole_s=median_s,
        whole_range=Range.of(median_s),
        trace=device_trace(call, device),
        is_equal=is_equal,
    )


def _timed(call: Callable[[], object], device: str) -> tuple[float, float]:
    """Seconds until one call returned, and until the device was done; it starts idle."""
    begin_s = timeit.default_timer()
    call()
    returned_s = timeit.default_timer()
    if device == "cuda":
        torch.cuda.synchronize()
    return returned_s - begin_s, timeit.default_timer() - begin_s
