"""The classifier against PyTorch's own encoder layer, and against what padding must not do."""

import pytest
import torch
from torch import nn

from fuseshard.models.classifier import PADDING, Classifier, ClassifierConfig, Encoder

SMALL = ClassifierConfig(
    num_classes=3, vocabulary=11, width=12, num_layers=2, num_heads=3, context=7
)


def library_layer(layer: Encoder) -> nn.TransformerEncoderLayer:
    """torch's encoder layer with the parameters of ours."""
    library = nn.TransformerEncoderLayer(
        12, 3, 48, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
    )
    pairs = {
        "self_attn.in_proj_weight": layer.qkv.weight,
        "self_attn.in_proj_bias": layer.qkv.bias,
        "self_attn.out_proj.weight": layer.out.weight,
        "self_attn.out_proj.bias": layer.out.bias,
        "linear1.weight": layer.up.weight,
        "linear1.bias": layer.up.bias,
        "linear2.weight": layer.down.weight,
        "linear2.bias": layer.down.bias,
        "norm1.weight": layer.attention_norm.weight,
        "norm1.bias": layer.attention_norm.bias,
        "norm2.weight": layer.feed_forward_norm.weight,
        "norm2.bias": layer.feed_forward_norm.bias,
    }
    library.load_state_dict(pairs)
    return library


def test_a_layer_is_torchs_encoder_layer() -> None:
    layer = Classifier(SMALL).layers[0]
    x = torch.randn(5, 7, 12, generator=torch.Generator().manual_seed(0))
    is_token = torch.ones(5, 7, dtype=torch.bool)
    is_token[2, 4:] = False
    ours = layer(x, is_token[:, None, None, :])
    theirs = library_layer(layer)(x, src_key_padding_mask=~is_token)
    torch.testing.assert_close(ours[is_token], theirs[is_token], rtol=0, atol=1e-5)
    # The twin: without the mask, the texts with padding come out otherwise.
    unmasked = layer(x, torch.ones_like(is_token)[:, None, None, :])
    assert (unmasked[2, :4] - theirs[2, :4]).abs().max() > 1e-3


def test_padding_changes_no_result() -> None:
    model = Classifier(SMALL)
    tokens = torch.tensor([[3, 1, 4], [1, 5, PADDING]])
    padded = nn.functional.pad(tokens, (0, 4), value=PADDING)
    torch.testing.assert_close(model(tokens), model(padded), rtol=0, atol=1e-6)
    # Positive control: a token in place of padding does change it.
    padded[0, 3] = 2
    assert (model(tokens)[0] - model(padded)[0]).abs().max() > 1e-4


def test_parameters_depend_on_the_seed_alone() -> None:
    state = torch.random.get_rng_state()
    first, second, other = Classifier(SMALL), Classifier(SMALL), Classifier(SMALL, seed=1)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert torch.equal(first.head.weight, second.head.weight)
    assert not torch.equal(first.head.weight, other.head.weight)


def test_dropout_acts_in_training_only() -> None:
    dropping = ClassifierConfig(num_classes=3, vocabulary=11, width=12, num_heads=3, dropout=0.5)
    model = Classifier(dropping)
    tokens = torch.tensor([[3, 1, 4]])
    assert not torch.equal(model(tokens), model(tokens))
    model.eval()
    assert torch.equal(model(tokens), model(tokens))


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [({"width": 10, "num_heads": 4}, "use width 12"), ({"dropout": 1.0}, "from 0 to below 1")],
)
def test_sizes_that_no_model_can_have_are_refused(wrong: dict, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        ClassifierConfig(num_classes=2, **wrong)
