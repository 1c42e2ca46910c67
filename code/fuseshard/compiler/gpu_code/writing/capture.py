"""Inductor run up to its text: every graph that it gets, and the module that it writes for it."""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import torch

# Private, checked on torch 2.11 and 2.13. `torch.compiler` has no way to stop before the code is
# loaded, nor to get a graph's text; once it has, this file should shrink to calls of it.
import torch._dynamo
from torch._functorch import config as autograd_config
from torch._inductor import config
from torch._inductor.compile_fx import compile_fx, compile_fx_inner
from torch._inductor.graph import GraphLowering

from fuseshard.compiler.gpu_code.records import Candidates, Phase
from fuseshard.compiler.gpu_code.writing.candidates import Chooser, choosing
from fuseshard.compiler.text import clean

SETTINGS: dict[str, Any] = {
    # A graph found in a cache isn't written anew, so its text would be missing.
    "fx_graph_cache": False,
    "fx_graph_remote_cache": False,
    # Worker processes would know nothing of the described GPU.
    "compile_threads": 1,
    # Whether to pad a matrix product to an even shape is decided by a clock on a real card.
    "shape_padding": False,
}
"""of torch._inductor.config, while code is written"""
_COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
_ADDRESS = re.compile(r"^(\w+ = None  # device.*?) [0-9a-f]+$", re.MULTILINE)
_COUNTER = re.compile(r"(?<=AOT ID: \[')\d+")


@dataclass(kw_only=True)
class Written:
    """A graph that Inductor compiled, as text."""

    phase: Phase
    aten: str
    post_grad: str
    wrapper: str
    inputs: tuple[str, ...]
    examples: tuple[object, ...]
    """what it was compiled for: fake tensors and sizes"""
    outputs: tuple[str | None, ...]
    candidates: tuple[Candidates, ...]
    constants: dict[str, torch.Tensor]
    """tensors that stand in the program, by name; real ones, as a rule"""
    passed: list[int | None]
    """ids of what the program passed in; filled in when it runs"""


@dataclass
class Log:
    """What was written for a program so far."""

    chooser: Chooser
    graphs: list[Written] = field(default_factory=list)
    module: str = ""
    """text of the latest wrapper"""
    constants: dict[str, torch.Tensor] = field(default_factory=dict)
    """of the latest wrapper"""


def backend(log: Log, patches: Mapping[str, Any]) -> Callable[..., Any]:
    """Make a backend for torch.compile that writes with Inductor and runs without it.

    Args:
        log: gets the graphs of each phase in order.
        patches: a mode's settings for torch._inductor.config.
    """

    def write(module: torch.fx.GraphModule, inputs: Any) -> Callable[..., Any]:
        first = len(log.graphs)
        inner = _inner_compile(log)
        compile_fx(module, inputs, inner_compile=inner, config_patches=dict(patches))
        written = log.graphs[first:]

        def run(*arguments: Any) -> Any:
            _note_arguments(written, arguments)
            return module.forward(*arguments)

        return run

    return write


@contextmanager
def hooks(log: Log) -> Iterator[None]:
    """Keep each module that Inductor writes while the block runs, and load none."""
    with ExitStack() as stack:
        torch._dynamo.reset()  # or a program written before would be found compiled
        stack.callback(torch._dynamo.reset)
        stack.enter_context(config.patch(SETTINGS))
        # Otherwise the backward graph is compiled at the first backward pass, which nobody runs.
        lowering = {"force_non_lazy_backward_lowering": True, "enable_autograd_cache": False}
        stack.enter_context(autograd_config.patch(lowering))
        stack.enter_context(choosing(log.chooser))
        stack.enter_context(_nothing_loaded(log))
        yield


@contextmanager
def quiet() -> Iterator[None]:
    """Drop torch's remarks while the block runs; what goes wrong is raised as well.

    They speak of a card (no cuDNN benchmark, no TensorFloat32), or repeat an error with its trace.
    """
    before = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def _inner_compile(log: Log) -> Callable[..., Any]:
    """Make what AOTAutograd calls with each of its graphs."""

    def compile_one(graph: torch.fx.GraphModule, inputs: Any, **keywords: Any) -> Any:
        aten = _readable(graph)
        nodes = graph.graph.nodes
        names = tuple(node.name for node in nodes if node.op == "placeholder")
        outputs = _outputs(graph)
        log.module = ""
        made: Any = compile_fx_inner(graph, inputs, **keywords)
        if log.module:  # nothing is written for a graph without operators
            written = Written(
                phase=_phase(keywords),
                aten=aten,
                post_grad=clean(made.inductor_post_grad_graph_str),
                wrapper=repeatable(log.module),
                inputs=names,
                examples=tuple(inputs),
                outputs=outputs,
                candidates=log.chooser.taken(),
                constants=log.constants,
                passed=[None] * len(names),
            )
            log.graphs.append(written)
        return made

    return compile_one


@contextmanager
def _nothing_loaded(log: Log) -> Iterator[None]:
    """Have Inductor hand over the text of its module instead of loading it.

    Loading compiles every kernel down to a binary and asks CUDA to take it, which needs a card.
    """

    def keep(lowering: Any) -> Any:
        code, _ = lowering.codegen()
        log.module = code.value
        log.constants = dict(lowering.constants)
        runner = SimpleNamespace(call=_never, partitions=[], recursively_apply_fns=_leave)
        return SimpleNamespace(call=_never, runner=runner, __file__=None)

    before = GraphLowering.compile_to_module
    GraphLowering.compile_to_module = keep  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        GraphLowering.compile_to_module = before  # type: ignore[method-assign]


def repeatable(wrapper: str) -> str:
    """Strip from a wrapper's comments what differs between two runs of the same program.

    Its code stays as Inductor wrote it. (The first line counts the graphs of this process,
    constants are told by their addresses, and places in source files by paths.)
    """
    wrapper = _COUNTER.sub("0", wrapper, count=1)
    wrapper = _ADDRESS.sub(r"\1", wrapper)
    return _COMMENT.sub(lambda comment: clean(comment[0]), wrapper)


def _note_arguments(written: list[Written], arguments: tuple[Any, ...]) -> None:
    """Remember which tensors a Dynamo graph was first run on. Backward graphs get none of them."""
    for graph in written:
        is_first = not any(graph.passed)
        # AOTAutograd may merge arguments that are views of one tensor: then places don't agree.
        if is_first and graph.phase != "backward" and len(graph.inputs) == len(arguments):
            graph.passed = [id(argument) for argument in arguments]


def _phase(keywords: Mapping[str, Any]) -> Phase:
    if keywords.get("is_backward"):
        return "backward"
    return "inference" if keywords.get("is_inference") else "forward"


def _readable(graph: torch.fx.GraphModule) -> str:
    """Print a graph as Python with shapes, strides and devices."""
    text = graph.print_readable(print_output=False, include_stride=True, include_device=True)
    return clean(text)


def _outputs(graph: torch.fx.GraphModule) -> tuple[str | None, ...]:
    (results,) = (node.args[0] for node in graph.graph.nodes if node.op == "output")
    return tuple(getattr(result, "name", None) for result in results)


def _never(*_: object) -> None:
    raise AssertionError("code for a GPU that isn't there was called")


def _leave(_: object) -> None:
    """Wrap no part of a module that isn't loaded, as a CUDA graph would."""
