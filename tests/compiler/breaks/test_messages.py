"""Dynamo's messages, taken apart. Oracle: messages as torch 2.13 writes them, and one made up."""

import pytest

from fuseshard.compiler.breaks.messages import logged_break, raised_break


def observed() -> None:
    first = 1
    second = first + 1
    assert second


CODE = observed.__code__
FILE, FIRST = CODE.co_filename, CODE.co_firstlineno
BODY = """\
Failed to trace builtin operator
  Explanation: Dynamo does not know how to trace `print`.

      A second paragraph with /home/someone/secret.py in it.

  Hint: Avoid it.
  Hint: Add it to `torch._dynamo.config.reorderable_logging_functions`, which is
    the setting for that.

  Developer debug context: builtin print

 For more details about this graph break, please visit: https://example.org/gb0059.html
"""
SECOND = """
*** While handling this graph break, another graph break occurred: ***

graph break in loop
  Explanation: Skipping the frame.
  Hint: Resolve the earlier one.

  Developer debug context: frame skipped
"""


def logged(prefix: str = "", suffix: str = "", line: int = 2, file: str = FILE) -> str:
    head = f"Graph break in user code at {file}:{FIRST + line - 1}\nGraph Break Reason: {prefix}"
    return f"{head}{BODY}{suffix}\nUser code traceback:\n  ..."


def test_a_logged_break_has_name_explanation_hints_and_line() -> None:
    found = logged_break(logged(), CODE)
    assert found.kind == "Failed to trace builtin operator"
    assert found.explanation == "Dynamo does not know how to trace `print`."
    assert found.hints[0] == "Avoid it."
    assert found.hints[1].endswith("which is the setting for that.")
    assert (found.line, found.ending, found.aftermath) == (2, "resumed", "")


def test_the_hint_that_names_something_of_torch_is_the_advice() -> None:
    assert logged_break(logged(), CODE).advice.startswith("Add it to `torch._dynamo.config")


@pytest.mark.parametrize(
    ("prefix", "ending"),
    [
        ("Encountered graph break when attempting to trace CALL:\n\n", "resumed"),
        ("... then skipping the rest of the function. Graph break:\n\n", "rest skipped"),
        ("Skipping the function and falling back to eager. Break:\n\n", "frame skipped"),
    ],
)
def test_the_ending_is_read_from_what_dynamo_says_before_the_message(
    prefix: str, ending: str
) -> None:
    found = logged_break(logged(prefix), CODE)
    assert (found.kind, found.ending) == ("Failed to trace builtin operator", ending)


def test_a_second_break_is_the_aftermath_of_the_first() -> None:
    found = logged_break(logged(suffix=SECOND), CODE)
    assert found.kind == "Failed to trace builtin operator"
    assert found.aftermath == "graph break in loop"


@pytest.mark.parametrize("changes", [{"file": "elsewhere.py"}, {"line": 50}, {"line": 0}])
def test_a_place_outside_the_function_has_no_line(changes: dict[str, object]) -> None:
    assert logged_break(logged(**changes), CODE).line is None


def test_an_error_is_placed_at_the_innermost_line_of_the_function() -> None:
    places = f'  File "{FILE}", line {FIRST + 1}, in observed\n  File "lib.py", line 3, in print\n'
    found = raised_break(RuntimeError(f"{BODY}\nfrom user code:\n{places}"), CODE)
    assert (found.kind, found.line, found.ending) == ("Failed to trace builtin operator", 2, None)


def test_a_guard_that_cannot_be_made_has_a_name_without_its_symbols() -> None:
    text = "Consider annotating your code. Could not guard on data-dependent expression Eq(u0, 1)"
    found = raised_break(RuntimeError(text), CODE)
    assert found.kind == "Could not guard on data-dependent expression"
    assert found.hints == ()


def test_a_message_of_another_layout_keeps_its_first_line() -> None:
    found = raised_break(RuntimeError("Something else\nwith details"), CODE)
    assert (found.kind, found.explanation, found.advice) == ("Something else",) * 2 + ("",)
