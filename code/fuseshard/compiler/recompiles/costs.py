"""What a call pays for its guards: more entries, a lookup in vain, symbols in the code."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle

import torch
import torch._inductor.config

# Private, checked on torch 2.13: nothing public tells how often CUDA graphs are recorded.
from torch._dynamo.callback import CallbackTrigger, callback_handler

from fuseshard.compiler.isolate import isolated
from fuseshard.compiler.recompiles.lengths import WIDTH
from fuseshard.compiler.recompiles.padding import attend
from fuseshard.compiler.recompiles.programs import double
from fuseshard.compiler.recompiles.recorder import listening
from fuseshard.compiler.recompiles.records import ShapeCosts
from fuseshard.measure.clock import compare, sweep
from fuseshard.measure.experiments import experiment
from fuseshard.measure.records import Comparison, Sweep

ENTRY_COUNTS = (1, 2, 4, 8, 16, 32)
CPU_LENGTHS = (16, 64, 160, 256)
GPU_LENGTHS = (16, 64, 256, 1024)

Variants = dict[str, Callable[[], object]]


def lookup_sweep(counts: Sequence[int] = ENTRY_COUNTS, *, budget_s: float = 3.5) -> Sweep:
    """Time calls of a function with more and more entries.

    The entry used last is tried first. "front" calls with one shape again and again; "last" goes
    through all shapes in turn, so that the entry it needs is always the last in the list.

    Args:
        counts: how many entries, growing.
        budget_s: seconds of timing.
    """
    return sweep(_lookups, counts, size_name="entries", budget_s=budget_s)


def _lookups(count: int) -> Variants:
    """Compile one entry a shape, beyond the limit if need be, and make the two ways to call."""
    compiled = torch.compile(isolated(double), backend="eager", dynamic=False)
    tensors = [torch.ones(length) for length in range(2, 2 + count)]
    with torch.compiler.config.patch(recompile_limit=count):  # type: ignore[attr-defined]
        for tensor in tensors:
            compiled(tensor)
    # Both take their tensor from an iterator, so that they differ in the lookup only.
    same, in_turn = cycle(tensors[-1:]), cycle(tensors)
    return {"front": lambda: compiled(next(same)), "last": lambda: compiled(next(in_turn))}


def fallback_comparison(*, budget_s: float = 2.0) -> Comparison:
    """Time the same operation eager, as a hit, and past the limit, where no entry fits.

    Args:
        budget_s: seconds of timing.
    """
    limit = torch.compiler.config.recompile_limit
    compiled = torch.compile(isolated(double), backend="eager", dynamic=False)
    known, unknown = torch.ones(1 + limit), torch.ones(2 + limit)
    with listening() as (_, warnings):
        for length in range(2, 3 + limit):  # the last of them is one too many
            compiled(torch.ones(length))
    assert any("recompile_limit" in warning for warning in warnings)
    return compare(
        {
            "eager": lambda: double(unknown),
            "hit": lambda: compiled(known),
            "fallback": lambda: compiled(unknown),
        },
        budget_s=budget_s,
    )


def length_sweep(
    lengths: Sequence[int],
    *,
    device: str = "cpu",
    modes: Sequence[str] = ("default",),
    budget_s: float = 6.0,
) -> Sweep:
    """Time attention compiled for each length on its own, and once for all of them.

    Args:
        lengths: of the sequence, growing.
        device: "cpu" (one thread, the host's clock) or "cuda" (device events).
        modes: torch.compile's; each gives a static and a symbolic variant.
        budget_s: seconds of timing for all lengths together; compiling comes on top.

    Returns:
        Variants "static", "symbolic", "eager" for the first mode, "static <mode>" and
        "symbolic <mode>" for the others. First calls are compiles: one a length for a static
        variant, one at the first length for a symbolic one.
    """
    symbolic = {mode: torch.compile(isolated(attend), dynamic=True, mode=mode) for mode in modes}

    def variants(length: int) -> Variants:
        x = torch.randn(length, WIDTH, generator=torch.Generator().manual_seed(length)).to(device)
        made: Variants = {}
        for mode in modes:
            suffix = "" if mode == modes[0] else f" {mode}"
            static = torch.compile(isolated(attend), dynamic=False, mode=mode)
            made[f"static{suffix}"] = functools.partial(static, x)
            made[f"symbolic{suffix}"] = functools.partial(symbolic[mode], x)
        return made | {"eager": functools.partial(attend, x)}

    clock = {} if device == "cpu" else {"device": device}
    with torch.no_grad():
        return sweep(
            variants, lengths, size_name="length", budget_s=budget_s, compiled=True, **clock
        )


@experiment("recompiles.lengths-gpu", needs="cuda", processes=5)
def gpu_length_costs() -> ShapeCosts:
    """Time static and symbolic code on a GPU, with and without CUDA graphs."""
    with _recordings() as symbolic_only:
        _run_symbolic(GPU_LENGTHS)
    with _recordings() as both:
        found = length_sweep(
            GPU_LENGTHS, device="cuda", modes=("default", "reduce-overhead"), budget_s=25.0
        )
    return ShapeCosts(
        lengths=found,
        recorded_static=len(both) - len(symbolic_only),
        recorded_symbolic=len(symbolic_only),
        origin=found.origin,
    )


def drops_symbolic_cuda_graphs() -> bool:
    """Return whether mode reduce-overhead leaves symbolic graphs without CUDA graphs."""
    # Private, checked on torch 2.13: the setting has no public name.
    return bool(torch._inductor.config.triton.cudagraph_skip_dynamic_graphs)


def _run_symbolic(lengths: Sequence[int]) -> None:
    """Call one symbolic compile with CUDA graphs at each length, often enough to be recorded."""
    compiled = torch.compile(isolated(attend), dynamic=True, mode="reduce-overhead")
    with torch.no_grad():
        for length in lengths:
            x = torch.ones(length, WIDTH, device="cuda")
            for _ in range(3):
                compiled(x)


@contextmanager
def _recordings() -> Iterator[list[str]]:
    """Collect a note for each CUDA graph that is recorded."""
    notes: list[str] = []

    def note(args: object) -> None:
        if getattr(args, "callback_trigger", None) == CallbackTrigger.CUDAGRAPH_RECORDING:
            notes.append(str(args))

    callback_handler.register_start_callback(note)
    try:
        yield notes
    finally:
        callback_handler.remove_start_callback(note)
