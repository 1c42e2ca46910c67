"""The batch size at which compiling MiniGPT's head starts to pay, on a CPU and on a GPU."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace

import torch

from fuseshard.compiler.inductor import head_with, library_softmax, softmax_by_hand
from fuseshard.compiler.records import HeadSweep
from fuseshard.measure.clock import sweep
from fuseshard.measure.experiments import experiment
from fuseshard.measure.records import Sweep
from fuseshard.measure.statistics import paired_ratio
from fuseshard.models.minigpt import MiniGPTConfig

CPU_ROWS = (1, 4, 16, 64, 256, 1024, 4096)
GPU_ROWS = (1, 16, 256, 1024, 4096, 16384, 65536)

ROUNDS = 25
"""enough for an interval narrower than the range, at 99 % confidence"""

EAGER, COMPILED = "eager", "compiled"
"""names of the two variants in every comparison"""

WAYS = {"by_hand": softmax_by_hand, "library": library_softmax}
"""the two ways to write the softmax, by the names of the fields that hold their sweeps"""


def head_sweep(rows: Sequence[int], *, device: str = "cpu", budget_s: float = 40.0) -> HeadSweep:
    """Time the head eager and compiled over batch sizes, with both ways to write the softmax.

    All four variants take their turns in the same rounds, so that both ways can be compared too.
    Each size is compiled for itself, so no version is slowed down by handling other sizes.
    Steady times only: caches on disk may serve the first calls, so their `first_call_s` are no
    compile times, and no figure or table shows them.

    Args:
        rows: batch sizes, growing.
        device: "cpu" (one thread, the host's clock) or "cuda" (device events).
        budget_s: seconds of timing for all sizes together; compiling comes on top.

    Returns:
        One sweep a way.
    """
    clock = {} if device == "cpu" else {"device": device}
    together = sweep(
        lambda size: _variants(size, device),
        rows,
        size_name="rows",
        budget_s=budget_s,
        rounds=ROUNDS,
        **clock,
    )
    config = MiniGPTConfig()
    return HeadSweep(
        device=device,
        width=config.width,
        vocabulary=config.vocabulary,
        by_hand=one_way(together, "by_hand"),
        library=one_way(together, "library"),
        # One origin for both: a recording replaces this one, and would miss those further in.
        origin=together.origin,
    )


@experiment("inductor.size-sweep-cpu", needs="cpu")
def cpu_size_sweep() -> HeadSweep:
    """Time the head on this machine's CPU."""
    return head_sweep(CPU_ROWS)


@experiment("inductor.size-sweep-gpu", needs="cuda", processes=5)
def gpu_size_sweep() -> HeadSweep:
    """Time the head on a CUDA GPU."""
    return head_sweep(GPU_ROWS, device="cuda", budget_s=20.0)


def _variants(rows: int, device: str) -> dict[str, Callable[[], object]]:
    """Make the head both ways, eager and compiled, on one input."""
    generator = torch.Generator().manual_seed(rows)
    hidden = torch.randn(rows, MiniGPTConfig().width, generator=generator).to(device)
    variants: dict[str, Callable[[], object]] = {}
    for way, softmax in WAYS.items():
        head = head_with(softmax, device=device)
        compiled = torch.compile(head, dynamic=False)
        variants[f"{way} {EAGER}"] = functools.partial(head, hidden)
        variants[f"{way} {COMPILED}"] = functools.partial(compiled, hidden)
    return variants


def one_way(together: Sweep, way: str) -> Sweep:
    """Take one way's two variants out of each comparison, with their ratio in the same rounds.

    Args:
        together: a sweep whose variants are called "<way> eager" and "<way> compiled".
        way: which of them.

    Returns:
        The sweep of that way alone, its variants called `EAGER` and `COMPILED`, without an origin.
    """
    points = []
    for point in together.points:
        eager = point.comparison[f"{way} {EAGER}"]
        compiled = point.comparison[f"{way} {COMPILED}"]
        ratio = paired_ratio(eager.rounds_s, compiled.rounds_s)
        timings = (
            replace(eager, name=EAGER, ratio=None),
            replace(compiled, name=COMPILED, ratio=ratio),
        )
        points.append(replace(point, comparison=replace(point.comparison, timings=timings)))
    return replace(together, points=tuple(points), origin=None)
