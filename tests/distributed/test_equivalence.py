"""Differences, and the rule "rounding or bug". Oracle: differences made on purpose. No ranks."""

import pytest
import torch
from torch import nn

from fuseshard.distributed.equivalence import gradients, largest_difference


def test_equal_tensors_have_no_difference():
    tensors = {"a": torch.randn(3), "b": torch.zeros(2), "empty": torch.empty(0)}
    difference = largest_difference(tensors, {name: t.clone() for name, t in tensors.items()})
    assert (difference.absolute, difference.in_epsilons) == (0.0, 0.0)
    assert difference.is_rounding(0)


def test_the_largest_is_relative_to_each_tensors_scale():
    left = {"large": torch.tensor([1e6]), "small": torch.tensor([1e-6])}
    right = {"large": torch.tensor([1e6 + 1]), "small": torch.tensor([2e-6])}
    difference = largest_difference(left, right)
    assert difference.name == "small"
    assert difference.absolute == pytest.approx(1e-6)


def test_another_order_of_sums_is_rounding_and_a_lost_term_is_not():
    terms = torch.rand(100, generator=torch.Generator().manual_seed(0))
    forward = sum(terms.tolist()[1:], terms[0])
    backward = sum(terms.tolist()[-2::-1], terms[-1])
    assert largest_difference({"sum": forward}, {"sum": backward}).is_rounding(100)
    lost = {"sum": forward - terms[50]}
    assert not largest_difference({"sum": forward}, lost).is_rounding(100)


@pytest.mark.parametrize("odd", [float("nan"), float("inf")])
def test_what_is_no_number_is_never_rounding(odd):
    tensors = {"a": torch.tensor([1.0, odd])}
    assert not largest_difference(tensors, {"a": torch.tensor([1.0, 1.0])}).is_rounding(10**9)
    assert not largest_difference(tensors, tensors).is_rounding(10**9)


def test_integers_differ_by_whole_numbers():
    left, right = {"a": torch.tensor([3])}, {"a": torch.tensor([5])}
    assert largest_difference(left, right).absolute == 2.0


def test_small_integers_and_truth_values_dont_wrap_round():
    left, right = torch.tensor([3], dtype=torch.uint8), torch.tensor([5], dtype=torch.uint8)
    assert largest_difference({"a": left}, {"a": right}).absolute == 2.0
    assert largest_difference({"a": left == 3}, {"a": right == 3}).absolute == 1.0


def test_complex_numbers_are_rounded_as_their_parts_are():
    left = {"a": torch.tensor([1 + 1j])}
    almost = {"a": left["a"] * (1 + 2e-7)}
    assert largest_difference(left, almost).is_rounding(4)
    assert not largest_difference(left, {"a": left["a"] * 1.01}).is_rounding(4)


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        ({}, {}, "only one side has nothing"),
        ({"a": torch.ones(1)}, {"b": torch.ones(1)}, r"only one side has \['a', 'b'\]"),
        ({"a": torch.ones(2)}, {"a": torch.ones(1)}, r"a is \(2,\) .* required are equal shapes"),
        ({"a": torch.ones(1)}, {"a": torch.ones(1).double()}, r"float32 and .*float64"),
    ],
)
def test_sets_that_cannot_be_compared_are_refused(left, right, message):
    with pytest.raises(ValueError, match=message):
        largest_difference(left, right)


def test_gradients_are_copies_under_the_bare_names_with_zeros_where_there_is_none():
    class Wrapped(nn.Module):
        def __init__(self):
            super().__init__()
            self.module = nn.Linear(2, 1)

    wrapped = Wrapped()
    wrapped.module.weight.grad = torch.ones(1, 2)
    found = gradients(wrapped)
    wrapped.module.weight.grad.zero_()
    assert found["weight"].tolist() == [[1.0, 1.0]]
    assert found["bias"].tolist() == [0.0]
