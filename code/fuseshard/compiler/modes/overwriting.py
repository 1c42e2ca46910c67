"""CUDA graphs write each result over the last one: what the library and the hand make of it."""

import functools
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

# Private, checked on torch 2.11 and 2.13: Dynamo's own statistics.
from torch._dynamo.utils import counters

# Private, checked on torch 2.11 and 2.13: whether templates are tried on this GPU at all.
from torch._inductor.utils import is_big_gpu

from fuseshard.compiler.isolate import isolated
from fuseshard.compiler.modes.cuda_graph import graph_by_hand
from fuseshard.compiler.modes.records import Ending, GraphReport, SkipCase, TrapCase
from fuseshard.compiler.modes.traces import device_trace
from fuseshard.compiler.text import clean
from fuseshard.measure.experiments import experiment

WARM_UP_CALLS = 4
"""the first call compiles, the second captures, the third replays"""

FIRST, SECOND = (1.0, 2.0, 3.0), (10.0, 20.0, 30.0)
"""inputs of the two calls"""

OVERWRITTEN = "overwritten by a subsequent run"
"""what torch says in refusing; checked on torch 2.13"""

Function = Callable[[torch.Tensor], torch.Tensor]


@experiment("modes.graphs-gpu", needs="cuda")
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
    mark, keep = torch.compiler.cudagraph_mark_step_begin, torch.Tensor.clone
    yield _trap("default mode", _compiled(double_plus_one, "default"), device)
    yield _trap("reduce-overhead", _compiled(double_plus_one), device)
    yield _trap("marked steps", _compiled(double_plus_one), device, before_call=mark)
    yield _trap("clone inside", _compiled(cloned_inside), device)
    yield _trap("clone outside", _compiled(double_plus_one), device, keep=keep)
    yield _fed_back(device)
    if device == "cuda":
        by_hand = graph_by_hand(double_plus_one, torch.tensor(FIRST, device=device))
        yield _trap("by hand", by_hand, device)
        yield _trap("by hand, clone", by_hand, device, keep=keep)


def _trap(
    name: str,
    fn: Function,
    device: str,
    *,
    before_call: Callable[[], None] = lambda: None,
    keep: Function = lambda result: result,
) -> TrapCase:
    """Call twice, and look at the first result again."""
    first, second = (torch.tensor(values, device=device) for values in (FIRST, SECOND))
    for _ in range(WARM_UP_CALLS):
        before_call()
        fn(first)
    before_call()
    held = keep(fn(first))
    before = _numbers(held)
    before_call()
    later = _numbers(fn(second))
    try:
        after = _numbers(held)
    except RuntimeError as error:
        return _case(name, before, (), later, str(error))
    return _case(name, before, after, later, "")


def _fed_back(device: str) -> TrapCase:
    """Feed the first result to the second call, as a loop over steps does, and look at it again."""
    fn = _compiled(double_plus_one)
    first = torch.tensor(FIRST, device=device)
    for _ in range(WARM_UP_CALLS):
        fn(first)
    held = fn(first)
    before = _numbers(held)
    later: tuple[float, ...] = ()
    try:
        later = _numbers(fn(held))
        after = _numbers(held)
    except RuntimeError as error:
        return _case("fed back", before, (), later, str(error))
    return _case("fed back", before, after, later, "")


def _case(
    name: str,
    before: tuple[float, ...],
    after: tuple[float, ...],
    second: tuple[float, ...],
    message: str,
) -> TrapCase:
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
    before = counters["inductor"]["cudagraph_skips"]
    x = torch.tensor(FIRST, device=device)
    with _reasons() as reasons:
        for _ in range(WARM_UP_CALLS):
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


def _numbers(tensor: torch.Tensor) -> tuple[float, ...]:
    return tuple(float(value) for value in tensor.tolist())


class _Collector(logging.Handler):
    """Keeps messages instead of printing them."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


@contextmanager
def _reasons() -> Iterator[list[str]]:
    """Collect what torch logs about graphs that it leaves out, under whatever logger it does."""
    collector = _Collector()
    names = [
        name for name in logging.root.manager.loggerDict if name.startswith("torch._inductor.cuda")
    ]
    for name in names:
        logging.getLogger(name).addHandler(collector)
    try:
        yield collector.messages
    finally:
        for name in names:
            logging.getLogger(name).removeHandler(collector)
