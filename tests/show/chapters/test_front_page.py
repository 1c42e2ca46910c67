"""The front page's loop, against the code that torch's Inductor writes on this machine."""

from dataclasses import replace

import pytest
import torch

from fuseshard.compiler import inductor, stages
from fuseshard.compiler.records import Kernel
from fuseshard.show.chapters.front_page import loop_source


def chain(x: torch.Tensor) -> torch.Tensor:
    return (2 * x + 1).tanh().sqrt() - x.sigmoid()


def chain_then_sum(x: torch.Tensor) -> torch.Tensor:
    exps = chain(x).exp()
    return exps / exps.sum(dim=-1, keepdim=True)


def kernel_of(fn: object, x: torch.Tensor) -> Kernel:
    (kernel,) = inductor.kernels(stages.capture(fn, x).source[0])
    return kernel


@pytest.fixture(scope="module")
def chain_kernel() -> Kernel:
    return kernel_of(chain, torch.linspace(0, 1, 1003))


def test_the_chain_is_one_loop_that_reads_and_writes_once(chain_kernel: Kernel) -> None:
    source = loop_source(chain_kernel)
    assert source.code.count("for(") == 1
    assert source.code.count("loadu(") == 1
    assert source.code.count(".store(") == 1
    for operation in (" * ", " + ", ".tanh()", ".sqrt()", ".exp()", " - "):
        assert operation in source.code


def test_a_kernel_of_several_loops_is_refused() -> None:
    kernel = kernel_of(chain_then_sum, torch.rand(5, 1003))
    with pytest.raises(ValueError, match="required one that ends in a store"):
        loop_source(kernel)


def test_code_without_its_operations_is_refused(chain_kernel: Kernel) -> None:
    changed = replace(chain_kernel, code=chain_kernel.code.replace("tmp0 * ", "tmp0 + "))
    with pytest.raises(ValueError, match="tmp0"):
        loop_source(changed)
