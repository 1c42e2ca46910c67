"""Attention's operators. Oracle: torch's scaled_dot_product_attention in float64, and autograd."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch.nn import functional

from fuseshard.compiler.gpu_code.worker.parent import Worker
from fuseshard.compiler.interpreted.libraries import Options, attention, attention_backward
from tests.compiler.interpreted import programs
from tests.compiler.interpreted.conftest import Write
from tests.compiler.interpreted.oracle import distance, numbers, seeded, tangents

EXACT = 1e-12
"""relative; two float64 programs"""
FLOAT32 = 2e-6
"""relative to the largest number: sums of 16 and 9 terms and an exponential, 32 roundings"""
BFLOAT16 = 2.0**-7
"""relative to the largest number: one rounding of the result on each side, and some of what is in
between on the CPU's"""


def heads(count: int, length: int, *, size: int = 16, seed: int = 0) -> torch.Tensor:
    return seeded(2, count, length, size, seed=seed).requires_grad_()


def plain(x: Any, options: Options, *, bias: torch.Tensor | None = None) -> torch.Tensor:
    return functional.scaled_dot_product_attention(
        *x, attn_mask=bias, is_causal=options.is_causal, scale=options.scale, enable_gqa=True
    )


CASES = {
    "plain": (Options(), 4, None),
    "causal": (Options(is_causal=True), 4, None),
    "scaled": (Options(scale=0.3), 4, None),
    "biased": (Options(), 4, (2, 4, 9, 7)),
    "bias of one head": (Options(), 4, (1, 1, 9, 7)),
    "shared heads": (Options(is_causal=True), 2, None),
}


@pytest.mark.parametrize("name", CASES)
def test_the_formula_and_its_derivative_are_torchs(name: str) -> None:
    options, key_heads, shape = CASES[name]
    lengths = (9, 9) if options.is_causal else (9, 7)
    x = [heads(4, lengths[0]), *(heads(key_heads, lengths[1], seed=s) for s in (1, 2))]
    x = [y.detach().double().requires_grad_() for y in x]
    bias = None if shape is None else seeded(*shape).double().requires_grad_()
    result = plain(x, options, bias=bias)
    expected, grad = result.detach(), tangents([result])[0].double()
    leaves = [*x, *([bias] if bias is not None else [])]
    gradients = torch.autograd.grad(result, leaves, grad)
    with torch.no_grad():
        output, sums = attention(x, bias, options)
        found = attention_backward(grad, x, bias, options)
    assert distance(output, expected) < EXACT
    pairs = zip((g for g in found if g is not None), gradients, strict=True)
    assert all(distance(actual, exact) < EXACT for actual, exact in pairs)
    assert sums.shape == expected.shape[:3]
    other = replace(options, is_causal=not options.is_causal)
    assert distance(attention(x, bias, other)[0].detach(), expected) > 0.1


def test_the_logarithms_of_the_rows_give_the_weights_back() -> None:
    q, k = heads(4, 9), heads(4, 7, seed=1)
    eye = torch.eye(7).expand(2, 4, 7, 7)  # values that make the output the weights themselves
    with torch.no_grad():
        weights, sums = attention((q, k, eye), None, Options())
        scores = q @ k.transpose(-1, -2) / 4
    torch.testing.assert_close(weights, (scores - sums[..., None]).exp())


@pytest.mark.parametrize(
    ("gpu", "dtype", "operator"),
    [
        ("h200", torch.float32, "efficient"),
        ("h200", torch.bfloat16, "cudnn"),
        ("a100", torch.bfloat16, "flash"),
    ],
)
def test_each_operator_of_cuda_has_both_passes(
    child: Worker, write: Write, gpu: str, dtype: torch.dtype, operator: str
) -> None:
    x = tuple(heads(4, 9, seed=s).detach().to(dtype).requires_grad_() for s in (0, 1, 2))
    graphs = write(programs.attend, x, gpu, backward=True)
    for graph in graphs:
        assert f"_scaled_dot_product_{operator}_attention" in graph.wrapper
    exact = programs.attend(*(y.double() for y in x))
    grad = tangents([exact])[0].to(dtype)
    found = child.ask("run_graphs", graphs, numbers(programs.attend, x), [grad])
    gradients = torch.autograd.grad(exact, x, grad.double())
    limit = FLOAT32 if dtype == torch.float32 else BFLOAT16
    for actual, expected in zip(
        (*found.outputs, *found.gradients), (exact, *gradients), strict=True
    ):
        assert actual.dtype == dtype
        assert distance(actual, expected.detach()) < limit


def test_a_bias_gets_its_gradient(child: Worker, write: Write) -> None:
    x = (*(heads(4, 9, seed=s) for s in (0, 1, 2)), seeded(2, 4, 9, 9, grad=True))
    graphs = write(programs.attend_biased, x, backward=True)
    expected = programs.attend_biased(*x)
    grad = tangents([expected])[0]
    found = child.ask("run_graphs", graphs, numbers(programs.attend_biased, x), [grad])
    for actual, exact in zip(found.gradients, torch.autograd.grad(expected, x, grad), strict=True):
        assert distance(actual, exact) < FLOAT32


@pytest.mark.parametrize(
    ("gpu", "dtype"),
    [("h200", torch.float32), ("h200", torch.bfloat16), ("a100", torch.bfloat16)],
)
def test_dropout_drops_the_same_weights_in_both_passes(
    child: Worker, write: Write, gpu: str, dtype: torch.dtype
) -> None:
    """Closed formula: the output is W v with W the weights that are left, so for any g
    sum(g * output) = sum(v * gradient of v), whatever was dropped."""
    x = tuple(heads(4, 9, seed=s).detach().to(dtype).requires_grad_() for s in (0, 1, 2))
    graphs = write(programs.attend_dropped, x, gpu, backward=True)
    (grad,) = tangents([x[0]])
    grad = grad.to(dtype)
    found = child.ask("run_graphs", graphs, numbers(programs.attend_dropped, x), [grad])
    (output,), of_values = found.outputs, found.gradients[2]
    terms = grad.double() * output.double()
    other = x[2].detach().double() * of_values.double()
    limit = FLOAT32 if dtype == torch.float32 else BFLOAT16
    assert abs(terms.sum() - other.sum()) < limit * terms.abs().sum()
    undropped = functional.scaled_dot_product_attention(*x).detach()
    assert distance(output, undropped) > 0.1
