"""What eager autograd allows and compiled functions don't. Oracle: eager mode."""

import pytest
import torch

from fuseshard.compiler import dispatch
from fuseshard.compiler.joint import limits
from fuseshard.compiler.joint.examples import ladder
from fuseshard.compiler.joint.records import Trial


@pytest.fixture(scope="module")
def tried() -> dict[str, Trial]:
    return {trial.name: trial for trial in limits.trials()}


@pytest.mark.parametrize("name", ["twice", "strides", "hook"])
def test_what_works_gives_eager_modes_gradient(tried: dict[str, Trial], name: str) -> None:
    assert not tried[name].eager and not tried[name].compiled
    assert tried[name].difference < 1e-6


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("changed", "modified by an inplace operation"),
        ("second", "does not currently support double backward"),
    ],
)
def test_what_fails_fails_only_when_compiled(
    tried: dict[str, Trial], name: str, message: str
) -> None:
    assert tried[name].eager == ""
    assert message in tried[name].compiled
    assert tried[name].difference is None


def test_a_tangent_in_another_layout_costs_one_copy() -> None:
    x = torch.ones(7, 5, requires_grad=True)
    result = limits.compiled(ladder)(x)
    rows_first = torch.ones(7, 5)
    columns_first = torch.ones(5, 7).t()

    def allocated(tangent: torch.Tensor) -> int:
        trace = dispatch.trace(lambda: torch.autograd.grad(result, x, tangent, retain_graph=True))
        return trace.allocated_bytes

    assert allocated(columns_first) - allocated(rows_first) == 4 * x.numel()


def test_a_second_derivative_is_incomplete_without_an_error() -> None:
    x = limits.wave_inputs()[0].detach()
    assert torch.equal(limits.wave_bend(limits.compiled), 3 * x**2)
    eager = limits.wave_bend(lambda fn: fn)
    assert (eager - 3 * x**2).abs().max() > 1


def test_backward_meets_the_error_that_grad_misses() -> None:
    message = limits.error_of(lambda: limits.wave_bend_by_backward(limits.compiled))
    assert "does not currently support double backward" in message


def test_a_slope_taken_inside_is_complete() -> None:
    inside = limits.wave_bend_inside(limits.compiled)
    assert torch.allclose(inside, limits.wave_bend(lambda fn: fn), rtol=1e-4)
