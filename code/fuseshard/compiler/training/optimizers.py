"""What compiling an optimizer's step brings: as a loop, by foreach, fused, compiled, by hand."""

from collections.abc import Callable, Sequence

import torch

from fuseshard.compiler.graphs import graphs_captured
from fuseshard.compiler.inductor import kernels
from fuseshard.compiler.isolate import isolated
from fuseshard.compiler.records import Kernel
from fuseshard.compiler.stages import capture
from fuseshard.compiler.training.adamw import AdamW, compiled_step, corrections, example_params
from fuseshard.compiler.training.quiet import without_profiler_notes
from fuseshard.compiler.training.records import OptimizerTimes
from fuseshard.measure.clock import compare
from fuseshard.measure.experiments import experiment

LEARNING_RATE = 1e-3

CPU_SHAPES = ((512, 512),) * 2 + ((512,),)
"""few parameters, large enough that memory is what takes the time"""

GPU_SHAPES = ((512, 512),) * 24 + ((512,),) * 24
"""as in a small model: many parameters, half of them biases"""

KERNEL_SHAPE = (12, 72)
"""of the parameter whose kernel is shown; every vector length divides it, so there is one branch"""

ROUNDS = 15

Step = Callable[[], object]


def optimizer_steps(shapes: Sequence[tuple[int, ...]], *, device: str = "cpu") -> dict[str, Step]:
    """Make a step of AdamW in each of the ways, every way with parameters of its own.

    Args:
        shapes: of the parameters.
        device: where they lie.

    Returns:
        name -> function without arguments; the first is what the others are compared with.
    """

    def library(*, foreach: bool = False, fused: bool = False) -> torch.optim.AdamW:
        params = example_params(shapes, device=device)
        return torch.optim.AdamW(params, lr=LEARNING_RATE, foreach=foreach, fused=fused)

    def by_hand() -> AdamW:
        lr = torch.tensor(LEARNING_RATE, device=device)
        return AdamW(example_params(shapes, device=device), lr)

    return {
        "loop": library().step,
        "foreach": library(foreach=True).step,
        "fused": library(fused=True).step,
        "compiled": compiled_library_step(library(foreach=True)),
        "powers inside": compiled_step(by_hand(), corrections_inside=True),
        "powers outside": compiled_step(by_hand(), corrections_inside=False),
    }


def compiled_library_step(optimizer: torch.optim.Optimizer, *, backend: str = "inductor") -> Step:
    """Compile an optimizer of torch.optim, as PyTorch's tutorial does.

    Args:
        optimizer: its parameters have their gradients.
        backend: torch.compile's own.
    """

    def step() -> None:
        optimizer.step()

    return torch.compile(isolated(step), backend=backend)


def optimizer_times(
    shapes: Sequence[tuple[int, ...]], *, device: str = "cpu", budget_s: float = 5.0
) -> OptimizerTimes:
    """Time a step of AdamW in each of the ways.

    Args:
        shapes: of the parameters.
        device: "cpu" (one thread) or "cuda".
        budget_s: seconds of timing; compiling comes on top.
    """
    with without_profiler_notes():
        comparison = compare(
            optimizer_steps(shapes, device=device), rounds=ROUNDS, budget_s=budget_s, device=device
        )
    return OptimizerTimes(
        device=device,
        num_tensors=len(shapes),
        num_elements=sum(torch.Size(shape).numel() for shape in shapes),
        comparison=comparison,
        origin=comparison.origin,
    )


@experiment("training.optimizers-gpu", needs="cuda", processes=5)
def optimizers_on_gpu() -> OptimizerTimes:
    """Time AdamW's step in each of the ways on a CUDA GPU."""
    return optimizer_times(GPU_SHAPES, device="cuda")


def graphs_per_step(learning_rate: float | torch.Tensor, num_steps: int) -> tuple[int, ...]:
    """Train with a schedule that changes the learning rate each step, and count graphs.

    Args:
        learning_rate: of the first step; a tensor stays one, and the schedule fills it anew.
        num_steps: steps, each followed by one of the schedule.

    Returns:
        Graphs captured up to and including each step.
    """
    optimizer = torch.optim.AdamW(example_params([(3, 5)]), lr=learning_rate)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
    step = compiled_library_step(optimizer, backend="eager")
    counts = []
    with without_profiler_notes():
        for _ in range(num_steps):
            counts.append(graphs_captured(step))
            schedule.step()
    return tuple(sum(counts[: i + 1]) for i in range(num_steps))


def kernel_of_library() -> Kernel:
    """Compile torch.optim.AdamW for one parameter, and return the kernel that Inductor writes."""
    optimizer = torch.optim.AdamW(example_params([KERNEL_SHAPE]), lr=LEARNING_RATE)

    def step() -> None:
        optimizer.step()

    with without_profiler_notes():
        (kernel,) = kernels(capture(step).source[-1])
    return kernel


def kernel_by_hand() -> Kernel:
    """Compile the update by hand for one parameter, without the powers, and return its kernel."""
    params = example_params([KERNEL_SHAPE])
    optimizer = AdamW(params, torch.tensor(LEARNING_RATE))
    correction = corrections(torch.tensor(1.0), optimizer.lr)
    grads = [param.grad for param in params]
    (kernel,) = kernels(capture(optimizer.update, grads, *correction).source[-1])
    return kernel
