"""The small models. Oracles: torch's own layers, and shapes."""

import pytest
import torch
from torch import nn

from fuseshard.models.small import (
    GRU_FEATURES,
    GRU_HIDDEN,
    GRU_STEPS,
    IMAGE_CHANNELS,
    IMAGE_SIDE,
    MLP_WIDTH,
    NUM_CLASSES,
    ConvNet,
    GRULoop,
    ResidualMLP,
)

MODELS = (ResidualMLP, ConvNet, GRULoop)


def test_shapes_are_those_that_the_models_promise() -> None:
    assert ResidualMLP()(torch.zeros(3, MLP_WIDTH)).shape == (3, MLP_WIDTH)
    images = torch.zeros(3, IMAGE_CHANNELS, IMAGE_SIDE, IMAGE_SIDE)
    assert ConvNet()(images).shape == (3, NUM_CLASSES)
    assert GRULoop()(torch.zeros(3, GRU_STEPS, GRU_FEATURES)).shape == (3, GRU_HIDDEN)


def test_the_loop_over_a_cell_is_torch_s_gru() -> None:
    model = GRULoop(seed=3)
    layer = nn.GRU(GRU_FEATURES, GRU_HIDDEN, batch_first=True)
    own = {f"{name}_l0": value for name, value in model.cell.state_dict().items()}
    layer.load_state_dict(own)
    x = torch.randn(3, GRU_STEPS, GRU_FEATURES, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(model(x), layer(x)[1][0], rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", MODELS)
def test_the_seed_alone_decides_the_parameters(kind) -> None:
    torch.manual_seed(1)
    first = kind(seed=3).state_dict()
    torch.manual_seed(2)
    second, other = kind(seed=3).state_dict(), kind(seed=4).state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert any(not torch.equal(first[name], other[name]) for name in first)
