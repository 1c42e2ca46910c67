"""What fusion is worth: one chain fused, with a loop nest an operation, and eager; and a loss."""

from collections.abc import Callable, Mapping
from typing import Any

import torch

from fuseshard.compiler.isolate import isolated
from fuseshard.compiler.scheduling.decisions import decisions
from fuseshard.compiler.scheduling.records import Schedule
from fuseshard.measure import clock
from fuseshard.measure.records import Comparison, Sweep

KEEP: Mapping[str, Any] = {"realize_opcount_threshold": 0}
"""write an intermediate to memory where Inductor would compute it inside of its readers"""
APART: Mapping[str, Any] = {**KEEP, "max_fusion_size": 1}
"""a loop nest for each operation"""
SIZES = (1 << 10, 1 << 13, 1 << 16, 1 << 18, 1 << 20)


def twelve_operations(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Multiply, add and take the maximum, four times."""
    for _ in range(4):
        x = torch.maximum(x * y + y, y)
    return x


def twice_lgamma(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Reduce one costly table over its rows and over its columns."""
    y = torch.lgamma(x)
    return y.sum(dim=0), y.sum(dim=1)


def settings_tried(elements: int = 1 << 20) -> dict[str, Schedule]:
    """Schedule the chain under Inductor's defaults, with each of two settings, and with both.

    Args:
        elements: of each of the two inputs.
    """
    x, y = torch.ones(elements), torch.ones(elements)
    tried: dict[str, Mapping[str, Any]] = {
        "default": {},
        "max_fusion_size": {"max_fusion_size": 1},
        "realize_opcount_threshold": KEEP,
        "both": APART,
    }
    return {
        name: decisions(twelve_operations, x, y, options=options) for name, options in tried.items()
    }


def chain_sweep(*, budget_s: float = 4.0) -> Sweep:
    """Time the chain eager, compiled with a nest an operation, and fused, at growing sizes.

    Args:
        budget_s: seconds for all sizes together; compiling comes on top.
    """
    # Dynamic shapes: two compiles serve all sizes.
    apart = torch.compile(isolated(twelve_operations), dynamic=True, options=dict(APART))
    fused = torch.compile(isolated(twelve_operations), dynamic=True)

    def variants(elements: int) -> dict[str, Callable[[], Any]]:
        x, y = torch.randn(elements), torch.rand(elements)
        return {
            "apart": lambda: apart(x, y),
            "eager": lambda: twelve_operations(x, y),
            "fused": lambda: fused(x, y),
        }

    return clock.sweep(variants, SIZES, size_name="elements", budget_s=budget_s, compiled=True)


def lgamma_comparison(elements: int = 512, *, budget_s: float = 2.0) -> Comparison:
    """Time the two reductions of a costly table eager, fused, and with the table kept.

    Args:
        elements: rows, and columns.
        budget_s: seconds for the rounds; compiling comes on top.
    """
    x = torch.rand(elements, elements) + 1
    fused = torch.compile(isolated(twice_lgamma), dynamic=False)
    kept = torch.compile(isolated(twice_lgamma), dynamic=False, options=dict(KEEP))
    return clock.compare(
        {
            "eager": lambda: twice_lgamma(x),
            "fused": lambda: fused(x),
            "kept": lambda: kept(x),
        },
        budget_s=budget_s,
        compiled=True,
    )
