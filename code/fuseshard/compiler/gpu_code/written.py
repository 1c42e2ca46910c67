"""What Inductor writes for a GPU that isn't there: graphs, wrappers, kernels and their launches.

This module imports Inductor, so a process for AMD calls `described.describe.load_inductor` first.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import Any

import torch

# Private, checked on torch 2.11 and 2.13: Dynamo's reasons, Inductor's modes, and tensors that
# have a shape and no numbers.
import torch._dynamo.utils
import torch._inductor
from torch._guards import detect_fake_mode
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode, unset_fake_temporarily

from fuseshard.compiler.described.targets import Target
from fuseshard.compiler.gpu_code.launches import steps
from fuseshard.compiler.gpu_code.records import Constant, GpuGraph
from fuseshard.compiler.gpu_code.sources import kernel_sources
from fuseshard.compiler.gpu_code.writing import errors
from fuseshard.compiler.gpu_code.writing.candidates import Chooser
from fuseshard.compiler.gpu_code.writing.capture import Log, Written, backend, hooks, quiet
from fuseshard.compiler.gpu_code.writing.errors import UnsupportedProgramError
from fuseshard.compiler.isolate import isolated
from fuseshard.compiler.text import clean

AUTOCAST = ("bfloat16", "float16")
"""types that torch.autocast computes in on a GPU"""


@dataclass(frozen=True, kw_only=True)
class WriteOptions:
    """How a program is to be compiled; checked when it is made."""

    backward: bool = False
    """also write the backward graphs; without it the program runs under torch.no_grad"""
    dynamic: bool = False
    """sizes become variables, as with torch.compile(dynamic=True); otherwise all are fixed"""
    autocast: str | None = None
    """one of `AUTOCAST`; None computes in the types that the program names"""
    mode: str | None = None
    """of torch.compile"""
    choose: str | None = None
    """name of a max-autotune candidate; None, and where it isn't offered, is the library call"""

    def __post_init__(self) -> None:
        """Refuse what torch.compile or torch.autocast doesn't know."""
        if self.autocast not in (None, *AUTOCAST):
            raise UnsupportedProgramError(
                f"WriteOptions: autocast is {self.autocast!r}, must be one of {AUTOCAST} or None "
                "(the types in which tensor cores compute); leave it out for float32."
            )
        known = list(torch._inductor.list_mode_options())
        if self.mode not in (None, *known):
            raise UnsupportedProgramError(
                f"WriteOptions: mode is {self.mode!r}, must be one of {known} or None "
                "(the modes of torch.compile)."
            )


def write(
    fn: Callable[..., Any],
    args: Sequence[Any],
    target: Target,
    *,
    options: WriteOptions,
    numbers: Mapping[int, int],
) -> tuple[GpuGraph, ...]:
    """Have Inductor write a program for a GPU that isn't there, and load nothing of it.

    To be called inside `described_gpu(target)`, in a process that does nothing else: what is
    described holds for the whole of it.

    Args:
        fn: function or module; its parameters are fake CUDA tensors.
        args: its arguments, tensors among them fake CUDA tensors of the same FakeTensorMode.
        target: the GPU that is described.
        options: how to compile.
        numbers: id of a fake tensor -> number of the caller's tensor that it stands for.

    Returns:
        A graph for each phase of each part that Dynamo captured, forward before backward.

    Raises:
        ValueError: another GPU is described, or none.
        UnsupportedProgramError: the program needs a tensor's numbers, has no graph, is compiled
            already, doesn't compile, or has no backward pass or no candidate that was asked for.
    """
    _require_described(target)
    fake_mode = _fake_mode(args)
    torch._dynamo.utils.counters.clear()  # reasons of programs written before
    log = Log(Chooser(options.choose))
    with quiet():
        try:
            with hooks(log):
                _run(fn, args, fake_mode=fake_mode, options=options, log=log)
            graphs = tuple(_graph(written, fake_mode, numbers) for written in log.graphs)
        except UnsupportedProgramError:
            raise
        except Exception as error:
            count = len(log.graphs)
            reasons = _reasons()
            raise errors.explained(fn, error, graph_count=count, reasons=reasons) from error
    _require_all(fn, log, options)
    return graphs


