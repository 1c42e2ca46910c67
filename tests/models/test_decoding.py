"""Cached decoding. Oracle: MiniGPT's own forward pass over the whole sequence."""

import functools

import pytest
import torch

from fuseshard.models import decoding
from fuseshard.models.minigpt import MiniGPT, MiniGPTConfig

SMALL = MiniGPTConfig(vocabulary=11, width=12, num_layers=2, num_heads=3, context=9)
PROMPT = torch.tensor([[3, 1, 4, 1], [5, 9, 2, 6]])
# Two orders of the same sums in float32, of logits near 1.
CLOSE = {"rtol": 0, "atol": 1e-5}


@pytest.fixture
def model() -> MiniGPT:
    return MiniGPT(SMALL, seed=2).requires_grad_(False)


def next_position() -> torch.Tensor:
    return torch.tensor([PROMPT.shape[1]])


def expected_logits(model: MiniGPT, token: torch.Tensor) -> torch.Tensor:
    return model(torch.cat([PROMPT, token], dim=1))[:, -1]


def test_the_first_token_is_that_of_the_forward_pass(model) -> None:
    token, _ = decoding.prefill(model, PROMPT)
    assert torch.equal(token, model(PROMPT)[:, -1].argmax(-1, keepdim=True))


def test_a_growing_step_gives_the_logits_of_the_forward_pass(model) -> None:
    token, cache = decoding.prefill(model, PROMPT)
    logits, grown = decoding.growing_step(model, token, next_position(), cache)
    torch.testing.assert_close(logits, expected_logits(model, token), **CLOSE)
    assert {k.shape[2] for k, _ in cache} == {4}
    assert {k.shape[2] for k, _ in grown} == {5}


@pytest.mark.parametrize("places", [5, 9])
def test_a_static_step_gives_the_logits_of_the_forward_pass(model, places) -> None:
    token, read = decoding.prefill(model, PROMPT)
    cache = decoding.static_cache(model, read, places)
    logits = decoding.static_step(model, token, next_position(), cache)
    torch.testing.assert_close(logits, expected_logits(model, token), **CLOSE)


def test_a_static_step_at_the_wrong_place_would_be_caught(model) -> None:
    """Must-fail twin: one place too far, an empty one is looked at."""
    token, read = decoding.prefill(model, PROMPT)
    cache = decoding.static_cache(model, read, 9)
    logits = decoding.static_step(model, token, next_position() + 1, cache)
    assert (logits - expected_logits(model, token)).abs().max() > 1e-3


def test_greedy_writes_what_reading_everything_anew_writes(model) -> None:
    token, read = decoding.prefill(model, PROMPT)
    cache = decoding.static_cache(model, read, 9)

    def step(token: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        return decoding.static_step(model, token, position, cache)

    written = decoding.greedy(step, token, PROMPT.shape[1], 5)
    assert torch.equal(written, decoding.recompute(model, PROMPT, 5))


def test_a_step_that_forgets_is_noticed(model) -> None:
    """Must-fail twin of the one before: the cache is emptied at every step."""
    token, read = decoding.prefill(model, PROMPT)
    empty = functools.partial(decoding.static_cache, model, read, 9)

    def step(token: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        return decoding.static_step(model, token, position, torch.zeros_like(empty()))

    written = decoding.greedy(step, token, PROMPT.shape[1], 5)
    assert not torch.equal(written, decoding.recompute(model, PROMPT, 5))
