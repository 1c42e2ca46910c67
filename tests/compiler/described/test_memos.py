"""Whose memos are emptied. Oracle: the installed torch, asked for each module by name."""

import importlib.util

import pytest

from fuseshard.compiler.described import memos


@pytest.mark.parametrize("name", memos.MODULES)
def test_torch_has_the_module(name: str) -> None:
    """One that torch has renamed would be passed over in silence."""
    assert importlib.util.find_spec(name) is not None


def test_a_name_that_torch_lacks_is_seen() -> None:
    """Must-fail twin."""
    assert importlib.util.find_spec("torch._inductor.codegen.cuda.gone") is None
