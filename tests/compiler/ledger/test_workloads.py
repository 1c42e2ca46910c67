"""The work of the maps. Oracles: closed formulas, torch's own functions, graph counts."""

import pytest
import torch
from torch.nn import functional

from fuseshard.compiler.graphs import graphs_captured
from fuseshard.compiler.ledger import workloads


def drawn(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(5), dtype=torch.float64)


@pytest.mark.parametrize("operations", [2, 8, 128])
def test_a_chain_is_its_closed_formula(operations) -> None:
    links = operations // 2
    a, b = workloads.SCALE, workloads.SHIFT
    x = drawn(7)
    expected = a**links * x + b * (1 - a**links) / (1 - a)
    torch.testing.assert_close(workloads.chain(operations)(x), expected, rtol=1e-12, atol=0)


@pytest.mark.parametrize("operations", [0, 3, -2])
def test_a_chain_of_half_a_link_is_refused(operations) -> None:
    with pytest.raises(ValueError, match="must be even and at least 2"):
        workloads.chain(operations)


@pytest.mark.parametrize("breaks", [0, 1, 3])
def test_breaks_cut_a_chain_into_one_graph_more_and_change_nothing(breaks) -> None:
    x = drawn(7)
    broken = workloads.broken_chain(8, breaks)
    compiled = torch.compile(broken, backend="eager")
    assert graphs_captured(lambda: compiled(x)) == breaks + 1
    assert torch.equal(compiled(x), workloads.chain(8)(x))


def test_a_chain_is_cut_into_even_parts_or_not_at_all() -> None:
    with pytest.raises(ValueError, match="multiple of 6"):
        workloads.broken_chain(8, 2)


@pytest.mark.parametrize("operations", [0, 2])
def test_layers_multiply_and_then_apply_the_chain(operations) -> None:
    x, w = drawn(5, 5), drawn(5, 5)
    expected = x
    for _ in range(2):
        expected = expected @ w
        if operations:
            expected = workloads.chain(operations)(expected)
    assert torch.equal(workloads.layers(operations)(x, w), expected)


def test_norm_and_hardswish_are_those_of_torch() -> None:
    x = drawn(11)
    mean, weight, bias = (
        torch.tensor([value], dtype=torch.float64)
        for value in (workloads.MEAN, workloads.WEIGHT, workloads.BIAS)
    )
    variance = torch.tensor([workloads.INVERSE_DEVIATION**-2], dtype=torch.float64)
    normed = functional.batch_norm(x[:, None], mean, variance, weight, bias, eps=0.0)
    expected = functional.hardswish(normed)[:, 0]
    torch.testing.assert_close(workloads.norm_hardswish(x), expected, rtol=1e-12, atol=1e-12)
