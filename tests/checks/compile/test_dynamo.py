"""Checks of the chapter on Dynamo: the worked answers pass, listed wrong ones don't.

Oracles: both compilers, asked here and now. The worked method is read from the page.
"""

import re
from pathlib import Path

import pytest

from fuseshard.checks.compile import dynamo as checks
from fuseshard.compiler.tiny import interpreter

PAGES = [Path("book/compile/dynamo.md"), Path("book/es/compile/dynamo.md")]


def worked(page: Path):
    """Execute the solution of the last exercise."""
    (code,) = re.findall(r"```python\n(def unary_negative.*?)```", page.read_text("utf-8"), re.S)
    space = {"interpreter": interpreter}
    exec(code, space)
    return space["unary_negative"]


@pytest.mark.task("dynamo-versions")
def test_the_worked_counts_are_right() -> None:
    assert checks.version_counts() == (5, 3)
    assert checks.check_versions((5, 3)).state == "right"


@pytest.mark.task("dynamo-versions")
@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        ((5, 5), "no longer a constant"),
        ((5, 2), "Which calls fail it"),
        ((5, 4), "Which calls fail it"),
        ((3, 3), "Our compiler"),
        ((1, 3), "Our compiler"),
        (5, "two counts"),
        ((5, 3, 1), "two counts"),
    ],
)
def test_wrong_counts_get_a_hint(answer: object, hint: str) -> None:
    check = checks.check_versions(answer)
    assert check.state == "wrong"
    assert hint in str(check.message)


@pytest.mark.task("dynamo-guarded")
def test_the_worked_names_are_right() -> None:
    assert checks.check_guarded({"x", "use_scale", "scale"}).state == "right"
    assert checks.check_guarded(["scale", "x", "use_scale"]).state == "right"


@pytest.mark.task("dynamo-guarded")
@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        ({"x", "use_scale", "scale", "table"}, "table: does this call read it"),
        ({"x", "use_scale", "scale", "table[0]"}, "table[0]: does this call"),
        ({"x", "use_scale"}, "missing"),
        ({"x", "scale"}, "missing"),
        (set(), "missing"),
        ("x", "set of names"),
        (3, "set of names"),
    ],
)
def test_wrong_names_get_a_hint(answer: object, hint: str) -> None:
    check = checks.check_guarded(answer)
    assert check.state == "wrong"
    assert hint in str(check.message)


@pytest.mark.task("dynamo-negative")
@pytest.mark.parametrize("page", PAGES, ids=["en", "es"])
def test_the_worked_method_is_right(page: Path) -> None:
    assert checks.check_negative(worked(page)).state == "right"


TIMES = interpreter.OPERATORS["*"]


@pytest.mark.task("dynamo-negative")
@pytest.mark.parametrize(
    ("method", "hint"),
    [
        (lambda self, _: self.stack.append(-self.stack.pop()), "On a tensor it raises"),
        (lambda self, _: self.stack.append(self.apply(TIMES, self.stack[-1], -1)), "nothing else"),
        (lambda self, _: self.stack.append(self.stack.pop()), "should hold -2"),
        (lambda self, _: self.stack.append(self._record("mul", self.stack.pop(), -1)), "hold -2"),
        (lambda self: None, "On a Python number it raises"),
        (lambda self, _: self.apply(TIMES, self.stack.pop(), -1), "should hold -2"),
        (3, "needs a method"),
    ],
)
def test_wrong_methods_get_a_hint(method: object, hint: str) -> None:
    check = checks.check_negative(method)
    assert check.state == "wrong"
    assert hint in str(check.message)


@pytest.mark.task("dynamo-negative")
def test_a_method_that_is_right_on_numbers_and_wrong_on_tensors_is_caught() -> None:
    def doubling(self, _):
        value = self.stack.pop()
        self.stack.append(self.apply(TIMES, value, -2) if not isinstance(value, int) else -value)

    check = checks.check_negative(doubling)
    assert check.state == "wrong"
    assert "isn't eager mode's" in str(check.message)


def test_without_an_answer_every_check_is_open() -> None:
    answers = (checks.check_versions(...), checks.check_guarded(...), checks.check_negative(...))
    assert {check.state for check in answers} == {"open"}
    assert checks.check_negative(lambda self, operand: ...).state == "open"
