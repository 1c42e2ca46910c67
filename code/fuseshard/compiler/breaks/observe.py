"""Run a function under torch.compile and note graphs, breaks and results, disturbing nobody."""

import io
import logging
import random
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from types import CodeType
from typing import Any, Literal

import torch

# Private: config.patch sets Dynamo's options for a while, pytree walks nested results, and
# lookup_backend finds a backend by its name. Checked on torch 2.11 and 2.13.
import torch._dynamo
import torch.utils._pytree
from torch._dynamo.backends.registry import lookup_backend

from fuseshard.compiler.breaks.messages import logged_break, raised_break
from fuseshard.compiler.breaks.records import Break, Trial
from fuseshard.compiler.dynamo.fresh import fresh

LOG = "torch._dynamo.symbolic_convert.__graph_breaks"
"""the logger that TORCH_LOGS=graph_breaks switches on; checked on torch 2.13"""

DYNAMO_LOG = "torch._dynamo"

Backend = Literal["eager", "aot_eager"]

Make = Callable[[], tuple[Any, ...]]
"""makes the arguments of one run"""


@dataclass
class _Run:
    """What happened to one compiled function so far."""

    compiled: Callable[..., Any]
    code: CodeType
    counted: list[int]
    """operations of each graph captured so far"""
    result: Any = None
    graphs: list[int] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)
    error: Break | None = None

    def call(self, args: tuple[Any, ...]) -> None:
        """Call the compiled function once."""
        before, out = len(self.counted), io.StringIO()
        try:
            with redirect_stdout(out):
                self.result = self.compiled(*args)
        except RuntimeError as raised:  # which all of Dynamo's errors are
            self.error = raised_break(raised, self.code)
        self.graphs.append(len(self.counted) - before)
        self.printed.append(out.getvalue())


def observe(
    fn: Callable[..., Any],
    make_args: Make,
    *,
    fullgraph: bool = False,
    calls: int = 1,
    settings: Mapping[str, Any] | None = None,
    reference: Callable[..., Any] | None = None,
    backend: Backend = "eager",
) -> Trial:
    """Compile a function with a backend that counts, call it, and compare with eager mode.

    A copy is compiled about which Dynamo remembers nothing. What it prints, and what Dynamo logs
    and warns of, is caught.

    Args:
        fn: what to compile.
        make_args: makes its arguments, once for each run, so that runs share no state.
        fullgraph: as in torch.compile.
        calls: how often the compiled function is called, each time with the same arguments.
        settings: options of torch._dynamo.config during the compiled run.
        reference: whose eager result counts; by default that of `fn` itself.
        backend: what runs the graphs; "aot_eager" has AOTAutograd trace them once more.

    Returns:
        Graphs, breaks, error, and whether the first call did what eager mode does.
    """
    expected = _eager(reference or fn, make_args)
    run = _compiled(fn, backend, fullgraph=fullgraph)
    with _caught_breaks() as messages, torch._dynamo.config.patch(**settings or {}):
        args = _seeded(make_args)
        run.call(args)
        breaks = tuple(logged_break(text, run.code) for text in messages)
        operations = tuple(run.counted)
        is_same = run.error is None and _is_equal(_leaves((run.result, args)), expected)
        while len(run.graphs) < calls and run.error is None:
            run.call(args)
    return Trial(
        graphs=tuple(run.graphs),
        operations=operations,
        breaks=breaks,
        error=run.error,
        is_same=is_same,
        printed=tuple(run.printed),
    )


def _compiled(fn: Callable[..., Any], backend: Backend, *, fullgraph: bool) -> _Run:
    """Compile a private copy of a function, counting the operations of its graphs."""
    counted: list[int] = []
    run_graph = lookup_backend(backend)

    def count(graph: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> Callable[..., Any]:
        counted.append(sum(node.op.startswith("call") for node in graph.graph.nodes))
        return run_graph(graph, inputs)

    copy = fresh(fn)
    compiled = torch.compile(copy, backend=count, fullgraph=fullgraph)
    return _Run(compiled=compiled, code=copy.__code__, counted=counted)


class _Catcher(logging.Handler):
    """Keeps log messages in a list."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


@contextmanager
def _caught_breaks() -> Iterator[list[str]]:
    """Collect the messages on graph breaks; hold back what Dynamo would write to stderr."""
    catcher, log, dynamo = _Catcher(), logging.getLogger(LOG), logging.getLogger(DYNAMO_LOG)
    levels, propagate = (log.level, dynamo.level), log.propagate
    log.setLevel(logging.DEBUG)
    dynamo.setLevel(logging.ERROR)
    log.propagate = False
    log.addHandler(catcher)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield catcher.messages
    finally:
        log.removeHandler(catcher)
        log.propagate = propagate
        log.setLevel(levels[0])
        dynamo.setLevel(levels[1])


def _eager(fn: Callable[..., Any], make_args: Make) -> list[Any]:
    """Call a function in eager mode and return what it left: results and changed arguments."""
    args = _seeded(make_args)
    with redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = fn(*args)
    return _leaves((result, args))


def _seeded(make_args: Make) -> tuple[Any, ...]:
    """Make arguments, and start torch's and Python's random numbers anew."""
    torch.manual_seed(0)
    random.seed(0)
    return make_args()


def _leaves(value: Any) -> list[Any]:
    """List the tensors, numbers and texts in nested results."""
    leaves = torch.utils._pytree.tree_leaves(value)
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor | int | float | str)]


def _is_equal(left: list[Any], right: list[Any]) -> bool:
    """Compare leaf by leaf, tensors bit for bit."""
    return len(left) == len(right) and all(map(_is_leaf_equal, left, right))


def _is_leaf_equal(left: Any, right: Any) -> bool:
    if isinstance(left, torch.Tensor) and isinstance(right, torch.Tensor):
        return left.dtype == right.dtype and torch.equal(left, right)
    return type(left) is type(right) and bool(left == right)
