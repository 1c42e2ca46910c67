"""CUDA graphs write each result over the last one: what the library and the hand make of it."""

import functools
from collections.abc import Callable, Iterator
from typing import Literal

import torch

# Private, checked on torch 2.11 and 2.13: Dynamo's own statistics.
from torch._dynamo.utils import counters

# Private, checked on torch 2.11 and 2.13: the step that counts, and the graphs captured so far.
from torch._inductor.cudagraph_trees import MarkStepBox, reset_cudagraph_trees

# Private, checked on torch 2.11 and 2.13: whether templates are tried on this GPU at all.
from torch._inductor.utils import is_big_gpu

from fuseshard.compiler.isolate import isolated
from fuseshard.compiler.modes.cuda_graph import graph_by_hand
from fuseshard.compiler.modes.options import hearing
from fuseshard.compiler.modes.records import Ending, GraphReport, SkipCase, TrapCase
from fuseshard.compiler.modes.traces import device_trace
from fuseshard.compiler.text import clean
from fuseshard.measure.experiments import experiment

WARM_UP_ROUNDS = 4
"""rounds of two calls that come before the one that is looked at: the first call compiles and warms
up, the second captures, later ones replay"""

FIRST, SECOND = (1.0, 2.0, 3.0), (10.0, 20.0, 30.0)
"""inputs of the two calls"""

Function = Callable[[torch.Tensor], torch.Tensor]
Numbers = tuple[float, ...]
Marks = Literal["none", "each call", "once"]
"""before which calls a new step is marked: none of them, both, or the first of the two"""


@experiment("modes.graph-results-gpu", needs="cuda")
def gpu_graphs() -> GraphReport:
    """Try what happens to a CUDA graph's results, and when graphs are left out, on a CUDA GPU."""
    return graph_report("cuda")


def double_plus_one(x: torch.Tensor) -> torch.Tensor:
    """Compute 2x + 1.

    Args:
        x: any shape; not modified.

    Returns:
        A new tensor of the same shape.
    """
    return x * 2 + 1


def cloned_inside(x: torch.Tensor) -> torch.Tensor:
    """Compute 2x + 1 and clone it before returning: the clone is compiled, too.

    Args:
        x: any shape; not modified.

    Returns:
        A new tensor of the same shape.
    """
    return (x * 2 + 1).clone()


def graph_report(device: str) -> GraphReport:
    """Run every case of overwritten results and of graphs left out.

    Args:
        device: "cpu" or "cuda"; on a CPU nothing is overwritten and every graph is left out.

    Returns:
        The cases.
    """
    is_cuda = device == "cuda"
    return GraphReport(
        device=device,
        multiprocessors=torch.cuda.get_device_properties(0).multi_processor_count if is_cuda else 0,
        is_big=is_cuda and bool(is_big_gpu()),
        traps=tuple(_traps(device)),
        skips=tuple(_skips(device)),
    )


def _traps(device: str) -> Iterator[TrapCase]:
    keep = torch.Tensor.clone
    yield _trap("default mode", _compiled(double_plus_one, "default"), device)
    yield _trap("first calls", _compiled(double_plus_one), device, warm_ups=0)
    yield _trap("later calls", _compiled(double_plus_one), device)
    for marks in ("each call", "once"):
        yield _trap(f"marked {marks}", _compiled(double_plus_one), device, marks=marks)
    yield _trap(
        "marked each call, first calls",
        _compiled(double_plus_one),
        device,
        marks="each call",
        warm_ups=0,
    )
    yield _trap("clone inside", _compiled(cloned_inside), device)
    yield _trap("clone outside", _compiled(double_plus_one), device, keep=keep)
    yield _trap("fed back", _compiled(double_plus_one), device, feeds_back=True)
    if device == "cuda":
        by_hand = graph_by_hand(double_plus_one, torch.tensor(FIRST, device=device))
        yield _trap("by hand", by_hand, device)
        yield _trap("by hand, clone", by_hand, device, keep=keep)


def _trap(
    name: str,
    fn: Function,
    device: str,
    *,
    marks: Marks = "none",
    keep: Function = lambda result: result,
    warm_ups: int = WARM_UP_ROUNDS,
    feeds_back: bool = False,
) -> TrapCase:
    """Call twice, round after round, and in the last one look at the first result again."""
    reset_cudagraph_trees()
    # Once a step has been marked, torch starts none of its own: the next case would be another.
    MarkStepBox.mark_step_counter = 0
    first, second = (torch.tensor(values, device=device) for values in (FIRST, SECOND))

    before: Numbers = ()
    later: Numbers = ()
    try:
        for _ in range(warm_ups + 1):
            if marks != "none":
                torch.compiler.cudagraph_mark_step_begin()
            held = keep(fn(first))
            before = _numbers(held)
            if marks == "each call":
                torch.compiler.cudagraph_mark_step_begin()
            later = _numbers(fn(held if feeds_back else second))
        return _case(name, before, _numbers(held), later, message="")
    except RuntimeError as error:
        return _case(name, before, (), later, message=str(error))


def _case(name: str, before: Numbers, after: Numbers, second: Numbers, *, message: str) -> TrapCase:
    ending: Ending = "refused" if message else "kept" if after == before else "overwritten"
    return TrapCase(
        name=name,
        before=before,
        after=after,
        second=second,
        ending=ending,
        message=clean(" ".join(message.split())),
    )


def _skips(device: str) -> Iterator[SkipCase]:
    """Compile functions that a graph can hold, and that it can't."""

    def mutating(x: torch.Tensor) -> torch.Tensor:
        return x.add_(1) * 2

    on_host = torch.ones(3)

    def mixed(x: torch.Tensor) -> torch.Tensor:
        return x * 2 + on_host.sum().to(x.device)

    def reading(x: torch.Tensor) -> torch.Tensor:
        return x * x.sum().item()

    functions = {
        "pure": double_plus_one,
        "input changed": mutating,
        "CPU tensor": mixed,
        "number read back": reading,
    }
    for name, fn in functions.items():
        yield _skip(name, _compiled(fn), device)


def _skip(name: str, fn: Function, device: str) -> SkipCase:
    reset_cudagraph_trees()
    MarkStepBox.mark_step_counter = 0
    before = counters["inductor"]["cudagraph_skips"]
    x = torch.tensor(FIRST, device=device)
    with hearing("torch._inductor.cuda") as reasons:
        for _ in range(WARM_UP_ROUNDS):
            fn(x)
    return SkipCase(
        name=name,
        skips=int(counters["inductor"]["cudagraph_skips"] - before),
        graph_launches=device_trace(functools.partial(fn, x), device).graph_launches,
        message=clean(reasons[0].splitlines()[0]) if reasons else "",
    )


def _compiled(fn: Function, mode: str = "reduce-overhead") -> Function:
    compiled: Function = torch.compile(isolated(fn), mode=mode, dynamic=False)
    return compiled


def _numbers(tensor: torch.Tensor) -> Numbers:
    return tuple(float(value) for value in tensor.tolist())