def _run(
    fn: Callable[..., Any],
    args: Sequence[Any],
    *,
    fake_mode: FakeTensorMode,
    options: WriteOptions,
    log: Log,
) -> None:
    """Run a program once on fake tensors, so that each of its graphs is compiled."""
    modes = torch._inductor.list_mode_options(options.mode, options.dynamic) if options.mode else {}
    compiled = torch.compile(_uncompiled(fn), backend=backend(log, modes), dynamic=options.dynamic)
    with ExitStack() as stack:
        stack.enter_context(fake_mode)
        stack.enter_context(torch.enable_grad() if options.backward else torch.no_grad())
        stack.enter_context(_autocast(options))
        compiled(*args)


def _uncompiled(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Refuse what is compiled already, and copy a function so that its cache starts empty."""
    try:
        alone = isolated(fn)
    except ValueError as error:
        raise errors.already_compiled(fn) from error
    # A function around a module would give other names to sizes than torch.compile(module) does.
    return fn if isinstance(fn, torch.nn.Module) else alone


def _autocast(options: WriteOptions) -> AbstractContextManager[Any]:
    if options.autocast is None:
        return contextlib.nullcontext()
    return torch.autocast("cuda", dtype=getattr(torch, options.autocast))


def _graph(written: Written, fake_mode: FakeTensorMode, numbers: Mapping[int, int]) -> GpuGraph:
    """Add to what Inductor wrote what can be worked out from the text."""
    kernels = kernel_sources(written.wrapper, written.phase)
    return GpuGraph(
        phase=written.phase,
        aten=written.aten,
        post_grad=written.post_grad,
        wrapper=written.wrapper,
        kernels=kernels,
        steps=steps(
            written.wrapper,
            kernels,
            written.examples,
            fake_mode=fake_mode,
            constants=written.constants,
        ),
        inputs=written.inputs,
        outputs=written.outputs,
        input_tensors=tuple(
            None if passed is None else numbers.get(passed) for passed in written.passed
        ),
        candidates=written.candidates,
        constants=_constants(written),
    )


def _constants(written: Written) -> tuple[Constant, ...]:
    with unset_fake_temporarily():  # or reading a real tensor would be refused
        return tuple(
            Constant(
                name=name,
                dtype=str(tensor.dtype).removeprefix("torch."),
                size=tuple(tensor.shape),
                stride=tensor.stride(),
                numbers=tuple(tensor.flatten().tolist()),
            )
            for name, tensor in written.constants.items()
            if not isinstance(tensor, FakeTensor)  # one without numbers can't travel
        )


def _require_described(target: Target) -> None:
    name = torch.cuda.get_device_name(0) if torch.cuda.is_available() else None
    if name != target.name:
        raise ValueError(
            f"write: the GPU of this process is {name}, must be {target.name} (Inductor writes "
            "for the GPU that it finds); call write inside described_gpu(target)."
        )


def _fake_mode(args: Sequence[Any]) -> FakeTensorMode:
    """Find the mode that made the arguments, or the active one where no argument is a tensor."""
    mode = detect_fake_mode(args)
    if mode is None:
        raise ValueError(
            "write: got arguments without a fake tensor and no active FakeTensorMode, must have "
            "either (a real tensor can't be on a GPU that isn't there); make the arguments under "
            "a FakeTensorMode."
        )
    return mode


def _require_all(fn: Callable[..., Any], log: Log, options: WriteOptions) -> None:
    """Refuse to return less than was asked for."""
    if not log.graphs:
        raise errors.no_graph(fn, _reasons())
    if options.backward and all(graph.phase != "backward" for graph in log.graphs):
        raise errors.no_gradient(fn)
    log.chooser.require_wanted()


def _reasons() -> tuple[str, ...]:
    """List Dynamo's reasons for what it left to eager mode.

    It counts a part that it couldn't trace in one place, and in another where it went on after it.
    An error that the program raises itself is no such part.
    """
    counts = torch._dynamo.utils.counters
    reasons = [*counts["graph_break"], *counts["unimplemented"]]
    return tuple(clean(r) for r in reasons if not r.startswith("Observed exception"))
