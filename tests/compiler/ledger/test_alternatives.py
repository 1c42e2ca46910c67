"""Other tools with the same model. Oracle: eager mode, within the bound of rounding.

AOTInductor is left to the page: its compile takes longer than all of these together.
"""

import sys

import pytest
import torch

from fuseshard.compiler.ledger import alternatives
from fuseshard.compiler.ledger.bounds import mlp_bound, share_of_bound
from fuseshard.models.small import MLP_WIDTH, ResidualMLP


@pytest.fixture(scope="module")
def mlp() -> ResidualMLP:
    return ResidualMLP().eval().requires_grad_(False)


def rows() -> torch.Tensor:
    return torch.randn(7, MLP_WIDTH, generator=torch.Generator().manual_seed(2))


def test_torchscript_computes_the_same_and_warns_of_nothing(mlp, recwarn) -> None:
    scripted = alternatives.torchscript(mlp)
    assert not recwarn.list
    assert share_of_bound(scripted(rows()), mlp(rows()), mlp_bound(mlp, rows())) <= 1


def test_onnx_runtime_computes_the_same_and_says_nothing(mlp, capfd) -> None:
    run = alternatives.onnx_runtime(mlp, rows())
    assert capfd.readouterr() == ("", "")
    assert share_of_bound(run(rows()), mlp(rows()), mlp_bound(mlp, rows())) <= 1


def test_a_missing_package_names_the_extra(mlp, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ImportError, match=r"fuseshard\[onnx\]"):
        alternatives.onnx_runtime(mlp, rows())


def test_a_scripted_model_is_refused(mlp) -> None:
    assert "does not support compiling torch.jit.script" in alternatives.scripted_refusal(mlp)


def test_a_function_without_tensors_is_not_called_compiled() -> None:
    with pytest.raises(ValueError, match="captured 0 graphs"):
        alternatives.compiled(torch.nn.Identity(), rows())
