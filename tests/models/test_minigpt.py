"""MiniGPT against closed formulas and against its own definition; pure torch, no ranks."""

import pytest
import torch

from fuseshard.models.minigpt import MiniGPT, MiniGPTConfig

SMALL = MiniGPTConfig(vocabulary=11, width=12, num_layers=2, num_heads=3, context=7)


@pytest.mark.parametrize(
    "config", [MiniGPTConfig(), SMALL, MiniGPTConfig(vocabulary=7, width=1, num_heads=1)]
)
def test_the_parameter_count_is_the_formula(config: MiniGPTConfig) -> None:
    counted = sum(param.numel() for param in MiniGPT(config).parameters())
    assert counted == config.num_parameters


def test_the_default_is_the_model_of_the_source_documents() -> None:
    model = MiniGPT()
    assert (model.head.in_features, model.head.out_features) == (64, 600)
    assert (len(model.blocks), model.config.num_heads) == (4, 4)


def test_logits_have_one_score_a_token_and_word() -> None:
    assert MiniGPT(SMALL)(torch.zeros(3, 5, dtype=torch.int64)).shape == (3, 5, 11)


def test_a_later_token_changes_no_earlier_logit() -> None:
    model = MiniGPT(SMALL)
    tokens = torch.tensor([[1, 2, 3, 4, 5, 6, 7]])
    changed = tokens.clone()
    changed[0, 4] = 9
    before, after = model(tokens), model(changed)
    torch.testing.assert_close(before[:, :4], after[:, :4], rtol=0, atol=1e-6)
    # Positive control: from the changed token on, every position must have moved.
    assert ((before - after).abs().amax(dim=-1)[0, 4:] > 1e-4).all()


def test_attention_without_the_mask_would_be_caught() -> None:
    """Must-fail twin of the causal test: a model that looks ahead moves earlier logits."""
    model = MiniGPT(SMALL)
    attention = model.blocks[0].attention
    attention.forward = lambda x: attention.out(x.mean(dim=1, keepdim=True).expand_as(x))
    tokens = torch.tensor([[1, 2, 3, 4, 5, 6, 7]])
    changed = tokens.clone()
    changed[0, 4] = 9
    assert (model(tokens) - model(changed))[:, :4].abs().max() > 1e-4


def test_the_seed_alone_decides_the_parameters() -> None:
    torch.manual_seed(1)
    first = MiniGPT(SMALL, seed=3).state_dict()
    torch.manual_seed(2)
    second = MiniGPT(SMALL, seed=3).state_dict()
    other = MiniGPT(SMALL, seed=4).state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(first["head.weight"], other["head.weight"])


def test_making_a_model_leaves_the_global_generator_alone() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    MiniGPT(SMALL, seed=9)
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"width": 10, "num_heads": 4}, "width is 10, must be a multiple of num_heads 4.*width 12"),
        ({"vocabulary": 0}, "vocabulary is 0, must be a whole number of at least 1"),
        ({"num_layers": 1.5}, "num_layers is 1.5"),
        ({"context": True}, "context is True"),
    ],
)
def test_impossible_sizes_are_refused_by_name(sizes: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MiniGPTConfig(**sizes)


def test_a_sequence_beyond_the_context_is_refused() -> None:
    with pytest.raises(ValueError, match="has 8 tokens, must have at most 7"):
        MiniGPT(SMALL)(torch.zeros(1, 8, dtype=torch.int64))
