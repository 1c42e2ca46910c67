"""The joint graph and its halves. Oracle: eager autograd. A second a trace."""

import pytest
import torch

from fuseshard.compiler.joint import examples
from fuseshard.compiler.joint.budget import step
from fuseshard.compiler.joint.graphs import num_ops, readable, results_of
from fuseshard.compiler.joint.trace import (
    AS_EAGER,
    MIN_CUT,
    Traced,
    differences_from_eager,
    largest_difference,
    trace,
)
from fuseshard.models.minigpt import MiniGPT, MiniGPTConfig


def numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator).requires_grad_()


X, WEIGHT, TANGENT = numbers(7, 12), numbers(12, seed=1), numbers(7, 12, seed=2).detach()


@pytest.fixture(scope="module")
def traced() -> Traced:
    cuts = {"eager": AS_EAGER, "min-cut": MIN_CUT}
    return trace(examples.rms_norm, X, WEIGHT, partitioners=cuts)


def test_the_joint_graph_has_a_result_and_a_gradient_for_each_input(traced: Traced) -> None:
    shapes = [tuple(node.meta["val"].shape) for node in results_of(traced.joint)]
    assert shapes == [(7, 12), (7, 12), (12,)]


@pytest.mark.parametrize("name", ["eager", "min-cut"])
def test_both_halves_together_give_eager_modes_gradients(traced: Traced, name: str) -> None:
    got = step(traced, traced.halves[name], TANGENT)()
    expected = torch.autograd.grad(examples.rms_norm(X, WEIGHT), (X, WEIGHT), TANGENT)
    assert largest_difference(got, expected) < 1e-5


def test_the_graphs_are_printed_without_this_machines_paths(traced: Traced) -> None:
    text = readable(traced.halves["min-cut"].forward)
    assert "aten.rsqrt" in text and "examples.py" in text
    assert "/" not in text.replace("torch.ops", "")


def test_the_backward_pass_by_hand_is_right_and_its_twin_is_not() -> None:
    exact = [t.detach().double() for t in (X, WEIGHT)]
    found = differences_from_eager(
        examples.rms_norm,
        exact,
        TANGENT.double(),
        cuts={},
        by_hand={"right": examples.rms_norm_backward, "wrong": examples.forgetful_backward},
    )
    assert found["right"] < 1e-13  # float64 keeps 16 digits, and sums have at most 12 terms
    assert found["wrong"] > 0.1


def test_parameters_inputs_and_activations_are_told_apart() -> None:
    block = MiniGPT(MiniGPTConfig(num_layers=1, width=20)).blocks[0]
    half = trace(examples.library_half(block), numbers(7, 20))
    kinds = {tensor.name: tensor.kind for tensor in half.halves["min-cut"].saved}
    assert kinds["primals_3"] == "input"
    assert kinds["primals_4"] == "parameter"
    assert kinds["addmm"] == "activation"
    assert half.static_inputs == {f"primals_{n}" for n in (1, 2, 4, 5, 6, 7)}


def test_a_view_counts_as_the_memory_that_it_looks_at() -> None:
    saved = trace(examples.wave, numbers(7, 5), numbers(5, 3)).halves["min-cut"].saved
    assert [(t.name, t.kind) for t in saved if t.op == "aten.permute"] == [
        ("permute", "input"),
        ("permute_1", "input"),
    ]


def test_operators_are_counted_without_inputs() -> None:
    assert num_ops(trace(examples.ladder, numbers(7, 5)).halves["min-cut"].forward) == 3


def test_torch_logs_these_graphs_by_the_names_that_the_chapter_gives() -> None:
    names = torch._logging._internal.log_registry.artifact_names
    assert {"aot_joint_graph", "aot_graphs"} <= set(names)


def test_a_function_without_gradients_is_refused() -> None:
    with pytest.raises(ValueError, match="no backward pass, must give one graph"):
        trace(examples.ladder, torch.ones(3))


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
def test_a_graph_break_is_refused() -> None:
    def broken(x: torch.Tensor) -> torch.Tensor:
        x = x.sin()
        torch._dynamo.graph_break()
        return x.cos()

    with pytest.raises(ValueError, match="gave 2 graphs"):
        trace(broken, numbers(3))
