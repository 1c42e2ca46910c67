"""Call a compiled function, change one thing, call it again: new version, reused, or wrong?"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

# Private, checked on torch 2.11 and 2.13: what torch notes about each compilation.
from torch._dynamo.utils import get_compilation_metrics

from fuseshard.compiler.dynamo.fresh import fresh
from fuseshard.compiler.dynamo.records import Call, Trial
from fuseshard.compiler.text import clean

_REASON = re.compile(r"^\d+/\d+: (?P<guard>.*?)(?:\s+# .*)?$", re.MULTILINE)
_STATEMENT = re.compile(
    r"^ +(?P<left>\w+)(?P<type>: \"[^\"]*\")? = (?P<right>[^;\n]*)", re.MULTILINE
)


@dataclass(frozen=True, kw_only=True)
class Change:
    """A function, and what is passed or set before each of its calls."""

    name: str
    """lower-case words joined by hyphens"""
    fn: Callable[..., torch.Tensor]
    code: str
    """the expression that `fn` computes, as a reader would write it"""
    calls: Sequence[tuple[str, Callable[[], tuple[Any, ...]]]]
    """what changes, as Python, and a function that changes it and returns the arguments"""
    shown: str = "mul"
    """beginning of the variable in the graph that shows what became of it"""


def trial(change: Change) -> Trial:
    """Make the calls of one experiment, compiled and eager, and compare.

    Args:
        change: what to call; a copy of its function is compiled, with no backend.

    Returns:
        For each call whether Dynamo compiled anew and why, and whether the result was right.

    Raises:
        ValueError: the first call compiled nothing, so there is nothing to reuse.
    """
    graphs: list[str] = []

    def backend(graph: torch.fx.GraphModule, _: list[torch.Tensor]) -> Callable[..., Any]:
        graphs.append(clean(graph.print_readable(print_output=False)))
        return graph.forward

    compiled = torch.compile(fresh(change.fn), backend=backend)
    calls = []
    for state, arguments in change.calls:
        values = arguments()
        before = len(graphs)
        result = compiled(*values)
        is_new = len(graphs) > before
        if not graphs:
            raise ValueError(
                f"trial: {change.name} compiled no graph in its first call, must compile one (else "
                "nothing can be reused); let fn compute with its tensors."
            )
        calls.append(
            Call(
                state=state,
                outcome="compiled" if is_new else "reused",
                failed=_failed_guard() if is_new and before else "",
                graph=_statement(graphs[-1], change.shown) if is_new else "",
                is_right=_is_same(result, change.fn(*values)),
            )
        )
    return Trial(name=change.name, code=change.code, calls=tuple(calls))


def _failed_guard() -> str:
    """Return the guard whose failure led to the last compilation."""
    found = _REASON.search(clean(get_compilation_metrics()[-1].recompile_reason or ""))
    return found["guard"].strip() if found else ""


def _statement(graph: str, beginning: str) -> str:
    """Find the assignment to a variable of the graph, without the clean-up behind it."""
    for found in _STATEMENT.finditer(graph):
        if found["left"].startswith(beginning):
            return f"{found['left']}{found['type'] or ''} = {found['right']}".strip()
    raise ValueError(f"trial: no assignment to {beginning}... in {graph!r}; correct `shown`.")


def _is_same(result: torch.Tensor, expected: torch.Tensor) -> bool:
    """Compare values and signs; the sign of zero is part of a result."""
    return torch.equal(result, expected) and torch.equal(result.signbit(), expected.signbit())
