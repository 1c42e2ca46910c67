"""What the answers of the chapter on graph breaks are tested with."""

# ruff: noqa: T201 - print is what two of the functions are about

import functools
from collections.abc import Callable
from typing import Any

import torch

from fuseshard.checks.common import (
    as_number,
    check_function,
    is_open,
    open_question,
    right,
    wrong,
)
from fuseshard.compiler.breaks.exhibit import numbers
from fuseshard.compiler.breaks.observe import Make, observe
from fuseshard.show.records import Check
from fuseshard.show.words import Word, word

_BYTES_CASES = ((16, 0, 1000), (16, 3, 1000), (12, 5, 7), (7, 6, 1))

# float32 rounding of a norm of four numbers and of one division.
_CLIP_TOLERANCE = 8 * 2.0**-24


def by_dimension(x: torch.Tensor) -> torch.Tensor:
    """Branch on the number of dimensions."""
    if x.dim() == 1:
        return x * 2
    return x


def by_maximum(x: torch.Tensor) -> torch.Tensor:
    """Branch on the largest value, then go on."""
    y = x * 2
    if y.max() > 1:
        y = y - 1
    return y * 3


def last_print(x: torch.Tensor) -> torch.Tensor:
    """Print before returning."""
    y = x * 2
    print("done")
    return y


def print_each(x: torch.Tensor) -> torch.Tensor:
    """Print in each round."""
    for scale in (1, 2, 3):
        x = x * scale
        print(scale)
    return x


def catch(x: torch.Tensor) -> torch.Tensor:
    """Catch an exception of Python's."""
    scales: dict[str, int] = {}
    try:
        return x * scales["scale"]
    except KeyError:
        return x * 2


PREDICTED = (by_dimension, by_maximum, last_print, print_each, catch)
"""the functions of the first exercise, in its order"""


@functools.cache
def graph_counts() -> tuple[int, ...]:
    """Count what Dynamo captures of each of PREDICTED, here and now."""
    return tuple(observe(fn, numbers).graphs[0] for fn in PREDICTED)


def check_predict(answer: object) -> Check:
    """Check predicted graph counts of the functions in PREDICTED.

    Args:
        answer: one count a function, in order; `...` means nothing yet.
    """
    name = "graph-breaks-predict"
    if is_open(answer):
        return open_question(name)
    if not isinstance(answer, tuple | list) or len(answer) != len(PREDICTED):
        return wrong(name, word("This needs {n} counts in a tuple.", n=len(PREDICTED)))
    off = [
        fn.__name__
        for fn, given, expected in zip(PREDICTED, answer, graph_counts(), strict=True)
        if given != expected
    ]
    if off:
        return wrong(name, word("Off: {ways}", ways=", ".join(off)))
    return right(name)


def clip_by_branch(x: torch.Tensor) -> torch.Tensor:
    """Shorten a vector to length 1 if it is longer: the function to be rewritten."""
    norm = x.norm()
    if norm > 1:
        x = x / norm
    return x


def check_clip(answer: object) -> Check:
    """Check a rewritten `clip`: one graph, and right on long vectors and on short ones.

    Args:
        answer: the reader's function; one that returns `...` means nothing yet.
    """
    name = "graph-breaks-clip"
    if is_open(answer):
        return open_question(name)
    if not callable(answer):
        return wrong(name, word("This needs a function."))
    cases: tuple[tuple[Word, Make], ...] = (
        (word("a long vector"), numbers),
        (word("a short vector"), lambda: (numbers()[0] / 100,)),
        (word("a vector of zeros"), lambda: (torch.zeros(4),)),
    )
    for what, make in cases:
        try:
            got = answer(*make())
        except Exception as error:  # the reader's own code: whatever it raises is a hint
            return wrong(name, word("On {what} it raises {kind}.", what=what, kind=_kind(error)))
        if is_open(got):
            return open_question(name)
        if not _is_close(got, clip_by_branch(*make())):
            return wrong(name, word("On {what} the result isn't right.", what=what))
    return _one_graph(name, answer)


def _one_graph(name: str, answer: Callable[..., Any]) -> Check:
    """Ask Dynamo for its opinion of a function that computes the right thing."""
    trial = observe(answer, numbers)
    if trial.breaks:
        kind = trial.breaks[0].kind
        return wrong(name, word("It is right, but it breaks the graph: {kind}.", kind=kind))
    if trial.graphs != (1,):
        n = trial.graphs[0]
        return wrong(name, word("It is right, but Dynamo captured {n} graphs.", n=n))
    return right(name, word("Right: one graph, whatever the length of the vector."))


def moved_bytes(operations: int, breaks: int, elements: int) -> int:
    """Return the bytes that a compiled chain of pointwise float32 operations reads and writes.

    Args:
        operations: in the chain; what is fused doesn't count.
        breaks: between them, at most one after each operation but the last.
        elements: numbers in the tensor.
    """
    del operations
    return 2 * (breaks + 1) * elements * torch.float32.itemsize


def check_bytes(answer: object) -> Check:
    """Check a formula for the bytes that a chain with breaks moves.

    Args:
        answer: function of operations, breaks and elements that returns bytes.
    """
    return check_function(
        "graph-breaks-bytes", answer, _BYTES_CASES, moved_bytes, is_same=_is_exact
    )


def _is_exact(got: object, expected: int) -> bool:
    return as_number(got) == expected


def _is_close(got: object, expected: torch.Tensor) -> bool:
    if not isinstance(got, torch.Tensor) or got.shape != expected.shape:
        return False
    return bool(((got - expected).abs() <= _CLIP_TOLERANCE * expected.abs()).all())


def _kind(error: Exception) -> str:
    return type(error).__name__
