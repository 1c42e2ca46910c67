"""What a reading of bytecode leaves behind: a graph of operations on tensors, and guards."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

Scopes = Mapping[str, Mapping[str, Any]]
"""where values come from: "argument", "closure" or "global" -> name -> value"""


class UnsupportedError(ValueError):
    """The function does something that this compiler can't follow."""

    def __init__(self, got: str, required: str) -> None:
        """Say what was met, what is possible, and what to do."""
        super().__init__(f"tiny: {got}, must be {required}; rewrite it, or use torch.compile.")


@dataclass(frozen=True, eq=False)
class Node:
    """A tensor of the graph: an input, or the result of one operation."""

    name: str
    op: str
    """"input", or a key of `cpp.TEMPLATES`"""
    operands: "tuple[Node | float, ...]"
    fake: torch.Tensor
    """on torch's meta device: shape, strides and dtype without data"""

    def __str__(self) -> str:
        values = ", ".join(o.name if isinstance(o, Node) else repr(o) for o in self.operands)
        return f"{self.name}: f32{list(self.fake.shape)} = {self.op}({values})"


@dataclass(frozen=True)
class Guard:
    """One value that the function didn't make, and what was true of it at compile time."""

    scope: str
    name: str
    expected: tuple[object, ...]

    def holds(self, scopes: Scopes) -> bool:
        """Tell whether the value of this call is what the compiled code relies on."""
        return facts(scopes[self.scope][self.name]) == self.expected

    def __str__(self) -> str:
        return f"{self.scope} {self.name}: {', '.join(map(str, self.expected))}"


def facts(value: object) -> tuple[object, ...]:
    """List what compiled code relies on: of a tensor its layout, of anything else all of it."""
    if isinstance(value, torch.Tensor):
        layout = [*value.shape], [*value.stride()]
        return value.dtype, value.device.type, *layout, value.requires_grad
    # A float by its bits: -0.0 equals 0.0, but gives other results; NaN gives the same, but
    # doesn't equal itself. The type, because 1 == True == 1.0.
    return type(value).__name__, value.hex() if isinstance(value, float) else value


def scopes_of(fn: Callable[..., Any], arguments: tuple[object, ...]) -> Scopes:
    """Collect the values that one call of a function can read."""
    code, cells = fn.__code__, fn.__closure__ or ()
    names = code.co_varnames[: code.co_argcount]
    closure = {n: cell.cell_contents for n, cell in zip(code.co_freevars, cells, strict=True)}
    arguments_by_name = dict(zip(names, arguments, strict=True))
    return {"argument": arguments_by_name, "closure": closure, "global": fn.__globals__}
