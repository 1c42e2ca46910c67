"""Each replacement left out. Oracle: what torch and Triton say themselves where one is missing.

Three processes, no ranks. These are the must-fail twins of a described GPU.
"""

import pytest
import torch

from fuseshard.compiler.described.ablation import ablations
from fuseshard.compiler.described.describe import REPLACEMENTS
from fuseshard.compiler.described.records import Ablation

# name -> what comes of the program with it, and without it
EXPECTED = {
    "memos": ("108 multiprocessors", "132 multiprocessors"),
    "device guard": (
        "a gradient on cuda:0",
        "the process ends: PyTorch is not linked with support for cuda devices",
    ),
    "accelerator hooks": (
        "a gradient on cuda:0",
        "RuntimeError: Cannot access accelerator device when none is available.",
    ),
    "library hooks": ("channels last", "channels first"),
    "factories": (
        "1 Triton kernel",
        "NotImplementedError: Could not run 'aten::empty.memory_format' with arguments from the "
        "'CUDA' ...",
    ),
    "attention choice": ("_scaled_dot_product_cudnn_attention", "bmm, bmm"),
    "tensor creation": ("cuda:0", "cpu"),
    "version": (
        "GPUTarget(backend='hip', arch='gfx942', warp_size=64)",
        "RuntimeError: 2 active drivers ([<class ...",
    ),
    "device queries": ("NVIDIA H200", "AssertionError: Torch not compiled with CUDA enabled"),
    "device exchange": ("device 0", "RuntimeError: PyTorch was compiled without CUDA support"),
    "random state": ("1 Triton kernel", "IndexError: tuple index out of range"),
    "running calls": (
        "stream 0",
        "AttributeError: module 'torch._C' has no attribute '_cuda_setDevice'",
    ),
    "memory size": (
        "151397597184 bytes",
        "AttributeError: 'NoneType' object has no attribute 'cudaMemGetInfo'",
    ),
    "module moves": (
        "cuda:0",
        "RuntimeError: Cannot swap t1 because it has weakref associated with it",
    ),
    "Triton driver": ("1 Triton kernel", "AssertionError: libcuda.so cannot found!"),
}


@pytest.fixture(scope="module")
def found() -> dict[str, Ablation]:
    return {each.name: each for each in ablations()}


def test_every_replacement_has_a_program(found: dict[str, Ablation]) -> None:
    assert list(found) == list(REPLACEMENTS) == list(EXPECTED)
    assert [each.purpose for each in found.values()] == [r.purpose for r in REPLACEMENTS.values()]


@pytest.mark.parametrize("name", EXPECTED)
def test_without_a_replacement_its_program_fails_or_gives_something_else(
    found: dict[str, Ablation], name: str
) -> None:
    with_it, without_it = EXPECTED[name]
    assert found[name].with_it == with_it
    if torch.version.cuda is None:
        assert found[name].without_it == without_it
    else:  # A build for CUDA words its errors in another way, and knows cuDNN by itself.
        assert (found[name].without_it == with_it) == (name == "library hooks")


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(ValueError, match=r"names holds \['hope'\], must be among"):
        ablations(["hope"])
