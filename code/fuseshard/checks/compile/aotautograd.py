"""What the answers of the chapter on AOTAutograd are tested with."""

import functools
from collections.abc import Sequence
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx

from fuseshard.checks.common import (
    as_number,
    check_function,
    is_open,
    open_question,
    right,
    wrong,
)
from fuseshard.compiler.joint.examples import ladder, library_half
from fuseshard.compiler.joint.memory import compiled_bytes
from fuseshard.compiler.joint.trace import trace
from fuseshard.models.minigpt import MiniGPT, MiniGPTConfig
from fuseshard.show.records import Check
from fuseshard.show.words import word

SWISH, SAVED, BYTES, PURE = (
    "aotautograd-swish",
    "aotautograd-saved",
    "aotautograd-bytes",
    "aotautograd-pure",
)
"""labels of the exercises"""

ALMOST_ALL = 0.99
"""the memory budget that the exercise on bytes asks about"""

_BYTES_CASES = ((7, 12), (77, 64), (5, 20))
_NAMES = {"primals_1": "x"}


def check_swish(answer: object) -> Check:
    """Check the backward pass of x sigmoid(x).

    Args:
        answer: function of x and the tangent that returns the gradient of x.
    """
    if is_open(answer):
        return open_question(SWISH)
    if not callable(answer):
        return wrong(SWISH, word("This needs a function of x and the tangent."))
    x = torch.linspace(-3, 3, 7, dtype=torch.float64)
    tangent = torch.linspace(1, 2, 7, dtype=torch.float64)
    try:
        got = answer(x, tangent)
    except Exception as error:  # the reader's own code: whatever it raises is a hint
        return wrong(SWISH, word("It raises {kind}.", kind=type(error).__name__))
    return open_question(SWISH) if is_open(got) else _judge_swish(got, x, tangent)


def _judge_swish(got: object, x: torch.Tensor, tangent: torch.Tensor) -> Check:
    tracked = x.clone().requires_grad_()
    (expected,) = torch.autograd.grad(tracked * torch.sigmoid(tracked), tracked, tangent)
    if not isinstance(got, torch.Tensor) or got.shape != expected.shape:
        return wrong(SWISH, word("This needs a tensor of the shape of x."))
    if torch.allclose(got, expected):
        return right(SWISH, word("Right, and x is all that it needs: nothing else has to be kept."))
    first_term = tangent * torch.sigmoid(x)
    hint = word("The gradient isn't right yet.")
    if torch.allclose(got * tangent, expected):
        hint = word("That is the derivative; the tangent is still missing.")
    elif torch.allclose(got, first_term) or torch.allclose(got, expected - first_term):
        hint = word("x is used twice, so its gradient has two terms.")
    return wrong(SWISH, hint)


def check_saved(answer: object) -> Check:
    """Check which tensors of exp(tanh(sigmoid(x))) are saved, as it is and summed up.

    Args:
        answer: two collections of names among "x", "sigmoid", "tanh" and "exp".
    """
    parts = list(answer) if isinstance(answer, (tuple, list)) else [answer]
    if any(is_open(part) for part in parts):
        return open_question(SAVED)
    if len(parts) != len(saved_names()):
        return wrong(SAVED, word("This needs two collections of names."))
    as_it_is, summed = (
        _as_names(given) == expected for given, expected in zip(parts, saved_names(), strict=True)
    )
    if as_it_is and summed:
        return right(SAVED, word("Right: what leaves the function is in memory anyway."))
    hint = word("Neither yet. From which one tensor do all the others follow?")
    if as_it_is:
        hint = word("The first is right. Who reads exp's result in the second?")
    if summed:
        hint = word("The second is right. Where does the first one's result go?")
    return wrong(SAVED, hint)


