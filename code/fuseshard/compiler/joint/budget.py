"""One joint graph, cut at several memory budgets: what is saved, and what is repeated."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch.fx import GraphModule
from torch.utils.flop_counter import FlopCounterMode

from fuseshard.compiler.joint.examples import tower
from fuseshard.compiler.joint.records import BudgetPoint, BudgetSweep
from fuseshard.compiler.joint.trace import (
    MIN_CUT,
    Halves,
    Partitioner,
    Traced,
    memory_budget,
    op_name,
    trace,
)
from fuseshard.measure.clock import compare

BUDGETS = (1.0, 0.9, 0.7, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0)

ROWS, WIDTH, NUM_HALVES = 521, 128, 3
"""sizes of the tower on the page; a prime number of rows"""

ROUNDS = 9
"""enough for a verdict at 99 % confidence"""

_VIEWS = {"aten.view", "aten.permute", "aten.expand", "aten.alias"}
"""operators without work of their own; a repeated one costs nothing"""


def budget_sweep(
    budgets: Sequence[float] = BUDGETS,
    *,
    rows: int = ROWS,
    width: int = WIDTH,
    num_halves: int = NUM_HALVES,
    budget_s: float = 8.0,
) -> BudgetSweep:
    """Cut the joint graph of a tower of halves at several budgets, and time the pieces.

    The graph is traced once. The halves run operator by operator, so that nothing is fused: the
    times are an upper bound of what recomputing costs, and only comparable with each other.

    Args:
        budgets: from 1 down to 0.
        rows: rows of the input.
        width: features of a row, a multiple of 4.
        num_halves: halves of MiniGPT blocks, one after the other.
        budget_s: seconds of timing.

    Returns:
        One point a budget.
    """
    stacked, _ = tower(num_halves, width=width)
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(rows, width, generator=generator)
    tangent = torch.randn(rows, width, generator=generator)
    traced = trace(
        stacked,
        x.requires_grad_(),
        partitioners={str(budget): with_budget(budget) for budget in budgets},
    )
    steps = {name: step(traced, halves, tangent) for name, halves in traced.halves.items()}
    variants = _variants(traced.halves)
    distinct = dict.fromkeys(variants.values())
    comparison = compare({name: steps[name] for name in distinct}, rounds=ROUNDS, budget_s=budget_s)
    points = tuple(
        BudgetPoint(
            budget=float(name),
            saved=halves.saved,
            recomputed=repeated_ops(halves),
            flop=_flop(steps[name]),
        )
        for name, halves in traced.halves.items()
    )
    return BudgetSweep(
        points=points,
        comparison=replace(comparison, origin=None),
        variants=variants,
        origin=comparison.origin,
    )


def with_budget(budget: float) -> Partitioner:
    """Make torch's min-cut partitioner one with a memory budget of its own.

    Args:
        budget: 1 keeps what is fastest, 0 keeps the inputs alone.
    """

    def partition(joint: GraphModule, *args: Any, **kwargs: Any) -> tuple[GraphModule, GraphModule]:
        with memory_budget(budget):
            return MIN_CUT(joint, *args, **kwargs)

    return partition


def step(traced: Traced, halves: Halves, *tangents: torch.Tensor) -> Callable[[], list[Any]]:
    """Make a function that runs a forward and a backward graph, without autograd around them.

    Args:
        traced: has the inputs.
        halves: one of its halves.
        tangents: one for each result of the function.

    Returns:
        A function without arguments that returns the gradients, in the order of the inputs.
    """

    @torch.no_grad()
    def run() -> list[Any]:
        kept = halves.forward(*traced.inputs)[traced.num_outputs :]
        return list(halves.backward(*kept, *tangents))

    return run


def repeated_ops(halves: Halves) -> dict[str, int]:
    """Count the operators of the forward graph that the backward graph runs again.

    Args:
        halves: cut from one joint graph, so that the same value has the same name in both.

    Returns:
        Operator -> calls; views are left out.
    """
    forward = {node.name for node in halves.forward.graph.nodes if op_name(node)}
    names = [op_name(n) for n in halves.backward.graph.nodes if n.name in forward]
    return dict(Counter(name for name in names if name not in {"", "getitem", *_VIEWS}))


def _variants(halves: dict[str, Halves]) -> dict[str, str]:
    """Give budgets that saved the same tensors one name, that of the first of them."""
    first: dict[tuple[str, ...], str] = {}
    return {
        name: first.setdefault(tuple(tensor.name for tensor in made.saved), name)
        for name, made in halves.items()
    }


def _flop(run: Callable[[], object]) -> int:
    with FlopCounterMode(display=False) as counter:
        run()
    return int(counter.get_total_flops())
