"""How often, and with what, Dynamo goes over a line: noted by code that runs while it traces."""

from collections.abc import Callable
from typing import Any

import torch

# Private path, public interface, checked on torch 2.11 and 2.13: runs a function during tracing.
from torch._dynamo.comptime import ComptimeContext, comptime

from fuseshard.compiler.dynamo.fresh import fresh
from fuseshard.compiler.dynamo.records import Passes

_seen: list[Any] = []


def _note(context: ComptimeContext) -> None:
    """Keep what Dynamo has in the place of the variable `z`."""
    _seen.append(context.get_local("z").as_fake())


def whole(x: torch.Tensor) -> torch.Tensor:
    """Compute in one graph, with a line that notes each time it is traced."""
    z = x * 2
    comptime(_note)
    return z.relu()


def broken(x: torch.Tensor) -> torch.Tensor:
    """Compute in two graphs: Dynamo can't trace the call in the middle."""
    z = x * 2
    comptime(_note)
    torch._dynamo.graph_break()  # what a call that can't be traced does; checked on torch 2.13
    return z.relu()


def count_passes(fn: Callable[[torch.Tensor], torch.Tensor]) -> Passes:
    """Call a compiled `whole` or `broken` three times and count the passes over the noting line.

    Args:
        fn: one of the functions above.

    Returns:
        Counts for a first call, a second one like it, and one with another number of rows.
    """
    compiled = torch.compile(fresh(fn), backend="eager")
    counts, kept = [], []
    for rows in (3, 3, 5):
        _seen.clear()
        compiled(torch.ones(rows, 4))
        counts.append(len(_seen))
        kept += _seen
    return Passes(
        name=fn.__name__,
        first=counts[0],
        again=counts[1],
        reshaped=counts[2],
        kinds=tuple(dict.fromkeys(type(tensor).__name__ for tensor in kept)),
        shapes=tuple(dict.fromkeys("×".join(map(str, tensor.shape)) for tensor in kept)),
    )
