"""Ways to write tokens. Oracle: reading the whole sequence anew for each token."""

import functools

import pytest
import torch

from fuseshard.compiler.ledger import generation
from fuseshard.models.minigpt import MiniGPT, MiniGPTConfig

SMALL = MiniGPTConfig(vocabulary=11, width=12, num_layers=2, num_heads=3, context=15)


@pytest.fixture(scope="module")
def made() -> generation.Writers:
    prompt = torch.tensor([[3, 1, 4], [1, 5, 9]])
    return generation.Writers(MiniGPT(SMALL, seed=2).requires_grad_(False), prompt, 9)


def test_every_way_writes_the_same_tokens(made) -> None:
    expected = made.without_cache()
    compile_with = functools.partial(torch.compile, backend="eager")
    for write in (
        made.growing(),
        made.static(),
        made.growing(compile_with),
        made.static(compile_with),
    ):
        assert torch.equal(write(), expected)


def test_a_writer_can_be_called_again(made) -> None:
    write = made.static()
    assert torch.equal(write(), write())


def test_a_growing_cache_leads_to_more_graphs_than_a_fixed_one(made) -> None:
    """Twice, or a cell that is run again would count what Dynamo has learned the first time."""
    for _ in range(2):
        assert generation.count_graphs(made, dynamic=None) == {"growing": 2, "static": 1}


def test_other_tokens_are_refused(made) -> None:
    right = made.without_cache()
    generation.require_same({"no cache": right, "static": right.clone()})
    with pytest.raises(ArithmeticError, match=r"\['static'\] wrote other tokens"):
        generation.require_same({"no cache": right, "static": right + 1})
