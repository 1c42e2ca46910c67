"""torch.func under torch.compile, and compiled autograd. Oracle: eager mode."""

import pytest
import torch

from fuseshard.compiler.joint.around import (
    broken,
    compile_transform,
    run_backward,
    transforms,
)


@pytest.mark.parametrize("name", ["grad", "vmap(grad)", "jvp"])
def test_a_transform_is_one_graph_and_agrees_with_eager_mode(name: str) -> None:
    made = compile_transform(name)
    assert made.num_graphs == 1
    assert made.num_ops > 5
    assert made.difference < 1e-5


def test_there_is_a_transform_of_second_order() -> None:
    assert "hessian" in transforms()


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
def test_compiled_autograd_makes_one_graph_of_both() -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(7, 12, generator=generator).requires_grad_()
    weight = torch.randn(12, generator=generator).requires_grad_()
    ahead, graphs = run_backward(x, weight)
    assert (ahead, len(graphs)) == (2, 1)
    assert graphs[0].count("CompiledFunctionBackward") == 2
    assert "AccumulateGrad" in graphs[0]
    expected = torch.autograd.grad(broken(x, weight), (x, weight))
    for tensor, gradient in zip((x, weight), expected, strict=True):
        assert torch.allclose(tensor.grad, gradient)
