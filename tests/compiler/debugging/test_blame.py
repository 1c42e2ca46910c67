"""The ladder and the leaves find planted faults. Oracle: the fault that was planted."""

import pytest
import torch
from torch import nn

from fuseshard.compiler.debugging.blame import FAULT, bottom_up, ladder
from fuseshard.measure.clock import fresh_compile


def wave(x):
    return x.sin().relu() * 2


def broken(graph, inputs):
    raise RuntimeError("no backend today")


@pytest.fixture
def planted():
    with torch._inductor.config.patch({FAULT: "accuracy"}), fresh_compile():
        yield


X = torch.linspace(-3, 3, 33)


def test_without_a_fault_every_stage_is_right():
    assert {t.ending for t in ladder(wave, X, bound=1e-6)} == {"right"}


def test_a_wrong_relu_is_found_in_the_third_stage(planted):
    assert [t.ending for t in ladder(wave, X, bound=1e-6)] == ["right", "right", "wrong"]


def test_a_bound_of_nothing_would_accuse_rounding():
    trial = ladder(lambda x: x.softmax(-1), X, bound=-1.0, backends=["eager"])[0]
    assert trial.ending == "wrong"


def test_a_backend_that_raises_is_an_outcome():
    (trial,) = ladder(wave, X, bound=1e-6, backends=[broken])
    assert trial.ending == "raises"
    assert "BackendCompilerFailed" in trial.detail


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.act, self.last = nn.Linear(33, 7), nn.ReLU(), nn.Linear(7, 3)

    def forward(self, x):
        return self.last(self.act(self.first(x)))


def test_the_leaf_with_the_fault_is_named(planted):
    torch.manual_seed(0)
    found = bottom_up(Block().requires_grad_(False), torch.randn(5, 33), bound=1e-5)
    assert [(t.name, t.ending) for t in found] == [
        ("first", "right"),
        ("act", "wrong"),
        ("last", "right"),
    ]
