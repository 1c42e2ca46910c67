"""How far eager and compiled results lie from the exact ones, in units of the last place."""

from collections.abc import Callable

import torch

from fuseshard.compiler.debugging.records import UlpCount
from fuseshard.compiler.isolate import isolated

SHOWN = 6
"""distances that are counted one by one: 0 to 5; what is further goes into one bin"""


def ulps(got: torch.Tensor, exact: torch.Tensor) -> torch.Tensor:
    """Count the representable numbers between results and the rounded exact values.

    Args:
        got: float32 or bfloat16.
        exact: float64, the same shape; rounded to the dtype of `got` first.

    Returns:
        int64, the same shape; 0 where `got` is the exact value correctly rounded.
    """
    return (_ordered(got) - _ordered(exact.to(got.dtype))).abs()


def _ordered(x: torch.Tensor) -> torch.Tensor:
    """Map floating-point numbers to integers so that neighbours differ by one."""
    wide = x.view({2: torch.int16, 4: torch.int32}[x.element_size()]).to(torch.int64)
    lowest = -(2 ** (8 * x.element_size() - 1))
    return torch.where(wide < 0, lowest - wide, wide)


def ulp_counts(
    name: str, fn: Callable[..., torch.Tensor], *args: torch.Tensor
) -> tuple[UlpCount, UlpCount]:
    """Count distances from the exact result, for eager mode and for Inductor's code.

    Args:
        name: what is computed.
        fn: function of `args`, without randomness.
        args: float32 or bfloat16; the exact result is computed from them in float64.

    Returns:
        eager's, then compiled's.
    """
    exact = fn(*(x.to(torch.float64) for x in args))
    compiled = torch.compile(isolated(fn), dynamic=False)
    return (
        _counted(name, "eager", ulps(fn(*args), exact)),
        _counted(name, "compiled", ulps(compiled(*args), exact)),
    )


def _counted(name: str, way: str, distance: torch.Tensor) -> UlpCount:
    bins = torch.bincount(distance.flatten().clamp(max=SHOWN), minlength=SHOWN + 1)
    return UlpCount(
        name=name, way=way, counts=tuple(bins.tolist()), largest=int(distance.max().item())
    )
