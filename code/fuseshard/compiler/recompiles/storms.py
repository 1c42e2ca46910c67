"""What makes a function compile again and again, and the cure of each, on the same twelve calls."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import MethodType
from typing import Any

import torch
from torch import nn

from fuseshard.compiler.recompiles import programs
from fuseshard.compiler.recompiles.recorder import Recorder
from fuseshard.compiler.recompiles.records import Cure, History
from fuseshard.compiler.recompiles.scenarios import rows

NUM_CALLS = 12
"""more than the limit of 8, so that a storm reaches it"""

Calls = Iterable[tuple[Any, ...]]


@dataclass(frozen=True)
class Storm:
    """A program and its calls, before and after the cure, each with what a reader sees of it."""

    before: Callable[[], tuple[Callable[..., Any], Calls]]
    after: Callable[[], tuple[Callable[..., Any], Calls]]
    programs: tuple[Callable[..., Any], Callable[..., Any]]
    """what `before` and `after` call, for the listing"""


def all_cures() -> dict[str, Cure]:
    """Run every storm before and after its cure, each function compiled afresh.

    Returns:
        What changes from call to call -> what happened.
    """
    return {name: cure_of(name) for name in STORMS}


def cure_of(name: str) -> Cure:
    """Run one storm before and after its cure.

    Args:
        name: one of STORMS.
    """
    storm = STORMS[name]
    return Cure(
        name=name,
        before=_run(*storm.before()),
        after=_run(*storm.after()),
        before_source=_listing(storm.programs[0], storm.before),
        after_source=_listing(
            None if storm.programs[0] is storm.programs[1] else storm.programs[1], storm.after
        ),
    )


def _run(fn: Callable[..., Any], calls: Calls) -> History:
    recorder = Recorder(fn)
    with torch.no_grad():
        for args in calls:
            recorder(*args)
    return recorder.history


def _listing(program: Callable[..., Any] | None, calls: Callable[..., Any]) -> str:
    """Show a program and how it is called, as they ran; None if it has been shown already."""
    return "\n\n".join(inspect.getsource(part) for part in (program, calls) if part is not None)


def module_int() -> tuple[Callable[..., Any], Calls]:
    """A step counter on the module, as a Python int."""
    counter = programs.CountsInPython()
    return counter.forward, [(rows(5),)] * NUM_CALLS


def module_int_cured() -> tuple[Callable[..., Any], Calls]:
    """The same counter as a tensor: its value is data, not a constant."""
    counter = programs.CountsInTensor()
    return counter.forward, [(rows(5),)] * NUM_CALLS


def layer_index() -> tuple[Callable[..., Any], Calls]:
    """Twelve layers of one class, each with its own Python int."""
    layers = [programs.KnowsItsIndex(index) for index in range(NUM_CALLS)]
    return programs.KnowsItsIndex.forward, [(layer, rows(5)) for layer in layers]


def layer_index_cured() -> tuple[Callable[..., Any], Calls]:
    """The number that the index stands for, as a buffer."""
    layers = [programs.KnowsItsScale(index) for index in range(NUM_CALLS)]
    return programs.KnowsItsScale.forward, [(layer, rows(5)) for layer in layers]


def global_step() -> tuple[Callable[..., Any], Calls]:
    """A global that changes between the calls."""

    def calls() -> Iterator[tuple[torch.Tensor]]:
        for step in range(2, 2 + NUM_CALLS):
            programs.SETTINGS.step = step
            yield (rows(5),)

    return programs.reads_a_global, calls()


def global_step_cured() -> tuple[Callable[..., Any], Calls]:
    """The step as an argument, which becomes a symbol when it changes."""
    return programs.takes_the_step, [(rows(5), step) for step in range(2, 2 + NUM_CALLS)]


def list_length() -> tuple[Callable[..., Any], Calls]:
    """A list that grows; tracing unrolls the loop over it."""
    lists = ([rows(5) for _ in range(count)] for count in range(2, 2 + NUM_CALLS))
    return programs.adds_a_list, [(tensors,) for tensors in lists]


def list_length_cured() -> tuple[Callable[..., Any], Calls]:
    """One stacked tensor, whose length becomes a symbol."""
    lists = ([rows(5) for _ in range(count)] for count in range(2, 2 + NUM_CALLS))
    return programs.adds_a_stack, [(torch.stack(tensors),) for tensors in lists]


def string() -> tuple[Callable[..., Any], Calls]:
    """The name of a task, looked up inside."""
    return programs.looks_up_inside, [(rows(5), task) for task in programs.SCALES]


def string_cured() -> tuple[Callable[..., Any], Calls]:
    """What the name stands for, looked up outside."""
    scales = [torch.tensor(scale) for scale in programs.SCALES.values()]
    return programs.takes_the_scale, [(rows(5), scale) for scale in scales]


def learning_rate() -> tuple[Callable[..., Any], Calls]:
    """A learning rate that is a Python float."""
    return decaying_sgd(lr=0.1)


def learning_rate_cured() -> tuple[Callable[..., Any], Calls]:
    """A learning rate that is a tensor."""
    return decaying_sgd(lr=torch.tensor(0.1))


def decaying_sgd(lr: float | torch.Tensor) -> tuple[Callable[..., Any], Calls]:
    """Steps of torch's SGD, with a rate that decays after each."""
    layer = nn.Linear(6, 6)
    optimizer = torch.optim.SGD(layer.parameters(), lr=lr)
    for parameter in layer.parameters():
        parameter.grad = torch.ones_like(parameter)

    def calls() -> Iterator[tuple[()]]:
        for _ in range(NUM_CALLS):
            yield ()
            optimizer.param_groups[0]["lr"] *= 0.9

    # Unwrapped, because torch puts code around `step` that Dynamo doesn't compile.
    return MethodType(inspect.unwrap(torch.optim.SGD.step), optimizer), calls()