@functools.cache
def saved_names() -> tuple[frozenset[str], ...]:
    """Ask torch what is saved of `ladder`, and of its sum."""

    def summed(x: torch.Tensor) -> torch.Tensor:
        return ladder(x).sum()

    found = []
    for fn in (ladder, summed):
        traced = trace(fn, torch.ones(7, 5, requires_grad=True))
        saved = traced.halves["min-cut"].saved
        found.append(frozenset(_NAMES.get(tensor.name, tensor.name) for tensor in saved))
    return tuple(found)


def check_bytes(answer: object) -> Check:
    """Check a formula for the bytes that half a block keeps at budget ALMOST_ALL.

    Args:
        answer: function of rows and width that returns bytes.
    """
    return check_function(BYTES, answer, _BYTES_CASES, kept_bytes, is_same=_is_exact)


@functools.cache
def kept_bytes(rows: int, width: int) -> int:
    """Count what the feed-forward half of a MiniGPT block keeps at budget ALMOST_ALL.

    Args:
        rows: tokens.
        width: features of a token, a multiple of 4.
    """
    block: Any = MiniGPT(MiniGPTConfig(num_layers=1, width=width)).blocks[0]
    x = torch.ones(rows, width, requires_grad=True)
    return compiled_bytes(library_half(block), x, free=block.parameters(), budget=ALMOST_ALL)


def push(queue: torch.Tensor, row: torch.Tensor) -> torch.Tensor:
    """Drop the first row of a queue, append one, and add the rows up.

    Args:
        queue: [R, D]; changed in place.
        row: [D].

    Returns:
        [D].
    """
    queue[:-1] = queue[1:].clone()
    queue[-1] = row
    return queue.sum(dim=0)


def check_pure(answer: object) -> Check:
    """Check a version of `push` that writes to nothing.

    Args:
        answer: function of the queue and the row that returns the sum and the new queue.
    """
    if is_open(answer):
        return open_question(PURE)
    if not callable(answer):
        return wrong(PURE, word("This needs a function of the queue and the row."))
    queue, row = torch.arange(15.0).view(5, 3), torch.tensor([7.0, 1.0, 12.0])
    given, after = queue.clone(), queue.clone()
    expected = push(after, row)
    try:
        got = answer(given, row)
        if is_open(got):
            return open_question(PURE)
        graph = make_fx(answer)(given.clone(), row)
    except Exception as error:  # the reader's own code: whatever it raises is a hint
        return wrong(PURE, word("It raises {kind}.", kind=type(error).__name__))
    return _judge_pure(got, [expected, after], _written(graph), torch.equal(given, queue))


def _judge_pure(
    got: object, expected: Sequence[torch.Tensor], written: list[str], is_unchanged: bool
) -> Check:
    if not isinstance(got, (tuple, list)) or len(got) != len(expected):
        return wrong(PURE, word("This needs two results: the sum and the new queue."))
    if not is_unchanged:
        return wrong(PURE, word("The caller's queue has changed; nothing may be written to it."))
    if written:
        return wrong(PURE, word("It still writes in place: {ops}.", ops=", ".join(written)))
    if not all(_is_equal(a, b) for a, b in zip(got, expected, strict=True)):
        return wrong(PURE, word("The results differ from those of the function that writes."))
    return right(PURE, word("Right: and one copy at the end would make it the function again."))


def _written(graph: torch.fx.GraphModule) -> list[str]:
    schemas = [getattr(node.target, "_schema", None) for node in graph.graph.nodes]
    return sorted({s.name.split("::")[1] for s in schemas if s is not None and s.is_mutable})


def _as_names(part: object) -> frozenset[str]:
    if isinstance(part, str):
        return frozenset([part])
    return frozenset(part) if isinstance(part, (set, frozenset, list, tuple)) else frozenset()


def _is_exact(got: object, expected: int) -> bool:
    return as_number(got) == expected


def _is_equal(got: object, expected: torch.Tensor) -> bool:
    return isinstance(got, torch.Tensor) and torch.equal(got, expected)
