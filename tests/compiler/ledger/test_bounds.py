"""The bound on two results of an MLP. Oracles: float64, and sums in another order."""

import pytest
import torch

from fuseshard.compiler.ledger.bounds import mlp_bound, share_of_bound
from fuseshard.models.small import MLP_WIDTH, ResidualMLP


def model() -> ResidualMLP:
    return ResidualMLP(seed=1).eval().requires_grad_(False)


def rows(scale: float = 1.0) -> torch.Tensor:
    return scale * torch.randn(7, MLP_WIDTH, generator=torch.Generator().manual_seed(2))


@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
def test_float32_is_within_the_bound_of_float64(scale) -> None:
    exact = model().double()(rows(scale).double())
    share = share_of_bound(model()(rows(scale)), exact, mlp_bound(model(), rows(scale)))
    assert 0 < share <= 1


def test_another_order_of_summation_is_within_the_bound() -> None:
    """The inputs of both layers are turned round, which changes no exact result."""
    turned = model()
    order = torch.arange(turned.down.in_features - 1, -1, -1)
    turned.up.weight.data = turned.up.weight[order]
    turned.up.bias.data = turned.up.bias[order]
    turned.down.weight.data = turned.down.weight[:, order]
    share = share_of_bound(turned(rows()), model()(rows()), mlp_bound(model(), rows()))
    assert share <= 1


@pytest.mark.parametrize("name", ["up.bias", "down.bias", "down.weight"])
def test_a_parameter_that_is_slightly_off_exceeds_the_bound(name) -> None:
    """Must-fail twin: a hundredth is far above rounding."""
    off = model()
    off.get_parameter(name).data.mul_(1.01)
    assert share_of_bound(off(rows()), model()(rows()), mlp_bound(model(), rows())) > 1


def test_the_bound_is_small_against_the_result() -> None:
    assert (mlp_bound(model(), rows()) < 1e-3 * model()(rows()).abs().max()).all()
