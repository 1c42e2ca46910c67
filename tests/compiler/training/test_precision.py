"""Autocast. Oracles: float64, and a derived bound that coarser numbers break."""

import pytest
import torch
from torch.nn import functional

from fuseshard.compiler.training import precision
from fuseshard.compiler.training.published import published_step


def test_casts_are_those_of_the_page() -> None:
    graphs = precision.cast_graphs()
    assert (graphs.forward_casts, graphs.backward_casts) == (4, 3)
    assert "bf16" in graphs.forward and "f32" in graphs.backward


@pytest.mark.parametrize("features", [1, 7, 300])
def test_a_linear_layer_stays_within_the_bound_and_coarser_weights_do_not(features: int) -> None:
    generator = torch.Generator().manual_seed(features)
    x, weight = (torch.randn(n, features, generator=generator) for n in (33, 21))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        low = functional.linear(x, weight)
    assert low.dtype == torch.bfloat16
    assert 0 < precision.worst_share(low, x, weight) < 1
    if features < 100:  # where errors cancel in a long sum, only a worse format shows
        coarse = functional.linear(x, weight.to(torch.float8_e5m2).float())
        assert precision.worst_share(coarse, x, weight) > 1


def test_the_exact_result_has_no_error() -> None:
    x, weight = torch.randn(3, 7), torch.randn(5, 7)
    exact = functional.linear(x.double(), weight.double())
    assert precision.worst_share(exact, x, weight) == 0
    assert precision.mean_error(exact, exact) == 0


def test_eager_mode_rounds_twice_where_once_would_do() -> None:
    generator = torch.Generator().manual_seed(0)
    gate, value = (torch.randn(50, 70, generator=generator).bfloat16() for _ in range(2))
    exact = precision.gated(gate.double(), value.double())
    eager = precision.mean_error(precision.gated(gate, value), exact)
    once = precision.mean_error(precision.gated(gate.float(), value.float()).bfloat16(), exact)
    assert once < 0.9 * eager


def test_the_four_variants_are_those_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "compile", lambda fn, **settings: fn)
    timed = precision.precision_times(5, batch=3, budget_s=0.1)
    assert [timing.name for timing in timed.timings] == [
        "float32 eager",
        "float32 compiled",
        "bfloat16 eager",
        "bfloat16 compiled",
    ]
    assert callable(published_step(compiled=False, batch=3, hidden=5, autocast=True))