def dtype() -> tuple[Callable[..., Any], Calls]:
    """Four dtypes in turn."""
    dtypes = (torch.float32, torch.float64, torch.float16, torch.bfloat16) * 3
    return programs.double, [(rows(5).to(kind),) for kind in dtypes]


def dtype_cured() -> tuple[Callable[..., Any], Calls]:
    """The same tensors, cast before the call."""
    dtypes = (torch.float32, torch.float64, torch.float16, torch.bfloat16) * 3
    return programs.double, [(rows(5).to(kind).float(),) for kind in dtypes]


def layout() -> tuple[Callable[..., Any], Calls]:
    """A matrix and a transposed one in turn: same shape, other strides."""
    tensors = [rows(6), rows(6).t()] * 6
    return programs.double, [(x,) for x in tensors]


def layout_cured() -> tuple[Callable[..., Any], Calls]:
    """The same tensors, made contiguous before the call."""
    tensors = [rows(6), rows(6).t()] * 6
    return programs.double, [(x.contiguous(),) for x in tensors]


STORMS = {
    "module-int": Storm(
        module_int, module_int_cured, (programs.CountsInPython, programs.CountsInTensor)
    ),
    "layer-index": Storm(
        layer_index, layer_index_cured, (programs.KnowsItsIndex, programs.KnowsItsScale)
    ),
    "global": Storm(
        global_step, global_step_cured, (programs.reads_a_global, programs.takes_the_step)
    ),
    "list-length": Storm(
        list_length, list_length_cured, (programs.adds_a_list, programs.adds_a_stack)
    ),
    "string": Storm(string, string_cured, (programs.looks_up_inside, programs.takes_the_scale)),
    "learning-rate": Storm(learning_rate, learning_rate_cured, (decaying_sgd, decaying_sgd)),
    "dtype": Storm(dtype, dtype_cured, (programs.double, programs.double)),
    "layout": Storm(layout, layout_cured, (programs.double, programs.double)),
}
"""what changes from call to call -> the program, before and after"""
