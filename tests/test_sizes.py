"""Hard limits on size. Oracle: sources made one line, one parameter or one block too large."""

import textwrap
from pathlib import Path

import pytest
from codecheck import sizes, syntax
from codecheck.syntax import Module


def complaints(text: str) -> list[str]:
    return sizes.problems([Module("toy.a", Path("a.py"), text)])


def test_the_package_and_the_tools_keep_to_the_limits() -> None:
    modules = [*syntax.package_modules(), *syntax.source_modules("tools")]
    assert modules
    found = sizes.problems(modules)
    assert not found, "\n".join(found)


def body(lines: int) -> str:
    return "def f():\n" + "    x = 1\n" * (lines - 1)


def nested(depth: int) -> str:
    rows = [f"{'    ' * (i + 1)}if x:" for i in range(depth)]
    return "\n".join(["def f(x):", *rows, "    " * (depth + 1) + "pass", ""])


@pytest.mark.parametrize(
    ("fits", "too_large", "complaint"),
    [
        (body(50), body(51), "51 lines, at most 50"),
        (nested(3), nested(4), "blocks nest 4 deep"),
        (
            "def f(a, b, *, c, d, e, f, g): ...",
            "def f(a, *, b, c, d, e, f, g, h): ...",
            "8 parameters",
        ),
        ("def f(a, b, c, d): ...", "def f(a, b, c, d, e): ...", "5 positional"),
        (
            "def f(a, b=1, c=2): ...",
            "def f(a=0, b=1, c=2): ...",
            "3 positional parameters with a d",
        ),
        ("x = 1\n" * 300, "x = 1\n" * 301, "301 lines"),
        ("x = '" + "a" * 94 + "'", "x = '" + "a" * 95 + "'", "101 columns"),
    ],
)
def test_the_limit_passes_and_one_more_fails(fits: str, too_large: str, complaint: str) -> None:
    assert complaints(fits) == []
    found = complaints(too_large)
    assert len(found) == 1
    assert complaint in found[0]


def test_an_elif_is_no_deeper_than_its_if() -> None:
    chain = "def f(x):\n    if x:\n        pass\n" + "    elif x:\n        pass\n" * 5
    assert complaints(chain) == []


def test_decorators_and_methods_count() -> None:
    method = "class A:\n    @staticmethod\n" + textwrap.indent(body(50), "    ")
    assert "51 lines" in complaints(method)[0]
    assert complaints("class A:\n    def f(self, a, b, c, d): ...") == []


def test_a_handler_that_sphinx_calls_keeps_the_signature_of_its_event() -> None:
    assert complaints("def f(app, name, template, context, doctree): ...") == []


def test_a_kernel_may_take_twelve_and_by_position() -> None:
    def kernel(count: int, decorator: str) -> str:
        return f"@{decorator}\ndef f({', '.join(f'p{i}' for i in range(count))}): ..."

    assert complaints(kernel(12, "triton.jit")) == []
    assert "13 parameters of a kernel" in complaints(kernel(13, "triton.jit"))[0]
    # Must-fail twin: the decorator makes the difference.
    assert "12 parameters, at most 7" in complaints(kernel(12, "cached"))[0]


def test_a_thirteenth_module_is_too_many() -> None:
    def package(count: int) -> list[Module]:
        files = [Module(f"toy.m{i}", Path(f"m{i}.py"), "") for i in range(count)]
        return [Module("toy", Path("__init__.py"), ""), *files]

    assert sizes.problems(package(12)) == []
    assert sizes.problems(package(13)) == ["toy: 13 modules, at most 12; split the sub-package"]
