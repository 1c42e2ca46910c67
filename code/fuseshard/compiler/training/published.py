"""A published benchmark of a training step, timed as published and then repaired step by step.

The step: Linear(1024, 4096), ReLU, Linear(4096, 1024), mean squared error, SGD at 0.01, batch 64.
"""

import timeit
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import torch
from torch import nn
from torch.nn import functional

from fuseshard.compiler.isolate import isolated
from fuseshard.compiler.training.records import Loop, LoopPair, Repair, Repairs
from fuseshard.measure.clock import compare, fresh_compile
from fuseshard.measure.experiments import experiment
from fuseshard.measure.records import Comparison

FEATURES, HIDDEN, BATCH = 1024, 4096, 64
LEARNING_RATE = 0.01
CALLS = 100
"""calls in the published loop"""

GPU_BATCHES = (BATCH, 1024, 8192)
"""the published batch, and two at which the GPU has more to do than the host"""

Step = Callable[[], torch.Tensor]


def published_step(
    *,
    compiled: bool,
    batch: int = BATCH,
    hidden: int = HIDDEN,
    device: str = "cpu",
    autocast: bool = False,
) -> Step:
    """Make the benchmark's training step: the model is compiled, the rest stays eager.

    Args:
        compiled: whether torch.compile gets the model.
        batch: rows of the input.
        hidden: width of the layer in the middle.
        device: where everything lies.
        autocast: whether model and loss run under autocast to bfloat16.

    Returns:
        A function without arguments that trains for one step and returns the loss.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        layers = (nn.Linear(FEATURES, hidden), nn.ReLU(), nn.Linear(hidden, FEATURES))
        model = nn.Sequential(*layers).to(device)
        x, target = (torch.randn(batch, FEATURES).to(device) for _ in range(2))
    forward = torch.compile(isolated(model), dynamic=False) if compiled else model
    optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE)

    def step() -> torch.Tensor:
        optimizer.zero_grad()
        with torch.autocast(device, dtype=torch.bfloat16, enabled=autocast):
            loss = functional.mse_loss(forward(x), target)
        loss.backward()
        optimizer.step()
        return loss

    return step


def plain_loop(step: Step, num_calls: int = CALLS, *, device: str = "cpu") -> Loop:
    """Time a loop of calls with the host's clock, as the published script does.

    Args:
        step: what to call.
        num_calls: how often.
        device: what to wait for once the loop has ended.

    Returns:
        Every call's time, and the time that the device still took afterwards.
    """
    readings_s = [timeit.default_timer()]
    for _ in range(num_calls):
        step()
        readings_s.append(timeit.default_timer())
    wait_for(device)
    end_s = timeit.default_timer()
    calls_s = tuple(b - a for a, b in pairwise(readings_s))
    return Loop(calls_s=calls_s, wait_s=end_s - readings_s[-1])


def wait_for(device: str) -> None:
    """Return once the device has done all that was handed over to it.

    Args:
        device: "cpu", which is done when a call returns, or "cuda".
    """
    if device != "cpu":
        torch.cuda.synchronize(device)


def loop_pair(steps: Sequence[Step], num_calls: int = CALLS, *, device: str = "cpu") -> LoopPair:
    """Time the loop eager, then compiled; nothing of the one is left when the other starts.

    Args:
        steps: eager and compiled.
        num_calls: calls in each loop.
        device: where they run.
    """
    loops = []
    for step in steps:
        wait_for(device)
        loops.append(plain_loop(step, num_calls, device=device))
    eager, compiled = loops
    return LoopPair(eager=eager, compiled=compiled)


def interleaved_steps(
    steps: Mapping[str, Step], *, device: str = "cpu", budget_s: float = 8.0
) -> Comparison:
    """Time steps in rounds, by `clock.compare`.

    Args:
        steps: name -> step; the first is what the others are compared with.
        device: where they run.
        budget_s: seconds for all rounds.
    """
    return compare(steps, budget_s=budget_s, device=device)


def repair(
    batch: int = BATCH,
    *,
    device: str = "cpu",
    hidden: int = HIDDEN,
    num_calls: int = CALLS,
    repeats: int = 5,
    budget_s: float = 8.0,
) -> Repair:
    """Time the benchmark as published, warmed up, with waiting, and in rounds.

    Args:
        batch: rows of the input.
        device: "cpu" or "cuda".
        hidden: width of the layer in the middle.
        num_calls: calls in each loop.
        repeats: how often the loops are timed again, after the first call; 0 reads the published
            ones without it.
        budget_s: seconds for the rounds.

    Returns:
        All four ways to time it, of the same two steps.
    """
    steps = [
        published_step(compiled=compiled, batch=batch, hidden=hidden, device=device)
        for compiled in (False, True)
    ]
    with fresh_compile():
        published = loop_pair(steps, num_calls, device=device)
    warmed = tuple(loop_pair(steps, num_calls, device=device) for _ in range(repeats))
    named = dict(zip(("eager", "compiled"), steps, strict=True))
    rounds = interleaved_steps(named, device=device, budget_s=budget_s)
    return Repair(batch=batch, published=published, warmed=warmed, interleaved=rounds)


@experiment("training.published-benchmark-gpu", needs="cuda", processes=5)
def published_on_gpu() -> Repairs:
    """Time the published benchmark on a CUDA GPU, at its own batch size and at larger ones."""
    return repairs(GPU_BATCHES, device="cuda", budget_s=3.0)


def repairs(
    batches: Sequence[int],
    *,
    device: str,
    hidden: int = HIDDEN,
    num_calls: int = CALLS,
    budget_s: float = 6.0,
) -> Repairs:
    """Repair the benchmark at several batch sizes.

    Args:
        batches: rows of the input, growing.
        device: "cpu" or "cuda".
        hidden: width of the layer in the middle.
        num_calls: calls in each loop.
        budget_s: seconds for the rounds at each batch size.
    """
    # What only the very first compile and the very first call of a process pay is no part of it.
    for compiled in (False, True):
        published_step(compiled=compiled, batch=2, hidden=2, device=device)()
    points = tuple(
        repair(batch, device=device, hidden=hidden, num_calls=num_calls, budget_s=budget_s)
        for batch in batches
    )
    return Repairs(device=device, points=points)
