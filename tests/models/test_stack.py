"""Stacks of layers against their own layers, called by hand; pure torch, no compiler."""

import torch
from torch import nn

from fuseshard.models.stack import WEIGHT_SCALE, HalfLayer, Layer, Stack, rows


def test_a_stack_is_its_layers_one_after_the_other() -> None:
    stack, x = Stack(3, 7), rows(5, 7)
    expected = x
    for layer in stack.layers:
        expected = torch.relu(layer.second(torch.sigmoid(torch.relu(layer.first(expected)))))
    assert torch.equal(stack(x), expected)
    # Must-fail twin: the order of the layers matters.
    turned = x
    for layer in reversed(stack.layers):
        turned = layer(turned)
    assert not torch.allclose(turned, expected, atol=0.1)


def test_half_a_layer_has_no_second_map() -> None:
    half, x = HalfLayer(7), rows(5, 7)
    assert torch.equal(half(x), torch.sigmoid(torch.relu(half.linear(x))))
    assert len(list(half.parameters())) == 2


def test_rows_stay_apart_which_torchs_own_weights_would_not_keep() -> None:
    stack, x = Stack(4), rows(10)
    assert stack(x).std(dim=0).max() > 0.1
    plain = Stack(4)
    for module in plain.modules():
        if isinstance(module, nn.Linear):
            module.weight.div_(WEIGHT_SCALE)
    assert plain(x).std(dim=0).max() < 0.001


def test_parameters_depend_on_the_seed_alone_and_need_no_gradient() -> None:
    before = torch.random.get_rng_state()
    first, again, other = Stack(2), Stack(2), Stack(2, seed=1)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.equal(first.layers[1].second.weight, again.layers[1].second.weight)
    assert not torch.equal(first.layers[1].second.weight, other.layers[1].second.weight)
    assert not any(param.requires_grad for param in first.parameters())
    assert isinstance(first.layers[0], Layer)


def test_an_input_depends_on_its_seed_alone() -> None:
    assert torch.equal(rows(3), rows(3))
    assert not torch.equal(rows(3), rows(3, seed=1))
