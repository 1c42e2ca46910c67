"""Layer 1. Oracle: autograd's own backward pass, whose gradients both halves together must give."""

import pytest
import torch
from torch import nn

from fuseshard.distributed.equivalence import gradients, largest_difference
from fuseshard.distributed.pipelines.split_backward import weights_owed


def model() -> nn.Sequential:
    torch.manual_seed(0)
    layers = nn.Linear(5, 7), nn.LayerNorm(7), nn.Tanh(), nn.Linear(7, 3, bias=False)
    return nn.Sequential(*layers).double()


def batches() -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(2, 11, 5, generator=generator).double() for _ in range(3)]


def reference() -> dict[str, torch.Tensor]:
    whole = model()
    for x in batches():
        whole(x).square().sum().backward()
    return gradients(whole)


def test_both_halves_give_the_gradients_of_one_backward_pass():
    cut = model()
    with weights_owed(cut) as owed:
        for x in batches():
            cut(x).square().sum().backward()
        assert len(owed) == 2 * len(batches())
        for pay in owed:
            pay()
    # Sums of 66 rows in another order.
    assert largest_difference(gradients(cut), reference()).is_rounding(num_terms=66)


def test_gradients_that_stay_owed_are_missing():
    cut = model()
    with weights_owed(cut):
        cut(batches()[0]).square().sum().backward()
    assert cut[0].weight.grad is cut[0].bias.grad is cut[3].weight.grad is None
    assert cut[1].weight.grad is not None  # a norm's gradient isn't put off


def test_the_first_half_gives_the_inputs_gradient():
    ours, theirs = batches()[0].requires_grad_(), batches()[0].requires_grad_()
    cut = model()
    with weights_owed(cut):
        cut(ours).square().sum().backward()
    model()(theirs).square().sum().backward()
    torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-14, atol=0)


@pytest.mark.parametrize("error", [None, KeyError("inside")])
def test_layers_are_as_before_when_the_context_closes(error):
    layer = nn.Linear(2, 2)
    try:
        with weights_owed(layer):
            assert "forward" in vars(layer)
            if error:
                raise error
    except KeyError as caught:
        assert caught is error
    assert "forward" not in vars(layer)
    layer(torch.ones(1, 2)).sum().backward()
    assert layer.weight.grad is not None


def test_gradients_paid_later_keep_nothing_alive():
    cut = model()
    with weights_owed(cut) as owed:
        cut(batches()[0].requires_grad_()).square().sum().backward()
    for pay in owed:
        pay()
    assert all(param.grad.grad_fn is None for param in cut.parameters())


@pytest.mark.parametrize("frozen", ["weight", "bias"])
def test_a_frozen_parameter_gets_no_gradient(frozen):
    layer = nn.Linear(3, 2)
    getattr(layer, frozen).requires_grad_(False)
    with weights_owed(layer) as owed:
        layer(torch.ones(4, 3)).sum().backward()  # as on the first layer, x needs no gradient
    for pay in owed:
        pay()
    trained = "bias" if frozen == "weight" else "weight"
    assert getattr(layer, frozen).grad is None
    assert getattr(layer, trained).grad.unique().tolist() == [4.0]


def test_a_context_within_another_leaves_that_one_open():
    layer, x = nn.Linear(3, 2), torch.ones(4, 3)
    with weights_owed(layer) as outer:
        with weights_owed(layer) as inner:
            layer(x).sum().backward()
        layer(x).sum().backward()
    assert (len(inner), len(outer)) == (1, 1)
    assert "forward" not in vars(layer)


def test_a_layer_with_a_forward_of_its_own_keeps_it():
    class Doubled(nn.Linear):
        def forward(self, x):
            return 2 * super().forward(x)

    layer, x = Doubled(3, 2), torch.ones(4, 3)
    with weights_owed(layer) as owed:
        assert torch.equal(layer(x), layer.forward(x))
        layer(x).sum().backward()
    assert not owed
    assert layer.weight.grad.unique().tolist() == [8.0]
