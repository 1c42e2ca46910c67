"""Record, call by call, when a compiled function compiles again, and which guard made it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import CodeType, MethodType
from typing import Any

import torch

# Private, checked on torch 2.13: Dynamo appends a reason for each entry whose guards it
# tried before it compiles again. Nothing public keeps them; TORCH_LOGS=recompiles only prints.
from torch._dynamo.utils import guard_failures

from fuseshard.compiler.dynamo.fresh import fresh
from fuseshard.compiler.recompiles.reasons import failure
from fuseshard.compiler.recompiles.records import Call, Graph, GuardFailure, History, State
from fuseshard.compiler.recompiles.symbols import graph_record
from fuseshard.compiler.text import clean


class Recorder:
    """A compiled function that remembers what each of its calls did.

    The backend runs graphs as they are ("eager"): whether to compile is Dynamo's decision, and
    the backend has no part in it. What is compiled is a fresh copy: otherwise a second recording
    of the same function would start with the sizes that Dynamo saw change in the first one.

    Source:
        torch/_dynamo/guards.py. Checked on torch 2.13.
    """

    def __init__(self, fn: Callable[..., Any], **options: Any) -> None:
        """Compile a copy of a function.

        Args:
            fn: function or bound method.
            options: torch.compile's, e.g. dynamic and recompile_limit; not the backend.
        """
        self._function = getattr(fn, "__name__", type(fn).__name__)
        self._fn = _private(fn)
        self._graphs: list[Graph] = []
        self._ran: list[int] = []
        self._calls: list[Call] = []
        self._compiled = torch.compile(self._fn, backend=self._keep, **options)

    def __call__(self, *args: Any) -> Any:
        """Call the compiled function, and record the call."""
        return self.record(args)

    def record(self, args: Sequence[Any], label: str | None = None) -> Any:
        """Call the compiled function, and record the call under a label of one's own.

        Args:
            args: arguments of the function.
            label: short text of what is special about this call; None makes it from `args`.

        Returns:
            What the function returned. If it raised, nothing is recorded.
        """
        before = len(self._graphs)
        self._ran.clear()
        with listening() as (reasons, logged):
            result = self._compiled(*args)
        failures = tuple(failure(reason) for reason in reasons)
        compiled = tuple(range(before, len(self._graphs)))
        self._calls.append(
            Call(
                index=len(self._calls),
                inputs=describe(args) if label is None else label,
                state=_state(compiled, tuple(self._ran), failures),
                failures=failures,
                compiled=compiled,
                ran=tuple(self._ran),
                graphs_so_far=len(self._graphs),
                warning=self._own("\n".join(logged)) or None,
            )
        )
        return result

    @property
    def history(self) -> History:
        """Everything recorded so far."""
        return History(
            function=self._function, calls=tuple(self._calls), graphs=tuple(self._graphs)
        )

    def _keep(self, graph: torch.fx.GraphModule, inputs: list[Any]) -> Callable[..., Any]:
        """Be the backend: note that a graph was compiled, and each time that it runs."""
        index = len(self._graphs)
        self._graphs.append(graph_record(index, graph))

        def run(*args: Any) -> Any:
            self._ran.append(index)
            return graph.forward(*args)

        return run

    def _own(self, text: str) -> str:
        """Give the function its own name back."""
        return clean(text.replace(_code_of(self._fn).co_name, self._function))


def describe(args: Sequence[Any]) -> str:
    """Write arguments as short as a tick on an axis: sizes, and what isn't float32.

    Args:
        args: arguments of a call; modules and functions are left out.
    """
    return ", ".join(text for text in map(_describe_one, args) if text)


def _describe_one(arg: Any) -> str:
    if isinstance(arg, torch.Tensor):
        sizes = "×".join(map(str, arg.shape)) or "()"
        dtype = "" if arg.dtype == torch.float32 else f" {str(arg.dtype).removeprefix('torch.')}"
        return sizes + dtype
    if isinstance(arg, list | tuple):
        return str(len(arg))
    if isinstance(arg, torch.nn.Module) or callable(arg):
        return ""
    return str(arg)


def _state(
    compiled: tuple[int, ...], ran: tuple[int, ...], failures: tuple[GuardFailure, ...]
) -> State:
    if compiled:
        return "recompile" if failures else "compile"
    return "hit" if ran else "eager"


@contextmanager
def listening() -> Iterator[tuple[list[str], list[str]]]:
    """Collect the reasons that Dynamo gives, and what it would have logged to stderr.

    Yields:
        Two lists that fill up: reasons, once the block has ended, and messages of the log.
    """
    # Codes that are equal share a list, so what is new is known by its place in the list.
    before = {code: len(reasons) for code, reasons in guard_failures.items()}
    reasons: list[str] = []
    log = _Log()
    handlers = [h for name in ("torch", "torch._dynamo") for h in logging.getLogger(name).handlers]
    for handler in handlers:
        handler.addFilter(log)
    try:
        yield reasons, log.messages
    finally:
        for handler in handlers:
            handler.removeFilter(log)
        for code, known in guard_failures.items():
            reasons += known[before.get(code, 0) :]


class _Log(logging.Filter):
    """Keep what torch logs, and let nothing through."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def filter(self, record: logging.LogRecord) -> bool:
        self.messages.append(record.getMessage())
        return False


def _private(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Copy a function or a bound method so that Dynamo knows nothing of it."""
    if isinstance(fn, MethodType):
        return MethodType(fresh(fn.__func__), fn.__self__)
    return fresh(fn)


def _code_of(fn: Callable[..., Any]) -> CodeType:
    function: Any = fn.__func__ if isinstance(fn, MethodType) else fn
    return function.__code__
