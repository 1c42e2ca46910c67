"""Memory budgets. Oracles: eager gradients, formulas, and torch's own limits."""

import pytest
import torch

from fuseshard.compiler.joint.budget import (
    budget_sweep,
    repeated_ops,
    step,
    training_sweep,
    with_budget,
)
from fuseshard.compiler.joint.examples import tower
from fuseshard.compiler.joint.records import BudgetSweep
from fuseshard.compiler.joint.trace import largest_difference, trace
from fuseshard.models.minigpt import MiniGPTConfig

ROWS, WIDTH, HALVES = 7, 20, 2


@pytest.fixture(scope="module")
def swept() -> BudgetSweep:
    return budget_sweep(
        (1.0, 0.9, 0.6, 0.2, 0.0), rows=ROWS, width=WIDTH, num_halves=HALVES, budget_s=0.3
    )


def test_a_smaller_budget_never_keeps_more(swept: BudgetSweep) -> None:
    kept = [point.activation_bytes for point in swept.points]
    assert kept == sorted(kept, reverse=True)
    assert kept[-1] == 4 * ROWS * WIDTH


def test_budgets_that_keep_the_same_are_timed_once(swept: BudgetSweep) -> None:
    assert swept.variants["0.9"] == swept.variants["0.6"] == "0.9"
    names = [timing.name for timing in swept.comparison.timings]
    assert names == list(dict.fromkeys(swept.variants.values()))


def test_matrix_products_are_repeated_only_at_small_budgets(swept: BudgetSweep) -> None:
    products = {point.budget: point.recomputed.get("aten.addmm", 0) for point in swept.points}
    assert products[1.0] == products[0.9] == 0
    # The last of the two products of each half has a result that only the next half needs.
    assert products[0.0] == 2 * HALVES - 1
    first, last = swept.points[0], swept.points[-1]
    one_product = 2 * ROWS * WIDTH * 4 * WIDTH
    assert last.flop - first.flop == products[0.0] * one_product


def test_the_gradients_dont_depend_on_the_budget() -> None:
    stacked, parameters = tower(HALVES, width=WIDTH)
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(ROWS, WIDTH, generator=generator).requires_grad_()
    tangent = torch.randn(ROWS, WIDTH, generator=generator)
    budgets = {str(budget): with_budget(budget) for budget in (1.0, 0.5, 0.0)}
    traced = trace(stacked, x, partitioners=budgets)
    order = [x, *parameters]
    expected = torch.autograd.grad(stacked(x), order, tangent)
    by_memory = {p.data_ptr(): grad for p, grad in zip(order, expected, strict=True)}
    wanted = [by_memory[given.data_ptr()] for given in traced.inputs]
    for halves in traced.halves.values():
        assert largest_difference(step(traced, halves, tangent)(), wanted) < 1e-5


def test_torch_can_set_a_budget_for_a_region() -> None:
    """Or the chapter would name a function that is gone."""
    assert "[0, 1]" in (torch.autograd.graph.region_activation_memory_budget.__doc__ or "")


def test_what_is_repeated_is_counted_without_views() -> None:
    stacked, _ = tower(1, width=WIDTH)
    x = torch.ones(ROWS, WIDTH, requires_grad=True)
    traced = trace(stacked, x, partitioners={"cut": with_budget(0.0)})
    repeated = repeated_ops(traced.halves["cut"])
    assert repeated["aten.addmm"] == 1
    assert "aten.permute" not in repeated


def test_a_training_step_is_measured_in_every_way() -> None:
    config = MiniGPTConfig(vocabulary=37, width=16, num_layers=1, num_heads=2, context=9)
    swept = training_sweep(
        (0.0,),
        config=config,
        batch=2,
        device="cpu",
        backend="aot_eager_decomp_partition",
        budget_s=0.3,
    )
    kept = {point.name: point.saved_bytes for point in swept.points}
    assert list(kept) == ["eager", "checkpoint", "0.0"]
    assert kept["0.0"] < kept["checkpoint"] < kept["eager"]
    assert [timing.name for timing in swept.comparison.timings] == list(kept)
    assert {point.peak_bytes for point in swept.points} == {None}
