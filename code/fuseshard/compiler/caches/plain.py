"""What a process runs that starts without torch.compile: it imports torch, and no compiler."""

import json
import timeit
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import torch

from fuseshard.compiler.caches.records import Start
from fuseshard.measure.clock import compare
from fuseshard.models.stack import Stack, rows

NUM_ROWS, OTHER_ROWS = 10, 15
"""of the input, as in PyTorch's recipe, and of one that a package wasn't compiled for"""

STEADY_BUDGET_S = 0.3


def model_and_input(num_layers: int, device: str) -> tuple[Stack, torch.Tensor]:
    """Make the stack that all starts run, and its input.

    Args:
        num_layers: of the stack.
        device: where both lie.
    """
    return Stack(num_layers).to(device), rows(NUM_ROWS).to(device)


def steady_s(call: Callable[[], object], device: str) -> float:
    """Return the median seconds of a call that was made before.

    Args:
        call: on the CPU, or on a GPU's current stream.
        device: "cpu" or "cuda".
    """
    return compare({"call": call}, budget_s=STEADY_BUDGET_S, device=device).timings[0].median_s


def run_eager(begin_s: float, imported_s: float, num_layers: int, device: str) -> None:
    """Run the stack in eager mode, and print the start as JSON.

    Args:
        begin_s: seconds of the system's clock when the parent started this process.
        imported_s: the same when torch was imported.
        num_layers: of the stack.
        device: "cpu" or "cuda".
    """
    torch.set_num_threads(1)
    model, x = model_and_input(num_layers, device)
    start_s = timeit.default_timer()
    outputs = model(x).cpu()
    first_call_s = timeit.default_timer() - start_s
    start = Start(
        way="eager",
        import_s=imported_s - begin_s,
        prepare_s=0.0,
        load_s=0.0,
        first_call_s=first_call_s,
        call_s=steady_s(lambda: model(x), device),
    )
    report({"start": asdict(start), "outputs": {"eager": outputs.flatten().tolist()}})


def report(found: dict[str, Any]) -> None:
    """Print what a process has found out, for its parent."""
    print(json.dumps(found))  # noqa: T201 - this is how the parent learns of it
