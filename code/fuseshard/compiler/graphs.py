"""How many graphs a call made Dynamo capture: the question to ask before any timing."""

from collections.abc import Callable

# Private, checked on torch 2.11 and 2.13: Dynamo's own statistics.
from torch._dynamo.utils import counters


def graphs_captured(call: Callable[[], object]) -> int:
    """Run something and count the graphs that torch.compile captured meanwhile.

    Args:
        call: what to run, e.g. the first call of a compiled model.

    Returns:
        Number of graphs; 0 when nothing was compiled anew.
    """
    before = counters["stats"]["unique_graphs"]
    call()
    return int(counters["stats"]["unique_graphs"] - before)
