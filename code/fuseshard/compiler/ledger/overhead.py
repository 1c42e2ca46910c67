"""What one call of a compiled function costs when there is hardly anything to compute."""

import functools
from collections.abc import Callable
from typing import Any

import torch

from fuseshard.compiler.inductor import load
from fuseshard.compiler.isolate import isolated
from fuseshard.compiler.stages import capture
from fuseshard.measure.clock import compare
from fuseshard.measure.records import Comparison


def add_one(x: torch.Tensor) -> torch.Tensor:
    """Add one: the least that there is to compile."""
    return x + 1


def call_paths(fn: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor) -> Comparison:
    """Time five ways into the same addition, from eager mode to the bare written module.

    Args:
        fn: function of one tensor.
        x: its argument, small.

    Returns:
        "eager", "compiled", "unguarded" (every guard dropped when it was compiled, which is
        unsafe: nothing notices another shape), "captured" (by Dynamo, which then runs its graph
        eagerly) and "written" (Inductor's module, called directly).
    """
    compiled = torch.compile(isolated(fn), dynamic=False)
    options: dict[str, str | int | bool | Callable[..., Any]] = {
        "guard_filter_fn": torch.compiler.skip_all_guards_unsafe
    }
    unguarded = torch.compile(isolated(fn), dynamic=False, options=options)
    captured = torch.compile(isolated(fn), dynamic=False, backend="eager")
    module = load(capture(fn, x).source[0])
    return compare(
        {
            "eager": functools.partial(fn, x),
            "compiled": functools.partial(compiled, x),
            "unguarded": functools.partial(unguarded, x),
            "captured": functools.partial(captured, x),
            "written": lambda: module([x]),
        },
        rounds=25,
        budget_s=4.0,
    )
