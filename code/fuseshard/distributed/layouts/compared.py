"""One step under many layouts, in one launch, against one process."""

from collections.abc import Sequence

import torch

from fuseshard.distributed.equivalence import Difference, largest_difference
from fuseshard.distributed.launcher import run
from fuseshard.distributed.layouts.counted import count_axes, formula_bytes
from fuseshard.distributed.layouts.records import Layout, Outcome
from fuseshard.distributed.layouts.step import SPOILERS, RankStep, train_once
from fuseshard.distributed.layouts.workload import Tensors, Workload

NUM_TERMS = 256
"""so many epsilons are rounding: no sum of this step has more terms"""
DTYPES = (torch.float32, torch.float64)

Case = tuple[Layout, str]
"""how to split the step; one of `SPOILERS`"""


def compare_layouts(
    layouts: Sequence[Layout | Case], workload: Workload | None = None, *, timeout: float = 120.0
) -> list[Outcome]:
    """Run one step under each layout, all in the same processes, and compare with one process.

    Args:
        layouts: all with the same number of ranks; with a spoiler, what to do wrong.
        workload: the step; None means `Workload()`.
        timeout: seconds for all of them.

    Returns:
        one a layout, in their order.

    Raises:
        ValueError: no layouts, or one that can't split the step; nothing was started.
    """
    cases = [case if isinstance(case, tuple) else (case, "") for case in layouts]
    workload = workload or Workload()
    check_cases(cases, workload)
    world_size = cases[0][0].world_size
    ranks = run(_all_steps, world_size, args=(workload, cases), timeout=timeout)
    references = {dtype: workload.reference(dtype) for dtype in DTYPES}
    return [
        _outcome(case, [rank[index] for rank in ranks], references, workload)
        for index, case in enumerate(cases)
    ]


def check_cases(cases: Sequence[Case], workload: Workload) -> None:
    """Refuse what can't run together, before any process starts.

    Args:
        cases: layouts with their spoilers.
        workload: the step.

    Raises:
        ValueError: there is none, one doesn't fit, or a spoiler is unknown.
    """
    if not cases:
        raise ValueError(
            "compare_layouts: got no layouts, required is at least one (there is nothing to "
            "compare); pass [Layout(dp=2)]"
        )
    for layout, spoiled in cases:
        workload.check(layout, cases[0][0].world_size)
        if spoiled not in SPOILERS:
            raise ValueError(
                f"compare_layouts: spoiled is {spoiled!r}, required is one of {SPOILERS} (others "
                'aren\'t built in); pass "" to do nothing wrong'
            )


def _all_steps(
    rank: int, world_size: int, workload: Workload, cases: Sequence[Case]
) -> list[dict[torch.dtype, RankStep]]:
    """On one rank: each case in each dtype."""
    return [
        {dtype: train_once(workload, layout, dtype, spoiled) for dtype in DTYPES}
        for layout, spoiled in cases
    ]


def _outcome(
    case: Case,
    ranks: Sequence[dict[torch.dtype, RankStep]],
    references: dict[torch.dtype, Tensors],
    workload: Workload,
) -> Outcome:
    """Put the ranks' results together and judge them."""
    layout, spoiled = case
    wholes = {dtype: put_together([rank[dtype][0] for rank in ranks]) for dtype in DTYPES}
    loss, gradient, epsilons, verdicts = {}, {}, {}, []
    for dtype, whole in wholes.items():
        expected, key = references[dtype], str(dtype).removeprefix("torch.")
        found = largest_difference(whole, expected)
        verdicts.append(found.is_rounding(NUM_TERMS))
        epsilons[key] = found.in_epsilons
        loss[key] = float((whole["loss"] - expected["loss"]).abs())
        gradient[key] = max(_gradient_differences(whole, expected))
    formulas = formula_bytes(workload, layout)
    return Outcome(
        layout=layout,
        spoiled=spoiled,
        loss=float(wholes[torch.float32]["loss"]),
        loss_apart=loss,
        gradient_apart=gradient,
        in_epsilons=epsilons,
        is_rounding=all(verdicts),
        axes=count_axes(layout, [rank[torch.float32][1] for rank in ranks], formulas),
    )


def put_together(ranks: Sequence[Tensors]) -> Tensors:
    """Collect all stages' gradients, and the mean of the losses.

    Args:
        ranks: what each rank found: a loss, or none; gradients of its stage.

    Returns:
        the loss under "loss", and all gradients. Where ranks that should agree don't, the one
        furthest from the others' mean is taken, so that no replica's error is lost.
    """
    losses = [rank["loss"] for rank in ranks if "loss" in rank]
    names = {name: None for rank in ranks for name in rank if name != "loss"}
    found = {}
    for name in names:
        copies = torch.stack([rank[name] for rank in ranks if name in rank])
        apart = (copies - copies.mean(0)).abs().flatten(1).amax(1)
        found[name] = copies[int(apart.argmax())]
    return {"loss": torch.stack(losses).mean()} | found


def _gradient_differences(left: Tensors, right: Tensors) -> list[float]:
    def apart(name: str) -> Difference:
        return largest_difference({name: left[name]}, {name: right[name]})

    return [apart(name).absolute for name in left if name != "loss"]
