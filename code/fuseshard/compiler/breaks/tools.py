"""Ten ways to deal with one print between two operations, each tried on the same function."""

# ruff: noqa: T201 - print is what the tools are about

import functools
import io
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from typing import Any

import torch

# Private: config.patch; and nonstrict_trace and error_on_graph_break, which torch documents for
# users under this name, with no public one beside it. Checked on torch 2.13.
import torch._dynamo

from fuseshard.compiler.breaks.exhibit import numbers
from fuseshard.compiler.breaks.observe import observe
from fuseshard.compiler.breaks.records import ToolTrial
from fuseshard.compiler.isolate import isolated

CALLS = 2
"""of the compiled function: some tools let the first call print, but no other"""


def talkative(x: torch.Tensor) -> torch.Tensor:
    """Print a value between two operations."""
    y = x + 1
    print("mean", y.mean())
    return y * 2


def report(y: torch.Tensor) -> torch.Tensor:
    """Print a value and return a copy of the argument."""
    print("mean", y.mean())
    return y.clone()


def only_eager(x: torch.Tensor) -> torch.Tensor:
    """Print where nothing is compiled."""
    y = x + 1
    if not torch.compiler.is_compiling():
        print("mean", y.mean())
    return y * 2


def strict(x: torch.Tensor) -> torch.Tensor:
    """Forbid breaks in one part of the function."""
    y = x + 1
    with torch._dynamo.error_on_graph_break(True):
        print("mean", y.mean())
    return y * 2


def doomed(x: torch.Tensor) -> torch.Tensor:
    """Print a value, then fail on it."""
    y = x + 1
    print("mean", y.mean())
    assert (y < 0).all(), "all values must be negative"
    return y * 2


def last_words(**settings: Any) -> str:
    """Return what `doomed` prints when it is compiled, up to its assertion.

    Args:
        **settings: options of torch._dynamo.config.

    Raises:
        RuntimeError: the assertion held.
    """
    compiled = torch.compile(isolated(doomed), backend="aot_eager")
    out = io.StringIO()
    with torch._dynamo.config.patch(**settings), redirect_stdout(out):
        try:
            compiled(*numbers())
        except (AssertionError, RuntimeError) as error:
            if "all values must be negative" in str(error):
                return out.getvalue()
            raise
    raise RuntimeError("last_words: got a result, must fail on the assertion; correct the input.")


def calling(reporter: Callable[[torch.Tensor], Any]) -> Callable[[torch.Tensor], torch.Tensor]:
    """Make the function that leaves the printing to another one.

    Args:
        reporter: takes the value; what it returns, if anything, is used.
    """

    def talkative(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        told = reporter(y)
        y = y if told is None else told
        return y * 2

    return talkative


@functools.cache
def operator(*, returns: bool) -> Callable[[torch.Tensor], Any]:
    """Make an operator of one's own that prints.

    Args:
        returns: whether it has a result, so that the graph has a use for it.
    """
    if returns:
        valued = torch.library.custom_op("fuseshard::report", report, mutates_args=())
        valued.register_fake(torch.empty_like)
        return valued

    def silent(y: torch.Tensor) -> None:
        print("mean", y.mean())

    resultless = torch.library.custom_op("fuseshard::report_only", silent, mutates_args=())
    resultless.register_fake(lambda y: None)
    return resultless


@functools.cache
def _disabled_report() -> Callable[[torch.Tensor], Any]:
    return torch.compiler.disable(report, reason="prints")


@functools.cache
def _traced_report() -> Callable[[torch.Tensor], Any]:
    return torch._dynamo.nonstrict_trace(report)


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A way to deal with the print."""

    name: str
    """as code"""
    make: Callable[[], Callable[[torch.Tensor], torch.Tensor]] = lambda: talkative
    fullgraph: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)


TOOLS = (
    Tool(name="torch.compile(fn)"),
    Tool(name="fullgraph=True", fullgraph=True),
    Tool(name="with torch._dynamo.error_on_graph_break(True):", make=lambda: strict),
    Tool(name="if not torch.compiler.is_compiling():", make=lambda: only_eager),
    Tool(
        name="config.reorderable_logging_functions",
        settings={"reorderable_logging_functions": {print}},
    ),
    Tool(name="config.ignore_logging_functions", settings={"ignore_logging_functions": {print}}),
    Tool(name="@torch.compiler.disable", make=lambda: calling(_disabled_report())),
    Tool(name="@torch._dynamo.nonstrict_trace", make=lambda: calling(_traced_report())),
    Tool(name="@torch.library.custom_op -> None", make=lambda: calling(operator(returns=False))),
    Tool(name="@torch.library.custom_op -> Tensor", make=lambda: calling(operator(returns=True))),
)


def try_tools() -> tuple[ToolTrial, ...]:
    """Put each tool on the function, and call the compiled result twice.

    The backend is aot_eager, because some tools behave otherwise where AOTAutograd doesn't trace.
    """
    return tuple(
        ToolTrial(
            tool=tool.name,
            trial=observe(
                tool.make(),
                numbers,
                fullgraph=tool.fullgraph,
                calls=CALLS,
                settings=tool.settings,
                backend="aot_eager",
            ),
        )
        for tool in TOOLS
    )
