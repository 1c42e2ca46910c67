"""MiniGPT as functions of its tokens. Oracles: the module itself, and autograd."""

import pytest
import torch
from torch.nn import functional

from fuseshard.compiler.graphs import graphs_captured
from fuseshard.compiler.modes.steps import exact_outputs, largest_error, step_for, tokens_for
from fuseshard.models.minigpt import MiniGPT, MiniGPTConfig


def model() -> MiniGPT:
    return MiniGPT(MiniGPTConfig(num_layers=1))


def test_inference_is_the_forward_pass() -> None:
    tokens = tokens_for(3, 7, device="cpu")
    frozen = model().requires_grad_(False)
    (logits,) = step_for("inference", frozen)(tokens)
    assert torch.equal(logits, frozen(tokens))


def test_training_is_the_loss_on_next_tokens_and_every_gradient() -> None:
    tokens = tokens_for(3, 7, device="cpu")
    own = model()
    loss, *grads = step_for("training", own)(tokens)
    scores = own(tokens[:, :-1])
    expected = functional.cross_entropy(scores.flatten(0, 1), tokens[:, 1:].flatten())
    expected.backward()
    assert loss.item() == expected.item()
    assert len(grads) == len(list(own.parameters()))
    for grad, parameter in zip(grads, own.parameters(), strict=True):
        assert parameter.grad is not None
        assert torch.equal(grad, parameter.grad)


def test_what_is_compiled_is_captured_once_and_agrees() -> None:
    tokens = tokens_for(2, 5, device="cpu")
    frozen = model().requires_grad_(False)
    step = step_for("inference", frozen, lambda fn: torch.compile(fn, backend="eager"))
    assert graphs_captured(lambda: step(tokens)) == 1
    assert torch.equal(step(tokens)[0], frozen(tokens))


@pytest.mark.parametrize("task", ["inference", "training"])
def test_float32_is_near_float64_and_another_seed_is_not(task) -> None:
    tokens = tokens_for(2, 5, device="cpu")
    own = model().requires_grad_(task == "training")
    exact = exact_outputs(task, own, tokens)
    assert largest_error(step_for(task, own)(tokens), exact) < 1e-4
    other = MiniGPT(own.config, seed=1).requires_grad_(task == "training")
    assert largest_error(step_for(task, other)(tokens), exact) > 0.1


def test_errors_of_other_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"largest_error: shapes are \[\(2,\)\] and \[\(3,\)\]"):
        largest_error([torch.ones(2)], [torch.ones(3)])
