"""What breaks cost: a chain of pointwise operations, cut into more and more graphs."""

import functools
from collections.abc import Callable, Mapping, Sequence

import torch

# Private: a call that does nothing in eager mode and breaks the graph under torch.compile.
# Checked on torch 2.11 and 2.13.
from torch._dynamo import graph_break

from fuseshard.compiler.breaks.records import BreakCost, Dissection
from fuseshard.compiler.inductor import buffer_bytes, kernels
from fuseshard.compiler.stages import capture
from fuseshard.measure.clock import sweep
from fuseshard.measure.experiments import experiment

OPERATIONS = 16
"""pointwise operations in the chain; a power of two, so that pieces are equally long"""

GRAPHS = (1, 2, 4, 8, 16)
"""into how many graphs the chain is cut"""

CPU_ELEMENTS = (2**8, 2**14, 2**17, 2**20)
GPU_ELEMENTS = (2**10, 2**18, 2**22, 2**26)

ROUNDS = 25
"""enough for an interval narrower than the range, at 99 % confidence"""

Chain = Callable[[torch.Tensor], torch.Tensor]


def chain(num_graphs: int) -> Chain:
    """Write a function of OPERATIONS pointwise operations with breaks between equal pieces.

    It is straight-line code: with the break in a loop, Dynamo would compile none of it.

    Args:
        num_graphs: pieces; divides OPERATIONS.

    Raises:
        ValueError: the pieces wouldn't be equally long.
    """
    if num_graphs < 1 or OPERATIONS % num_graphs:
        raise ValueError(
            f"chain: num_graphs is {num_graphs}, must divide {OPERATIONS} (pieces of equal length "
            "can be compared); use one of 1, 2, 4, 8, 16."
        )
    lines = ["def chain(x):"]
    for index in range(OPERATIONS):
        if index and index % (OPERATIONS // num_graphs) == 0:
            lines.append("    graph_break()")
        lines.append("    x = x + 1.0" if index % 2 else "    x = x * 0.5")
    names: dict[str, Chain] = {}
    exec("\n".join([*lines, "    return x"]), {"graph_break": graph_break}, names)
    return names["chain"]


def dissect(num_graphs: int, elements: int) -> Dissection:
    """Compile the chain with Inductor and count what became of it.

    Args:
        num_graphs: pieces; divides OPERATIONS.
        elements: float32 numbers in the tensor.
    """
    captured = capture(chain(num_graphs), torch.ones(elements))
    lines = [line for text in captured.guards for line in text.splitlines() if "+-" in line]
    return Dissection(
        graphs=captured.graph_count,
        kernels=sum(len(kernels(source)) for source in captured.source),
        written_bytes=sum(buffer_bytes(source) for source in captured.source),
        guards=sum("GuardManager" not in line for line in lines),
        bytecode=captured.bytecode[0],
    )


def break_cost(
    elements: Sequence[int],
    *,
    device: str = "cpu",
    graphs: Sequence[int] = GRAPHS,
    budget_s: float = 20.0,
) -> BreakCost:
    """Time the chain eager and compiled, for each size of tensor over the number of graphs.

    Each chain is compiled once, for all sizes (dynamic=True). Steady times only: caches on disk
    may serve the first calls.

    Args:
        elements: float32 numbers in the tensor, growing.
        device: "cpu" (one thread, the host's clock) or "cuda" (device events).
        graphs: into how many graphs the chain is cut, growing.
        budget_s: seconds of timing for all sizes together; compiling comes on top.
    """
    clock = {} if device == "cpu" else {"device": device}
    compiled = {count: torch.compile(chain(count), dynamic=True) for count in graphs}
    sweeps = []
    for size in elements:
        x = torch.randn(size, generator=torch.Generator().manual_seed(size)).to(device)
        measured = sweep(
            functools.partial(_variants, x, compiled),
            graphs,
            size_name="graphs",
            budget_s=budget_s / len(elements),
            rounds=ROUNDS,
            **clock,
        )
        sweeps.append(measured)
    return BreakCost(
        device=device,
        num_operations=OPERATIONS,
        elements=tuple(elements),
        sweeps=tuple(sweeps),
        # One origin for all: a recording replaces this one, and would miss those further in.
        origin=sweeps[-1].origin,
    )


@experiment("graph-breaks.cost-cpu", needs="cpu")
def cpu_break_cost() -> BreakCost:
    """Time the chain on this machine's CPU."""
    return break_cost(CPU_ELEMENTS)


@experiment("graph-breaks.cost-gpu", needs="cuda", processes=5)
def gpu_break_cost() -> BreakCost:
    """Time the chain on a CUDA GPU."""
    return break_cost(GPU_ELEMENTS, device="cuda", budget_s=10.0)


def _variants(
    x: torch.Tensor, compiled: Mapping[int, Chain], count: int
) -> dict[str, Callable[[], object]]:
    """Make the chain eager and compiled, on one tensor."""
    return {
        "eager": functools.partial(chain(count), x),
        "compiled": functools.partial(compiled[count], x),
    }
