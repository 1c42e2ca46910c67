"""The batch size at which compiling MiniGPT's head starts to pay, on a CPU and on a GPU."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import torch

from fuseshard.compiler.inductor import head_with, library_softmax, softmax_by_hand
from fuseshard.compiler.records import HeadSweep
from fuseshard.measure.clock import sweep
from fuseshard.measure.experiments import experiment
from fuseshard.models.minigpt import MiniGPTConfig

CPU_ROWS = (1, 4, 16, 64, 256, 1024, 4096)
GPU_ROWS = (1, 16, 256, 1024, 4096, 16384, 65536)

ROUNDS = 25
"""enough for an interval narrower than the range, at 99 % confidence"""

EAGER, COMPILED = "eager", "compiled"
"""names of the two variants in every comparison"""

Variants = Mapping[str, Callable[[], object]]


def head_sweep(rows: Sequence[int], *, device: str = "cpu", budget_s: float = 20.0) -> HeadSweep:
    """Time the head eager and compiled over batch sizes, with both ways to write the softmax.

    Each size is compiled for itself, so no version is slowed down by handling other sizes.
    Steady times only: caches on disk may serve the first calls, so their `first_call_s` are no
    compile times, and no figure or table shows them.

    Args:
        rows: batch sizes, growing.
        device: "cpu" (one thread, the host's clock) or "cuda" (device events).
        budget_s: seconds of timing for each of the two ways; compiling comes on top.

    Returns:
        One sweep a way.
    """
    clock = {} if device == "cpu" else {"device": device}

    def sweep_of(softmax: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[int], Variants]:
        return lambda size: _variants(softmax, size, device)

    config = MiniGPTConfig()
    by_hand, library = (
        sweep(sweep_of(softmax), rows, size_name="rows", budget_s=budget_s, rounds=ROUNDS, **clock)
        for softmax in (softmax_by_hand, library_softmax)
    )
    return HeadSweep(
        device=device,
        width=config.width,
        vocabulary=config.vocabulary,
        # One origin for both: a recording replaces this one, and would miss those further in.
        by_hand=replace(by_hand, origin=None),
        library=replace(library, origin=None),
        origin=library.origin,
    )


@experiment("inductor.size-sweep-cpu", needs="cpu")
def cpu_size_sweep() -> HeadSweep:
    """Time the head on this machine's CPU."""
    return head_sweep(CPU_ROWS)


@experiment("inductor.size-sweep-gpu", needs="cuda")
def gpu_size_sweep() -> HeadSweep:
    """Time the head on a CUDA GPU."""
    return head_sweep(GPU_ROWS, device="cuda")


def _variants(
    softmax: Callable[[torch.Tensor], torch.Tensor], rows: int, device: str
) -> dict[str, Callable[[], object]]:
    """Make the head eager and compiled, on one input."""
    head = head_with(softmax, device=device)
    generator = torch.Generator().manual_seed(rows)
    hidden = torch.randn(rows, MiniGPTConfig().width, generator=generator).to(device)
    compiled = torch.compile(head, dynamic=False)
    return {EAGER: lambda: head(hidden), COMPILED: lambda: compiled(hidden)}
