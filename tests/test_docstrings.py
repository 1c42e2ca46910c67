"""Docstrings against signatures. Oracle: functions whose docstring lies in one way each."""

from pathlib import Path

import pytest
from codecheck import docstrings, syntax
from codecheck.syntax import Module

GOOD = '''"""A toy."""

def f(a, b, *, c, d):
    """Add.

    Args:
        a: first, s.
        b: second, s.
        c: third, s.
        d: fourth, s.

    Raises:
        ValueError: a is negative.
    """
    if a < 0:
        raise ValueError("a")
'''


def complaints(text: str) -> list[str]:
    return docstrings.problems(Module("toy", Path("toy.py"), text))


def test_the_package_documents_what_it_takes_and_raises() -> None:
    modules = syntax.package_modules()
    assert modules
    found = [problem for m in modules for problem in docstrings.problems(m)]
    assert not found, "\n".join(found)


def test_a_true_docstring_passes() -> None:
    assert complaints(GOOD) == []


@pytest.mark.parametrize(
    ("true", "lie", "complaint"),
    [
        ('"""A toy."""', "", "toy: no docstring"),
        ("b: second", "group: second", "not in the signature ['group'], not documented ['b']"),
        ("        d: fourth, s.\n", "", "not documented ['d']"),
        (
            "        a: first, s.\n        b: second, s.",
            "        b: second, s.\n        a: first, s.",
            "Args are in the order",
        ),
        ("ValueError: a is", "TypeError: a is", "raises ValueError without saying so"),
        ("Add.", f"{'Add ' * 30}.", "the first sentence has"),
    ],
)
def test_a_lie_is_named(true: str, lie: str, complaint: str) -> None:
    found = complaints(GOOD.replace(true, lie, 1))
    assert any(complaint in line for line in found), found


def test_public_names_need_a_docstring_and_private_ones_do_not() -> None:
    text = (
        '"""A toy."""\n'
        "def f(): ...\n"
        "def _g(): ...\n"
        "class A:\n    def m(self): ...\n    def _n(self): ...\n    def __len__(self): ...\n"
    )
    found = complaints(text)
    assert [line.split(" ")[0] for line in found] == ["toy.f", "toy.A", "toy.A.m"]


def test_four_parameters_need_an_args_section() -> None:
    three = '"""A."""\ndef f(a, b, c):\n    """Add."""\n'
    assert complaints(three) == []
    assert "no Args section" in complaints(three.replace("c)", "c, *, d)"))[0]


def test_a_kernel_says_what_its_parameters_are_beside_them() -> None:
    kernel = (
        '"""A toy."""\n@triton.jit\ndef f(\n    a,  # [R, N]\n    b,  # [N]\n    c,  # R\n'
        '    D: tl.constexpr,  # N\n):\n    """Add."""\n'
    )
    assert complaints(kernel) == []
    assert "no comment beside b" in complaints(kernel.replace("b,  # [N]", "b,"))[0]
    assert "no docstring" in complaints(kernel.replace('"""Add."""', "pass"))[0]
    # Must-fail twin: the decorator makes the difference.
    assert "no Args section" in complaints(kernel.replace("triton.jit", "cached"))[0]


def test_what_a_nested_function_raises_is_its_own_business() -> None:
    text = '"""A."""\ndef f():\n    """Add."""\n    def g():\n        raise ValueError("x")\n'
    assert complaints(text) == []
    assert complaints(text.replace("    def g():\n    ", ""))
