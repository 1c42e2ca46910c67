"""Copies of functions; oracle: the function itself."""

import functools

import pytest
import torch

from fuseshard.compiler.isolate import isolated

OFFSET = 3


def scaled(x: float, /, factor: float = 2.0, *, shift: float = 0.5) -> float:
    return x * factor + shift + OFFSET


class Holder:
    def __init__(self) -> None:
        self.weight = 5

    def times(self, x: int) -> int:
        return x * self.weight


def closure(inside: int):
    def add(x: int) -> int:
        return x + inside

    return add


@pytest.mark.parametrize(
    ("fn", "argument"),
    [
        (scaled, 7.0),
        (closure(11), 7),
        (Holder().times, 7),
        (functools.partial(scaled, factor=4.0), 7.0),
        (torch.nn.Identity(), 7),
        (abs, -7),
    ],
)
def test_a_copy_computes_the_same(fn, argument) -> None:
    assert isolated(fn)(argument) == fn(argument)


def test_keyword_defaults_are_copied_too() -> None:
    assert isolated(scaled)(1.0, shift=1.5) == scaled(1.0, shift=1.5)


def test_each_copy_has_a_code_object_of_its_own() -> None:
    codes = {id(copy.__code__) for copy in (scaled, isolated(scaled), isolated(scaled))}
    assert len(codes) == 3


def test_each_wrapper_of_a_module_has_a_code_object_of_its_own() -> None:
    module = torch.nn.Identity()
    first, second = isolated(module), isolated(module)
    assert first.__code__ is not second.__code__


@pytest.mark.parametrize("compiled", [torch.compile(scaled), torch.compile(torch.nn.Identity())])
def test_a_compiled_function_is_refused(compiled) -> None:
    with pytest.raises(ValueError, match=r"already compiled.*pass what you gave to torch\.compile"):
        isolated(compiled)
