"""Units in the last place. Oracle: torch.nextafter, step by step."""

import pytest
import torch

from fuseshard.compiler.debugging.numerics import SHOWN, ulp_counts, ulps


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("start", [1.0, -1.0, 0.0, 3.5e-3])
def test_each_step_of_nextafter_is_one_ulp(dtype, start):
    here = torch.tensor([start], dtype=dtype)
    there = here
    for steps in range(1, 4):
        there = torch.nextafter(there, torch.tensor([torch.inf], dtype=dtype))
        assert ulps(there, here.double()).tolist() == [steps]
        assert ulps(here, there.double()).tolist() == [steps]


def test_zero_has_one_place_whatever_its_sign():
    assert ulps(torch.tensor([-0.0]), torch.tensor([0.0], dtype=torch.float64)).tolist() == [0]


def test_the_exact_value_is_rounded_first():
    exact = torch.tensor([1.0 + 2**-30], dtype=torch.float64)
    assert ulps(torch.tensor([1.0]), exact).tolist() == [0]


def test_counts_add_up_and_a_fused_bfloat16_chain_rounds_once():
    x = torch.randn(7, 131, generator=torch.Generator().manual_seed(0)).bfloat16()
    eager, compiled = ulp_counts("chain", lambda x: ((x * 1.1 + 0.3).tanh() * x).exp(), x)
    assert sum(eager.counts) == sum(compiled.counts) == x.numel()
    assert len(eager.counts) == SHOWN + 1
    assert compiled.counts[0] > eager.counts[0]
