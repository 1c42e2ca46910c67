"""The things that the chapter changes between calls, each with a function that depends on it."""

import builtins
from collections.abc import Callable, Sequence
from functools import partial
from types import FunctionType
from typing import Any

import torch
from torch import nn

from fuseshard.compiler.dynamo.trials import Change

k: float
"""only declared: `_times_global` gets a namespace of its own, and there it has a value"""

VALUES = (2.0, 3.0, 4.0)
"""of the number that changes, in three calls"""


class Scaled(nn.Module):
    """A module whose result depends on a number, and on its hooks."""

    def __init__(self) -> None:
        """Start with the factor 2."""
        super().__init__()
        self.k = 2

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Multiply by the number."""
        return x * self.k


class Weighted(nn.Module):
    """A module whose result depends on a parameter."""

    def __init__(self) -> None:
        """Start with a weight of ones."""
        super().__init__()
        self.w = nn.Parameter(torch.ones(3), requires_grad=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Multiply by the parameter."""
        return x * self.w


def changes() -> tuple[Change, ...]:
    """List the experiments, each with a state of its own, in the order of the chapter's table."""
    return (*_of_tensors(), *_of_arguments(), *_of_surroundings(), *_of_blind_spots())


def _of_tensors() -> tuple[Change, ...]:
    x, table = _x(), torch.ones(7, 4)
    with_gradient = _x().requires_grad_()
    dtypes = ("float32", "float64", "float16")
    data = [("x = [1, 2, 3]", (x,)), ("x = [2, 3, 4]", (x + 1,)), ("x = [3, 4, 5]", (x + 2,))]
    shapes = [(f"x.shape = ({rows}, 4)", (table[:rows],)) for rows in (3, 5, 7)]
    return (
        _passing("tensor-data", _twice, "x * 2", data),
        _passing("tensor-shape", _twice, "x * 2", shapes),
        _passing(
            "tensor-dtype",
            _twice,
            "x * 2",
            [(f"x.dtype = {name}", (x.to(getattr(torch, name)),)) for name in dtypes],
        ),
        _passing(
            "tensor-gradient",
            _twice,
            "x * 2",
            [(f"x.requires_grad = {t.requires_grad}", (t,)) for t in (x, with_gradient, x)],
        ),
    )


def _of_arguments() -> tuple[Change, ...]:
    return (
        _passing("float-argument", _times, "x * k", _values(*VALUES)),
        _passing("int-argument", _times, "x * k", _values(2, 3, 4)),
        _passing("string-argument", _times_length, "x * len(k)", _values("ab", "cde", "fghi")),
        _passing("list-length", _times_length, "x * len(k)", _values([0] * 2, [0] * 3, [0] * 4)),
        _passing("unused-argument", _ignoring, "x * 2", _values(1, 2, 3)),
    )


def _of_surroundings() -> tuple[Change, ...]:
    """Change what the function reads without being passed it."""
    ints, floats = ({"__builtins__": builtins} for _ in range(2))  # Dynamo looks there, too
    by_int, by_float = (FunctionType(_times_global.__code__, space) for space in (ints, floats))
    by_cell, set_cell = _with_cell()
    scaled, weighted = Scaled(), Weighted()
    set_weight = partial(_set_weight, weighted)
    return (
        _setting("float-global", by_float, "x * k", partial(_assign, floats), values=VALUES),
        _setting("int-global", by_int, "x * k", partial(_assign, ints)),
        _setting("int-closure", by_cell, "x * k", set_cell),
        _setting("int-attribute", _calling(scaled), "x * self.k", partial(setattr, scaled, "k")),
        _setting("parameter", _calling(weighted), "x * self.w", set_weight),
    )


def _of_blind_spots() -> tuple[Change, ...]:
    """Change what Dynamo doesn't check or doesn't tell apart; checked on torch 2.13."""
    zeros = [(f"k = {value!r}", (_x(), value)) for value in (0.0, -0.0, -0.0)]
    hooked = Scaled()
    hook = partial(hooked.register_forward_hook, _double)
    steps = [("no hook", None), ("a hook that doubles", hook), ("the same hook", None)]
    return (
        _passing("sign-of-zero", _inverse, "1 / (x * k)", zeros),
        Change(
            name="forward-hook",
            fn=_calling(hooked),
            code="module(x)",
            calls=[(state, partial(_after, step)) for state, step in steps],
        ),
    )


def _passing(
    name: str,
    fn: Callable[..., torch.Tensor],
    code: str,
    states: Sequence[tuple[str, tuple[Any, ...]]],
) -> Change:
    """Pass other arguments in each call."""
    calls = [(state, partial(_after, None, arguments)) for state, arguments in states]
    return Change(name=name, fn=fn, code=code, calls=calls)


def _setting(
    name: str,
    fn: Callable[..., torch.Tensor],
    code: str,
    assign: Callable[[Any], object],
    *,
    values: tuple[float, ...] = (2, 3, 4),
) -> Change:
    """Assign another number before each call, and pass the same tensor."""
    variable = code.rpartition(" ")[2]
    calls = [(f"{variable} = {value}", partial(_after, partial(assign, value))) for value in values]
    return Change(name=name, fn=fn, code=code, calls=calls)


def _after(
    step: Callable[[], object] | None, arguments: tuple[Any, ...] | None = None
) -> tuple[Any, ...]:
    """Make a change, if there is one, and return the arguments of the call after it."""
    if step is not None:
        step()
    return (_x(),) if arguments is None else arguments


def _x() -> torch.Tensor:
    return torch.tensor([1.0, 2.0, 3.0])


def _values(*values: object) -> list[tuple[str, tuple[Any, ...]]]:
    return [(f"k = {value!r}", (_x(), value)) for value in values]


def _twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def _times(x: torch.Tensor, k: float) -> torch.Tensor:
    return x * k


def _times_length(x: torch.Tensor, k: Sequence[object]) -> torch.Tensor:
    return x * len(k)


def _ignoring(x: torch.Tensor, k: int) -> torch.Tensor:
    return x * 2


def _inverse(x: torch.Tensor, k: float) -> torch.Tensor:
    return 1 / (x * k)


def _times_global(x: torch.Tensor) -> torch.Tensor:
    return x * k  # noqa: F821 - declared at the head of the module


def _with_cell() -> tuple[Callable[[torch.Tensor], torch.Tensor], Callable[[float], None]]:
    """Make a function that multiplies by a variable of its closure, and one that sets it."""
    k = 1.0

    def times(x: torch.Tensor) -> torch.Tensor:
        return x * k

    def assign(value: float) -> None:
        nonlocal k
        k = value

    return times, assign


def _calling(module: nn.Module) -> Callable[[torch.Tensor], torch.Tensor]:
    """Make a function around a module, so that a copy of it has a code object of its own."""

    def call(x: torch.Tensor) -> torch.Tensor:
        return module(x)

    return call


def _assign(space: dict[str, Any], value: float) -> None:
    space["k"] = value


def _set_weight(module: Weighted, value: float) -> None:
    module.w = nn.Parameter(torch.full((3,), float(value)), requires_grad=False)


def _double(module: nn.Module, arguments: object, result: torch.Tensor) -> torch.Tensor:
    return 2 * result
