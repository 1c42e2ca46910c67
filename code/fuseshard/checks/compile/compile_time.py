"""What the answers of the chapter on compile time are tested with."""

import functools
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import torch
from torch import nn

from fuseshard.checks.common import (
    check_function,
    is_open,
    open_question,
    right,
    wrong,
)
from fuseshard.compiler.caches.payback import calls_to_pay_back
from fuseshard.compiler.graphs import graphs_captured
from fuseshard.show.records import Check
from fuseshard.show.words import Word, word

NUM_LAYERS = 12
"""of the stacks in the exercise on regions; more than torch recompiles one function"""

_PAYBACK_CASES = (
    (10.0, 0.003, 0.001),
    (10.0, 0.002, 0.001),
    (0.002, 0.002, 0.001),
    (5.0, 0.001, 0.001),
    (5.0, 0.001, 0.004),
)

Program = tuple[str, tuple[tuple[int, ...], ...], str]
"""text of a graph, shapes of its inputs in order, versions"""

_PROGRAMS: tuple[tuple[Program, Word], ...] = (
    (("relu(a)", ((1, 23),), "2.13"), word("two programs that differ in nothing")),
    (("tanh(a)", ((1, 23),), "2.13"), word("another operation")),
    (("relu(a)", ((1, 23),), "2.14"), word("another version")),
    (("relu(a)", ((12, 3),), "2.13"), word("shapes with the same digits in a row")),
    (("relu(a)", ((23, 1),), "2.13"), word("a shape turned round")),
    (("relu(a)", ((1,), (23,)), "2.13"), word("two inputs instead of one")),
    (("relu(a)", ((23,), (1,)), "2.13"), word("two inputs in the other order")),
    (("relu(a)2", ((1, 23),), ".13"), word("a graph and a version cut at another place")),
)
"""no two of them may share a key; the word says what the one differs in from others"""


def check_payback(answer: object) -> Check:
    """Check a function for the calls until compiling has paid.

    Args:
        answer: function of the seconds of the first compiled call, of an eager call and of a later
            compiled call; None for never.
    """
    return check_function(
        "compile-time-payback", answer, _PAYBACK_CASES, calls_until_paid, is_same=_is_count
    )


def calls_until_paid(first_s: float, eager_s: float, later_s: float) -> int | None:
    """Return the smallest number of calls after which compiling has paid; None for never."""
    return calls_to_pay_back(first_s, eager_s, later_s / eager_s)


def check_key(answer: object) -> Check:
    """Check a key: equal programs share it, and no two different ones do.

    Args:
        answer: function of the text of a graph, the shapes of its inputs and the versions, that
            returns the name of a file; `...` means nothing yet.
    """
    name = "compile-time-key"
    if is_open(answer):
        return open_question(name)
    if not callable(answer):
        return wrong(name, word("This needs a function."))
    try:
        keys = [answer(*program) for program, _ in _PROGRAMS]
        again = [answer(*program) for program, _ in _PROGRAMS]
    except Exception as error:  # the reader's own function: whatever it raises is a hint
        return wrong(name, word("It raises {kind}.", kind=type(error).__name__))
    if any(is_open(key) for key in keys):
        return open_question(name)
    hint = _key_hint(keys, again)
    return wrong(name, hint) if hint else right(name)


def _key_hint(keys: Sequence[Any], again: Sequence[Any]) -> Word | None:
    """Say what is wrong with the keys, if anything is."""
    if any(isinstance(key, int) for key in keys):
        return word(
            "A number from hash() is another one in the next process: Python salts it. Take a hash "
            "that is the same everywhere, and return text."
        )
    if any(not isinstance(key, str) or "/" in key or len(key) > 200 for key in keys):
        return word("The key names a file: a short text without slashes.")
    if list(keys) != list(again):
        return word("The same program has two keys, so the cache would never hit.")
    for (first, what), (second, other) in combinations(
        [(key, what) for key, (_, what) in zip(keys, _PROGRAMS, strict=True)], 2
    ):
        if first == second:
            return word(
                "Two different programs share a key: one would get the other's code. Look at: "
                "{what}; {other}.",
                what=what,
                other=other,
            )
    return None


def check_regions(answer: object) -> Check:
    """Check predicted graph counts of stacks that are compiled layer by layer.

    Args:
        answer: counts for layers that hold a number and don't use it, that multiply by a whole
            number of their own, and that multiply by a buffer of their own; `...` means nothing.
    """
    name = "compile-time-regions"
    if is_open(answer):
        return open_question(name)
    if not isinstance(answer, tuple | list) or len(answer) != len(_LAYERS):
        return wrong(name, word("This needs {n} counts in a tuple.", n=len(_LAYERS)))
    off = [
        layer.__name__.strip("_")
        for layer, given, expected in zip(_LAYERS, answer, region_counts(), strict=True)
        if given != expected
    ]
    if off:
        return wrong(name, word("Off: {ways}", ways="; ".join(off)))
    return right(
        name,
        word(
            "Right: what a layer holds as a tensor is an input, what it holds as a number is not."
        ),
    )


class _Unused(nn.Module):
    """A layer that knows its place and doesn't use it."""

    scale: torch.Tensor

    def __init__(self, index: int) -> None:
        super().__init__()
        self.index = index
        self.register_buffer("scale", torch.tensor(float(index + 1)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(x)


class _Number(_Unused):
    """A layer that multiplies by its own whole number."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(x) * (self.index + 1)


class _Buffer(_Unused):
    """A layer that multiplies by its own buffer."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(x) * self.scale


_LAYERS = (_Unused, _Number, _Buffer)


@functools.cache  # a second round would find its graphs compiled and count none
def region_counts() -> tuple[int, ...]:
    """Count the graphs that torch captures for each kind of stack, here and now."""
    return tuple(graphs_captured(functools.partial(_run_stack, layer)) for layer in _LAYERS)


def _run_stack(kind: Callable[[int], nn.Module]) -> torch.Tensor:
    """Compile each layer of a stack by itself, and call them in turn."""
    x = torch.ones(3, 4)
    for index in range(NUM_LAYERS):
        x = torch.compile(kind(index), backend="eager")(x)
    return x


def _is_count(got: object, expected: int | None) -> bool:
    return got is expected if expected is None else got == expected
