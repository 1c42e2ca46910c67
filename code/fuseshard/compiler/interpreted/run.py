"""Running what Inductor wrote for a GPU on CPU tensors, kernel by kernel.

Only for a process that was started with TRITON_INTERPRET=1: there, Triton's interpreter stands
where its compiler would, and reads each kernel's Python with NumPy arrays for tiles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch

# Private, checked on torch 2.11 and 2.13: Inductor's own Triton functions, decorated on import.
from torch._inductor.runtime import triton_helpers

# Triton's own, checked on 3.6 and 3.9: what @triton.jit makes where it interprets.
from triton.runtime.interpreter import InterpretedFunction, InterpreterError

from fuseshard.compiler.gpu_code.records import GpuGraph
from fuseshard.compiler.interpreted.launches import what_has_no_answer
from fuseshard.compiler.interpreted.loaded import LoadedGraph
from fuseshard.compiler.interpreted.records import Interpreted, InterpretedLaunch
from fuseshard.compiler.interpreted.shims import Installed
from fuseshard.compiler.interpreted.signature import (
    fitted,
    known_sizes,
    ones,
    sizes_among_inputs,
)

SEED = 0
"""of torch's generator in each run, which gives Inductor's kernels their seeds for dropout"""


@lru_cache(maxsize=1)
def prepare() -> Installed:
    """Install every shim, once, for the life of this process.

    Returns:
        What is installed.

    Raises:
        RuntimeError: Triton would compile here instead of interpreting.
    """
    if not isinstance(triton_helpers.max2, InterpretedFunction):
        raise RuntimeError(
            "prepare: Triton compiles its functions in this process, must interpret them "
            "(@triton.jit decides when it decorates); set TRITON_INTERPRET=1 in the environment "
            "of a new process before anything imports triton."
        )
    return Installed()


def call(fn: Callable[..., Any], *args: Any) -> Any:
    """Call a function that launches Triton kernels, with CPU tensors for the GPU's.

    Args:
        fn: a function whose `@triton.jit` kernels were defined in this process.
        args: what it takes.

    Returns:
        What it returns.

    Raises:
        NoAnswerError: a kernel calls what a CPU hasn't got.
    """
    prepare()
    try:
        with np.errstate(all="ignore"):  # a GPU doesn't warn of infinity and NaN either
            return fn(*args)
    except InterpreterError as error:
        known = what_has_no_answer(error)
        if known is None:
            raise
        raise known from error


def run_graphs(
    graphs: Sequence[GpuGraph],
    inputs: Sequence[torch.Tensor],
    tangents: Sequence[torch.Tensor] | None = None,
    *,
    block: int | None = None,
) -> Interpreted:
    """Run one program's graphs on CPU tensors.

    Args:
        graphs: an inference graph, or a forward graph and its backward graph.
        inputs: the program's tensors in the order in which it travelled, parameters included; not
            modified, whatever their strides. A graph may leave some of them out.
        tangents: gradients of the differentiable outputs, in order; None means ones.
        block: least XBLOCK, a power of two: more rows in one program, same values, faster. None
            chooses; 1 keeps Inductor's own blocks.

    Returns:
        Outputs, gradients, inputs as they were left, and a record of each launch.

    Raises:
        ValueError: several programs' graphs, inputs that don't fit, or a `block` that no kernel
            can have.
        NoAnswerError: a kernel or a library call that needs a GPU; a ValueError, too.
    """
    prepare()
    forward, backward = _phases(graphs)
    _check_block(block)
    _check_tangents(backward, tangents)
    log: list[InterpretedLaunch] = []
    with torch.no_grad(), torch.random.fork_rng(devices=[]), np.errstate(all="ignore"):
        torch.manual_seed(SEED)
        loaded = LoadedGraph(forward, block, log)
        values = _values(loaded, inputs)
        results = loaded.call(values)
        gradients: tuple[torch.Tensor | None, ...] = ()
        if backward is not None:
            named = zip(forward.outputs, results, strict=True)
            saved = values | {name: x for name, x in named if name is not None}
            found = _differentiated(LoadedGraph(backward, block, log), saved, tangents)
            gradients = _by_number(forward, found, [None] * len(inputs))
            results = results[: len(results) - len(_saved(backward))]
    left = [values.get(name) for name in forward.inputs]
    return Interpreted(
        outputs=tuple(x if isinstance(x, torch.Tensor) else None for x in results),
        gradients=gradients,
        inputs=_by_number(forward, left, list(inputs)),
        launches=tuple(log),
    )


def _phases(graphs: Sequence[GpuGraph]) -> tuple[GpuGraph, GpuGraph | None]:
    """Tell forward from backward."""
    by_phase = {graph.phase: graph for graph in graphs}
    is_one_program = set(by_phase) in ({"inference"}, {"forward"}, {"forward", "backward"})
    if len(by_phase) != len(graphs) or not is_one_program:
        raise ValueError(
            f"run_graphs: got the graphs {[graph.phase for graph in graphs]}, must be "
            "['inference'], or 'forward' with its 'backward' (after a graph break Python runs "
            "between the graphs, and it isn't here); remove the break, or pass one graph at a time."
        )
    return by_phase.get("inference") or by_phase["forward"], by_phase.get("backward")


def _check_block(block: int | None) -> None:
    if block is not None and (block < 1 or block & (block - 1)):
        raise ValueError(
            f"run_graphs: block is {block}, must be a power of two (Triton's tiles are); pass 64, "
            "or leave it out."
        )


def _check_tangents(backward: GpuGraph | None, tangents: Sequence[torch.Tensor] | None) -> None:
    if tangents is None:
        return
    wanted = [n for n in backward.inputs if _is_tangent(n)] if backward is not None else []
    if len(tangents) != len(wanted):
        raise ValueError(
            f"run_graphs: got {len(tangents)} tangents, must be {len(wanted)} (one for each "
            "differentiable output of a program with a backward graph); leave tangents out for "
            "ones."
        )


def _values(loaded: LoadedGraph, inputs: Sequence[torch.Tensor]) -> dict[str, Any]:
    """Give the graph's names to copies of the caller's tensors, and to sizes read off them."""
    graph = loaded.graph
    named = zip(graph.inputs, graph.input_tensors, strict=True)
    numbers = {name: number for name, number in named if number is not None}
    needed = max(numbers.values(), default=-1) + 1
    if len(inputs) < needed:
        raise ValueError(
            f"run_graphs: got {len(inputs)} inputs, must be at least {needed} (the graph reads "
            "every tensor that travelled with the program, parameters included); pass all of them."
        )
    given = {name: inputs[number] for name, number in numbers.items()}
    known = known_sizes(loaded.signature, given)
    return {
        **fitted(loaded.signature, given, known),
        **sizes_among_inputs(loaded.signature, known),
    }


def _by_number(graph: GpuGraph, values: Sequence[Any], default: list[Any]) -> tuple[Any, ...]:
    """Put one value for each of the graph's inputs where the caller's tensor stands."""
    for number, value in zip(graph.input_tensors, values, strict=True):
        if number is not None:
            default[number] = value
    return tuple(default)


def _differentiated(
    loaded: LoadedGraph,
    values: Mapping[str, Any],
    tangents: Sequence[torch.Tensor] | None,
) -> tuple[Any, ...]:
    """Run the backward graph: one gradient for each input of the forward graph."""
    signature = loaded.signature
    saved = {name: values[name] for name in _saved(loaded.graph) if name in values}
    names = [name for name in loaded.graph.inputs if _is_tangent(name)]
    given = dict(zip(names, tangents, strict=True)) if tangents is not None else {}
    tensors = {name: x for name, x in saved.items() if isinstance(x, torch.Tensor)}
    known = known_sizes(signature, {**tensors, **given})
    made = {name: ones(signature, name, known) for name in names if name not in given}
    shaped = fitted(signature, {**given, **made}, known)
    return loaded.call({**sizes_among_inputs(signature, known), **saved, **shaped})


def _saved(backward: GpuGraph) -> list[str]:
    """List what the forward graph saved for a backward graph."""
    return [name for name in backward.inputs if not _is_tangent(name)]


def _is_tangent(name: str) -> bool:
    return name.startswith("tangents_")
