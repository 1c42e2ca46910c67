"""Who is to blame: backends tried one after the other, and modules tried one by one."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn

from fuseshard.compiler.debugging.records import Trial
from fuseshard.compiler.isolate import isolated

LADDER = ("eager", "aot_eager", "inductor")
"""Each backend adds a stage: Dynamo alone, then AOTAutograd, then Inductor."""

# Private, checked on torch 2.11 and 2.13: a switch that torch keeps for its own tests.
FAULT = "cpp.inject_relu_bug_TESTING_ONLY"
"""Makes Inductor write a wrong relu for a CPU ("accuracy"), or one that doesn't compile."""


def ladder(
    fn: Callable[..., torch.Tensor], *args: Any, bound: float, backends: Sequence[Any] = LADDER
) -> tuple[Trial, ...]:
    """Compile a function with each backend and compare the results with eager mode.

    Args:
        fn: deterministic function of `args`.
        args: its arguments; not modified.
        bound: largest absolute difference that rounding explains.
        backends: names or functions, from the one with the fewest stages to the one with all.

    Returns:
        One trial a backend; the first that isn't right names the stage to look at.
    """
    want = fn(*args)
    tried = {
        getattr(b, "__name__", str(b)): functools.partial(torch.compile, isolated(fn), backend=b)
        for b in backends
    }
    return tuple(_trial(name, make, args, want=want, bound=bound) for name, make in tried.items())


def bottom_up(model: nn.Module, x: torch.Tensor, *, bound: float) -> tuple[Trial, ...]:
    """Compile each leaf of a model alone, with the input that it really gets, and compare.

    Args:
        model: its leaves take one tensor and return one.
        x: input of the model.
        bound: largest absolute difference that rounding explains.

    Returns:
        One trial a leaf, in the order in which the model calls them.
    """
    leaves = {name: leaf for name, leaf in model.named_modules() if not list(leaf.children())}
    seen: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}
    names = {leaf: name for name, leaf in leaves.items()}

    def keep(leaf: nn.Module, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
        seen.setdefault(names[leaf], (inputs[0], output))

    handles = [leaf.register_forward_hook(keep) for leaf in names]
    try:
        model(x)
    finally:
        for handle in handles:
            handle.remove()
    return tuple(
        _trial(
            name,
            functools.partial(torch.compile, isolated(leaves[name])),
            (given,),
            want=want,
            bound=bound,
        )
        for name, (given, want) in seen.items()
    )


def _trial(
    name: str,
    make: Callable[[], Callable[..., torch.Tensor]],
    args: tuple[Any, ...],
    *,
    want: torch.Tensor,
    bound: float,
) -> Trial:
    """Try one candidate; an error is an outcome like any other."""
    try:
        got = make()(*args)
    except Exception as error:  # whatever a compiler may raise is what we are looking for
        first_line = str(error).splitlines()[0] if str(error) else ""
        return Trial(name=name, ending="raises", detail=f"{type(error).__name__}: {first_line}")
    difference = (got - want).abs().max().item()
    if difference <= bound:
        return Trial(name=name, ending="right", detail="")
    return Trial(name=name, ending="wrong", detail=f"{difference:.2g}")
