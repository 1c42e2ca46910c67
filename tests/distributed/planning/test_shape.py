"""Parameters and FLOP: pure data. Oracles: torch's own count, published sizes, a paper."""

from dataclasses import replace

import pytest
from torch import nn

from fuseshard.distributed.planning import shape
from fuseshard.distributed.planning.presets import MODELS, model_preset
from fuseshard.models.minigpt import MiniGPT, MiniGPTConfig
from tests.distributed.planning.shapes import SMALL


@pytest.mark.parametrize(("width", "layers", "vocabulary"), [(64, 4, 600), (36, 3, 101)])
def test_minigpts_parameters_are_counted_to_the_last(width, layers, vocabulary) -> None:
    config = MiniGPTConfig(width=width, num_layers=layers, vocabulary=vocabulary)
    model = replace(
        model_preset("minigpt"),
        width=width,
        num_layers=layers,
        vocabulary=vocabulary,
        feed_forward_width=4 * width,
    )
    counted = sum(param.numel() for param in MiniGPT(config).parameters())
    assert shape.num_parameters(model) == counted
    assert shape.num_parameters(replace(model, has_bias=False)) < counted


def test_a_gated_layer_with_shared_keys_is_counted_as_torch_does() -> None:
    model = replace(SMALL, is_gated=True)
    width, kv, inner = 96, 48, 160
    layers = [
        nn.Linear(width, width, bias=False),
        nn.Linear(width, kv, bias=False),
        nn.Linear(width, kv, bias=False),
        nn.Linear(width, width, bias=False),
        nn.Linear(width, inner, bias=False),
        nn.Linear(width, inner, bias=False),
        nn.Linear(inner, width, bias=False),
        nn.RMSNorm(width),
        nn.RMSNorm(width),
    ]
    counted = sum(p.numel() for layer in layers for p in layer.parameters())
    assert shape.layer_parameters(model) == counted
    assert shape.layer_parameters(replace(model, num_kv_heads=6)) > counted


@pytest.mark.parametrize(
    ("name", "billions"),
    # 8.03 and 70.55: the number of parameters that model cards of Llama 3 give.
    [("llama3-8b", 8.03), ("llama3-70b", 70.55), ("gpt3-175b", 174.6)],
)
def test_published_models_have_their_published_size(name: str, billions: float) -> None:
    assert shape.num_parameters(MODELS[name].shape) / 1e9 == pytest.approx(billions, rel=5e-4)


def test_a_gpt_layer_costs_what_the_paper_says() -> None:
    model = replace(SMALL, num_kv_heads=6, feed_forward_width=4 * 96)
    b, s, h = 5, model.sequence, model.width
    # Narayanan et al. 2021, appendix: 24 B s h² (1 + s/6h) for one layer's forward pass.
    assert shape.layer_flop(model, b) == pytest.approx(24 * b * s * h * h * (1 + s / (6 * h)))
    assert shape.head_flop(model, b) == 2 * b * s * h * model.vocabulary


def test_recomputing_adds_one_forward_pass_of_the_layers() -> None:
    once = SMALL.num_layers * shape.layer_flop(SMALL, SMALL.global_batch)
    assert shape.step_flop(SMALL, recomputes=True) - shape.step_flop(SMALL) == pytest.approx(once)


def test_stages_hold_all_parameters_once_and_a_tied_head_twice() -> None:
    middle = SMALL.num_layers // 3 * shape.layer_parameters(SMALL)
    assert sum(shape.stage_parameters(SMALL, 3)) + middle == shape.num_parameters(SMALL)
    tied = replace(SMALL, is_tied=True)
    twice = SMALL.vocabulary * SMALL.width
    assert sum(shape.stage_parameters(tied, 3)) + middle == shape.num_parameters(tied) + twice
    assert shape.stage_parameters(tied, 1) == (shape.num_parameters(tied),) * 2
