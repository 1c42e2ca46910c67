"""Attention, and a linear layer with cross-entropy. Oracle: plain torch in float64.

The kernels run in Triton's interpreter, in a child process of about 10 s. Numbers are errors in
units of the bound that tile_cases.py derives: up to 1 is right.
"""

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture(scope="module")
def found(interpreted: Callable[[str], Any]) -> Any:
    return interpreted("tile_cases")


def test_attention_is_as_good_as_its_arithmetic_allows(found: Any) -> None:
    assert len(found["attention"]) == (3 + 2) * 2 * 2
    assert not {name: value for name, value in found["attention"].items() if value > 1}


@pytest.mark.parametrize(
    "mistake",
    [
        "total without rescaling",
        "values without rescaling",
        "keys beyond the last",
        "a key too late",
        "last tile first, causal",
    ],
)
def test_attention_with_a_mistake_leaves_the_bound(found: Any, mistake: str) -> None:
    """Must-fail twin of the above."""
    assert found["attention mistakes"][mistake] > 10


def test_tiles_may_come_in_any_order_where_all_keys_are_seen(found: Any) -> None:
    """The order is a mistake with a causal mask only, whose last tile is empty for some queries."""
    assert found["attention mistakes"]["last tile first"] <= 1


def test_losses_and_gradients_are_as_good_as_their_arithmetic_allows(found: Any) -> None:
    assert len(found["loss"]) == (2 + 2 * 2) + 2 * (1 + 2)
    assert not {name: value for name, value in found["loss"].items() if value > 1}


@pytest.mark.parametrize(
    "mistake",
    [
        "total without rescaling",
        "words beyond the last",
        "the word before the target",
        "the last chunk alone",
    ],
)
def test_a_loss_with_a_mistake_leaves_the_bound(found: Any, mistake: str) -> None:
    """Must-fail twin of the above."""
    assert found["loss mistakes"][mistake] > 10


def test_autograd_reaches_hidden_states_and_weights(found: Any) -> None:
    assert found["autograd"] == {
        "shape": [],
        "dtype": "torch.float32",
        "loss": True,
        "gradients": [True, True],
    }


def test_numbers_whose_exp_is_infinite_give_finite_results(found: Any) -> None:
    assert found["special"] == {"large logits": True, "target outside": True, "large scores": True}


def test_the_interpreter_still_multiplies_the_bits_of_bfloat16(found: Any) -> None:
    """Once it doesn't, add_product can do without its branch for the interpreter."""
    assert found["raw product"]["out"] > 1e6


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("dims", "flash_attention: q has shape (1, 4, 16), must have (B, H, T, D)"),
        ("head", "flash_attention: q has shape (1, 1, 4, 129), must have (B, H, T, D) with D from"),
        ("keys", "flash_attention: k has shape (2, 1, 3, 16), must have (2, 1, 4, 16)"),
        ("scale", "flash_attention: scale is -1.0, must be positive"),
        ("depth", "flash_attention: tiles.depth is 16, must be at least D, 32"),
        ("gradient", "flash_attention: v needs a gradient, must not"),
        ("tile", "TilePlan: rows is 24, must be a power of two and at least 16"),
        ("hidden", "linear_cross_entropy: hidden and weight have shapes (33, 49) and (601, 50)"),
        ("vocabulary", "linear_cross_entropy: hidden and weight have shapes (33, 50) and (0, 50)"),
        ("target", "linear_cross_entropy: target is torch.int32, must be torch.int64"),
        ("targets", "linear_cross_entropy: target has shape (32,), must have (33,)"),
        ("splits", "tiles_per_split: num_splits is 0, must be at least 1"),
        ("lse", "mean_loss_gradients: lse has shape (32,), must have (33,)"),
    ],
)
def test_what_a_kernel_would_misread_is_refused(found: Any, case: str, message: str) -> None:
    assert found["refusals"][case].startswith(message)
