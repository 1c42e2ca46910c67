"""MiniGPT and its head under every mode: first calls, steady times, launches, over sizes."""

import functools
import timeit
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field

import torch

# Private, checked on torch 2.11 and 2.13: every mode's options, by its name.
from torch._inductor import list_mode_options

# Private, checked on torch 2.11 and 2.13: an empty cache folder for the time of a block.
from torch._inductor.utils import fresh_inductor_cache
from torch.nn.attention import SDPBackend, sdpa_kernel

from fuseshard.compiler.modes.cuda_graph import graph_by_hand
from fuseshard.compiler.modes.records import DeviceTrace, ModePoint, ModeSweep, Task
from fuseshard.compiler.modes.steps import (
    Head,
    Outputs,
    Step,
    exact_outputs,
    hidden_for,
    largest_error,
    step_for,
    tokens_for,
)
from fuseshard.compiler.modes.traces import device_trace
from fuseshard.measure.clock import compare
from fuseshard.measure.experiments import experiment
from fuseshard.measure.provenance import environment
from fuseshard.measure.records import Origin
from fuseshard.measure.stopwatch import threads
from fuseshard.models.minigpt import MiniGPT

EAGER, BY_HAND = "eager", "by hand"

MODES = ("default", "lite", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
"""in the order in which a size tries them: the last is the first to be left out"""

TRAINING_MODES = MODES[:-1]
"""a training step has three times as many matrix products to tune, so one tuning must do"""

GPU_BATCHES = (1, 16, 256, 4096)
HEAD_ROWS = (1, 256, 4096, 65536)
TRAINING_BATCHES = (1, 16, 256, 2048)

SMALL_BATCHES, SMALL_MODES = (1, 16), ("default", "reduce-overhead")
"""where the host is the limit, and the two ways that tell what its launches cost"""

TOKENS = 64

FIRST_CALLS = 3
"""with CUDA graphs the first call compiles and warms up, the second captures, the third replays"""

TIMING_S = 6.0
"""seconds for the rounds of one size"""

BUDGET_S = 300.0
"""seconds for everything; on an H200's machine all modes fit at all sizes of inference"""

ATTENTION = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
"""cuDNN's is left out: the code that torch 2.11 writes around it fails at one sequence (a
TypeError from assert_size_stride), and all ways are to run the same attention"""


@experiment("modes.inference-gpu", needs="cuda")
def gpu_inference() -> ModeSweep:
    """Time MiniGPT's forward pass in bfloat16 under every mode on a CUDA GPU."""
    return mode_sweep("inference", GPU_BATCHES, device="cuda", dtype=torch.bfloat16)


@experiment("modes.small-gpu", needs="cuda", processes=5)
def gpu_small() -> ModeSweep:
    """Time small batches of MiniGPT's forward pass in bfloat16 on a CUDA GPU, once a process."""
    return mode_sweep(
        "inference",
        SMALL_BATCHES,
        device="cuda",
        dtype=torch.bfloat16,
        modes=SMALL_MODES,
        is_fresh=False,
    )


@experiment("modes.training-gpu", needs="cuda")
def gpu_training() -> ModeSweep:
    """Time MiniGPT's training step in bfloat16 under four modes on a CUDA GPU."""
    return mode_sweep(
        "training", TRAINING_BATCHES, device="cuda", dtype=torch.bfloat16, modes=TRAINING_MODES
    )


@experiment("modes.head-gpu", needs="cuda")
def gpu_head() -> ModeSweep:
    """Time MiniGPT's head and a softmax in bfloat16 under every mode on a CUDA GPU."""
    return mode_sweep("head", HEAD_ROWS, device="cuda", dtype=torch.bfloat16)


def mode_sweep(
    task: Task,
    batches: Sequence[int],
    *,
    device: str,
    dtype: torch.dtype = torch.float32,
    modes: Sequence[str] = MODES,
    budget_s: float = BUDGET_S,
    is_fresh: bool = True,
) -> ModeSweep:
    """Time eager mode, a CUDA graph by hand and modes of torch.compile in the same rounds.

    The smallest batch is first, and compiles each mode in an empty cache, which gives honest
    first calls; then the largest, then those between, which may share what is tuned. When a way
    would no longer fit into the budget it is left out of that size.

    Args:
        task: "inference", "training" or "head"; by hand training isn't captured.
        batches: growing; rows for the head.
        device: "cpu" or "cuda"; a CPU has no CUDA graph by hand.
        dtype: of parameters and activations.
        modes: names for torch.compile, cheap ones first.
        budget_s: seconds for everything.
        is_fresh: whether the first batch empties the cache for each mode.

    Returns:
        One point a batch size, at least the first.
    """
    whole = Head() if task == "head" else MiniGPT()
    model = whole.to(device=device, dtype=dtype).requires_grad_(task == "training")
    known = tuple(mode for mode in modes if mode in list_mode_options())  # lite is a late one
    sweep = _Sweep(task, model, device, known, timeit.default_timer() + budget_s)
    order = [batches[0], *batches[:0:-1][:1], *batches[1:-1]]
    with threads(1), sdpa_kernel(ATTENTION):
        _warm_up(device)
        points = [sweep.point(size, is_fresh and size == batches[0]) for size in order]
        origin = Origin(is_live=True, environment=environment())
    timed = [point for point in points if point is not None]
    return ModeSweep(
        task=task,
        device=device,
        dtype=str(dtype).removeprefix("torch."),
        tokens=1 if task == "head" else TOKENS,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        points=tuple(sorted(timed, key=lambda point: point.size)),
        origin=origin,
    )


@dataclass
class _Sweep:
    """What the sizes share: the model, the modes, and what each of them cost so far."""

    task: Task
    model: MiniGPT | Head
    device: str
    modes: tuple[str, ...]
    deadline_s: float
    cost_s: dict[str, float] = field(default_factory=dict)

    def point(self, size: int, is_fresh: bool) -> ModePoint | None:
        """Run every way that fits into the time left; None when only eager mode would."""
        inputs = self._inputs(size)
        exact = exact_outputs(self.task, self.model, inputs)
        calls: dict[str, Callable[[], Outputs]] = {}
        first_calls_s: dict[str, tuple[float, ...]] = {}
        errors: dict[str, float] = {}
        for way, make in self._ways(inputs):
            if way in self.modes and not self._fits(way):
                continue
            begin_s = timeit.default_timer()
            with fresh_inductor_cache() if is_fresh and way in self.modes else nullcontext():
                call = functools.partial(make(), inputs)
                seconds = tuple(self._timed(call) for _ in range(FIRST_CALLS))
            self.cost_s[way] = timeit.default_timer() - begin_s
            calls[way], errors[way] = call, largest_error(call(), exact)
            if is_fresh and way in self.modes:
                first_calls_s[way] = seconds
        if not set(calls) & set(self.modes):
            return None
        comparison = compare(calls, device=self.device, budget_s=TIMING_S)
        return ModePoint(
            size=size,
            comparison=comparison,
            first_calls_s=first_calls_s,
            errors=errors,
            traces=self._traces(calls),
        )

    def _inputs(self, size: int) -> torch.Tensor:
        if self.task == "head":
            dtype = next(self.model.parameters()).dtype
            return hidden_for(size, device=self.device, dtype=dtype)
        return tokens_for(size, TOKENS, device=self.device)

    def _ways(self, inputs: torch.Tensor) -> Iterator[tuple[str, Callable[[], Step]]]:
        eager = step_for(self.task, self.model)
        yield EAGER, lambda: eager
        if self.device == "cuda" and self.task != "training":
            yield BY_HAND, lambda: graph_by_hand(eager, inputs)
        for mode in self.modes:
            compile_with = functools.partial(torch.compile, mode=mode, dynamic=False)
            yield mode, functools.partial(step_for, self.task, self.model, compile_with)

    def _fits(self, way: str) -> bool:
        """Tell whether a way can be expected to end in time, with the rounds still to come."""
        expected_s = self.cost_s.get(way, 0.0)
        return timeit.default_timer() + expected_s + TIMING_S < self.deadline_s

    def _traces(self, calls: dict[str, Callable[[], Outputs]]) -> dict[str, DeviceTrace]:
        if self.device == "cpu":
            return {}
        return {way: device_trace(call, self.device) for way, call in calls.items()}

    def _timed(self, call: Callable[[], Outputs]) -> float:
        begin_s = timeit.default_timer()
        call()
        if self.device == "cuda":
            torch.cuda.synchronize()
        return timeit.default_timer() - begin_s


def _warm_up(device: str) -> None:
    """Pay for what only the first compile of a process pays: imports, workers, a context."""
    torch.compile(lambda x: x + 1)(torch.ones(64, device=device))
