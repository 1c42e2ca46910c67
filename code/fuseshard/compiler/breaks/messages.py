"""Dynamo's messages on graph breaks, taken apart: name, explanation, hints, place, sequel."""

import re
import textwrap
from types import CodeType

from fuseshard.compiler.breaks.records import Break, Ending
from fuseshard.compiler.text import clean

# The layout is that of torch._dynamo.exc.format_graph_break_message, private; checked on torch
# 2.13. Messages of another layout keep their first line as name and explanation.
_MESSAGE = re.compile(
    r"^(?P<kind>\S[^\n]*)\n"
    r"  Explanation: (?P<explanation>.*?)\n"
    r"(?P<hints>(?:  Hint: .*?)?)\n+"
    r"  Developer debug context:",
    re.DOTALL | re.MULTILINE,
)
_UNGUARDED = re.compile(r"Could not [\w ]+ data-dependent expression")
_LOGGED = re.compile(r"in user code at (?P<file>.*):(?P<line>\d+)\n")
_RAISED = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in ')
_ENDINGS: tuple[tuple[str, Ending], ...] = (
    ("Skipping the function and falling back to eager", "frame skipped"),
    ("then skipping the rest of the function", "rest skipped"),
)


def logged_break(message: str, code: CodeType) -> Break:
    """Read a message of the log that TORCH_LOGS=graph_breaks prints.

    Args:
        message: as the logger got it.
        code: of the function under observation, whose lines are counted from its first.
    """
    endings: list[Ending] = [ending for mark, ending in _ENDINGS if mark in message]
    place = _LOGGED.search(message)
    reason = message.partition("Graph Break Reason: ")[2] or message
    return _parse(reason, _line(place, code), next(iter(endings), "resumed"))


def raised_break(error: Exception, code: CodeType) -> Break:
    """Read what Dynamo raised instead of breaking the graph.

    Args:
        error: from torch.compile(fn, fullgraph=True), or from within error_on_graph_break.
        code: of the function under observation.
    """
    places = list(_RAISED.finditer(str(error)))
    own = [place for place in places if _line(place, code) is not None]
    return _parse(str(error), _line(own[-1], code) if own else None, None)


def _parse(text: str, line: int | None, ending: Ending | None) -> Break:
    found = list(_MESSAGE.finditer(text))
    if not found:
        unguarded = _UNGUARDED.search(text)
        first = clean(text.strip().splitlines()[0])
        kind = unguarded[0] if unguarded else first
        return Break(kind=kind, explanation=first, hints=(), aftermath="", line=line, ending=ending)
    first_found, *others = found
    hints = re.split(r"^  Hint: ", first_found["hints"], flags=re.MULTILINE)[1:]
    return Break(
        kind=first_found["kind"],
        explanation=_paragraph(first_found["explanation"]),
        hints=tuple(_paragraph(hint) for hint in hints),
        aftermath=others[0]["kind"] if others else "",
        line=line,
        ending=ending,
    )


def _paragraph(text: str) -> str:
    """Keep the first paragraph, in one line; later ones trace values through the graph."""
    lines = textwrap.dedent(" " * 4 + text).strip().split("\n\n", maxsplit=1)[0].splitlines()
    return clean(" ".join(line.strip() for line in lines))


def _line(place: re.Match[str] | None, code: CodeType) -> int | None:
    """Count a place's line from the function's first; None outside the function."""
    if place is None or place["file"] != code.co_filename:
        return None
    line = int(place["line"]) - code.co_firstlineno + 1
    last = max(_last_line(code) - code.co_firstlineno + 1, 1)
    return line if 1 <= line <= last else None


def _last_line(code: CodeType) -> int:
    """Find the last line of a function, functions inside it included."""
    inner = [item for item in code.co_consts if isinstance(item, CodeType)]
    own = [line for _, _, line in code.co_lines() if line is not None]
    return max([*own, *(_last_line(item) for item in inner)])
