"""A dispatcher by hand: a table of functions, and a rule for which of them a call runs.

N = rows, I = inputs, O = outputs of a linear layer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from typing import Any

COMPOSITE = "CompositeImplicitAutograd"
KEYS = ("AutogradCPU", "ADInplaceOrView", "CPU")
"""in the order in which a call meets them: the first that has a function for it gets it"""


@dataclass
class Array:
    """Numbers in a flat list, read through strides; the least that a tensor is."""

    memory: list[float]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """how far apart in memory two neighbours along each dimension are"""
    needs_grad: bool = False
    node: str = ""
    """what a backward pass would run for it; "" where nothing was recorded"""

    def __getitem__(self, index: tuple[int, ...]) -> float:
        return self.memory[sum(i * step for i, step in zip(index, self.strides, strict=True))]


@dataclass
class Dispatcher:
    """Finds the function for an operator and a key, and remembers whom it called."""

    table: dict[tuple[str, str], Callable[..., Array]] = field(default_factory=dict)
    calls: list[tuple[int, str, list[str]]] = field(default_factory=list)
    """depth, operator, and the keys that it passed, in order"""
    _depth: int = 0
    _below: tuple[str, ...] = ()
    """keys that are switched off, because we are inside the function of one of them"""

    def register(self, op: str, key: str, function: Callable[..., Array]) -> None:
        """Enter a function for an operator at a key."""
        self.table[op, key] = function

    def call(self, op: str, *args: Array) -> Array:
        """Run an operator: one entry in the trace, then the function of its first key."""
        passed: list[str] = []
        self.calls.append((self._depth, op, passed))
        self._depth += 1
        result = self._run(op, args, passed)
        self._depth -= 1
        return result

    def _run(self, op: str, args: tuple[Array, ...], passed: list[str]) -> Array:
        keys = [COMPOSITE, *(key for key in KEYS if key not in self._below)]
        key = next((key for key in keys if (op, key) in self.table), None)
        if key is None:
            raise NotImplementedError(
                f"dispatcher: {op} has no function for any of {keys}, must have one; register it."
            )
        passed.append(key)
        before = self._below
        # Inside a key's function that key is off, so that the call moves on to the next one.
        self._below = before if key in (COMPOSITE, "CPU") else (*before, key)
        try:
            if key in (COMPOSITE, "CPU"):
                return self.table[op, key](self, *args)
            return self.table[op, key](lambda *again: self._run(op, again, passed), *args)
        finally:
            self._below = before


Redispatch = Callable[..., Array]


def linear(dispatcher: Dispatcher, x: Array, weight: Array, bias: Array) -> Array:
    """Compute nothing: call two other operators.

    Args:
        dispatcher: takes their calls.
        x: [N, I].
        weight: [O, I].
        bias: [O].

    Returns:
        x weight^T + bias, [N, O].
    """
    return dispatcher.call("aten::addmm", bias, x, dispatcher.call("aten::t", weight))


def transpose(dispatcher: Dispatcher, x: Array) -> Array:
    """Swap two strides; the memory is the same list."""
    return Array(x.memory, x.shape[::-1], x.strides[::-1])


def addmm(dispatcher: Dispatcher, bias: Array, x: Array, w: Array) -> Array:
    """Compute bias + x w into new memory.

    Args:
        dispatcher: not needed; every kernel gets it.
        bias: [O].
        x: [N, I].
        w: [I, O].

    Returns:
        [N, O], in row order.
    """
    rows, inner, columns = x.shape[0], x.shape[1], w.shape[1]
    memory = [
        sum((x[n, i] * w[i, o] for i in range(inner)), bias[o,])
        for n, o in product(range(rows), range(columns))
    ]
    return Array(memory, (rows, columns), (columns, 1))


def recorded(node: str) -> Callable[..., Array]:
    """Make the function of the autograd key: note what a backward pass needs, then go on."""

    def autograd(redispatch: Redispatch, *args: Array) -> Array:
        result = redispatch(*args)
        result.needs_grad = any(x.needs_grad for x in args)
        result.node = node if result.needs_grad else ""
        return result

    return autograd


def shared(redispatch: Redispatch, *args: Array) -> Array:
    """Stand for the key at which views join the version counter of their memory."""
    return redispatch(*args)


def torch_like() -> Dispatcher:
    """Build a dispatcher that knows `linear`, registered as PyTorch registers it for a CPU.

    Source:
        PyTorch's `native_functions.yaml` and `derivatives.yaml`. Checked on torch 2.13.
    """
    made = Dispatcher()
    entries: list[tuple[str, str, Any]] = [
        ("aten::linear", COMPOSITE, linear),
        ("aten::t", "AutogradCPU", recorded("TBackward0")),
        ("aten::t", "ADInplaceOrView", shared),
        ("aten::t", "CPU", transpose),
        ("aten::addmm", "AutogradCPU", recorded("AddmmBackward0")),
        ("aten::addmm", "CPU", addmm),
    ]
    for op, key, function in entries:
        made.register(op, key, function)
    return made
