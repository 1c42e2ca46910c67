"""What the answers of the chapter on tensor parallelism are tested with."""

from collections.abc import Callable
from typing import Any

import torch

from fuseshard.checks.common import (
    check_function,
    check_number,
    is_open,
    open_question,
    right,
    wrong,
)
from fuseshard.distributed.launcher import DistributedError, run
from fuseshard.distributed.tensor.costs import block_bytes
from fuseshard.distributed.traffic import all_reduce_bytes
from fuseshard.show.records import Check
from fuseshard.show.words import Word, word

BYTES = "tp-bytes"
ROWS = "tp-rows"
CROSSING = "tp-crossing"
SLICE = "tp-slice"

_MB = 1e6
_NUM_TOKENS, _WIDTH, _NUM_RANKS, _ELEMENT_BYTES = 2 * 4096, 4096, 8, 2  # of the exercise's text

Step = Callable[[torch.Tensor, int, int], torch.Tensor]
"""what a reader writes: (x or gradient, rank, world_size) to the operator's result"""


def check_bytes(answer: object) -> Check:
    """Check the MB that one of 8 ranks sends for a block of width 4096 in a step.

    Args:
        answer: a number in MB (1e6 bytes), or `...`.
    """
    expected = block_bytes(_NUM_TOKENS, _WIDTH, _NUM_RANKS, element_bytes=_ELEMENT_BYTES) / _MB
    activation = _NUM_TOKENS * _WIDTH * _ELEMENT_BYTES
    weights = all_reduce_bytes(12 * _WIDTH * _WIDTH * _ELEMENT_BYTES, _NUM_RANKS)
    slips: dict[float, Word] = {
        activation / _MB: word("That is the size of one activation, not what is sent of it."),
        expected / 2: word("That is one direction; or one of the ring's two halves."),
        expected / 4: word("That is one of the all-reduces of the block."),
        expected * _NUM_RANKS: word("That is what all ranks send together."),
        2 * expected: word("How many bytes does a bfloat16 number take?"),
        weights / _MB: word(
            "That is what data parallelism sends; here weights stay where they are."
        ),
    }
    what = word("Sent by one rank, in MB")
    return check_number(BYTES, answer, expected, what=what, slips=slips)


def rows_of_rank(rank: int, num_ranks: int, num_heads: int, head_width: int) -> list[int]:
    """Return the rows of a fused qkv that a rank holds, queries, then keys, then values.

    Args:
        rank: index of the rank.
        num_ranks: divides num_heads.
        num_heads: attention heads.
        head_width: features of one head.
    """
    width = num_heads * head_width
    share = width // num_ranks
    starts = [part * width + rank * share for part in range(3)]
    return [row for start in starts for row in range(start, start + share)]


def check_rows(answer: object) -> Check:
    """Check a function like `rows_of_rank`.

    Args:
        answer: function of (rank, num_ranks, num_heads, head_width), or `...`.
    """
    cases = [(0, 1, 1, 2), (0, 2, 2, 1), (1, 2, 4, 3), (2, 3, 6, 2), (3, 4, 4, 5)]
    return check_function(ROWS, answer, cases, rows_of_rank)


def crossing_tokens(width: int, weights_per_square: float) -> float:
    """Return for how many tokens tensor and data parallelism send as much for a block.

    Args:
        width: features of a token, D.
        weights_per_square: weights of the block as a multiple of D².
    """
    return weights_per_square * width / 4


def check_crossing(answer: object) -> Check:
    """Check a function like `crossing_tokens`.

    Args:
        answer: function of (width, weights_per_square), or `...`.
    """
    cases = [(64, 12), (4096, 12), (4096, 16), (100, 13)]
    return check_function(CROSSING, answer, cases, crossing_tokens)


def check_slice(forward: object, backward: object) -> Check:
    """Run a reader's operator on two ranks: a slice forward, all gradients together backward.

    Args:
        forward: function of (x, rank, world_size) that returns this rank's slice of the last
            dim, or `...`.
        backward: function of (gradient of the slice, rank, world_size) that returns the gradient
            of x, equal on all ranks, or `...`.

    Communicates:
        what the answer does; right is one all-gather in `backward`.
    """
    if is_open(forward) or is_open(backward):
        return open_question(SLICE)
    for part in (forward, backward):
        if not callable(part):
            kind = type(part).__name__
            return wrong(SLICE, word("This needs a function, got a {kind}.", kind=kind))
    try:
        outcomes = run(_sliced, 2, args=(forward, backward))
    except DistributedError as error:
        return wrong(SLICE, word("On two ranks it fails: {reason}", reason=error.reason))
    if any(is_open(value) for pair in outcomes for value in pair):
        return open_question(SLICE)
    return _judge_slice(outcomes)


def _judge_slice(outcomes: list[tuple[Any, Any]]) -> Check:
    """Judge each rank's slice and gradient."""
    whole = _whole()
    gradients = [_gradient(rank) for rank in range(2)]
    for rank, (piece, gradient) in enumerate(outcomes):
        if not _is_equal(piece, whole[..., 3 * rank : 3 * rank + 3]):
            return wrong(SLICE, word("Rank {rank} has another slice forward.", rank=rank))
        if not _is_equal(gradient, torch.cat(gradients, -1)):
            hint = word("The slices are right, but the gradient on rank {rank} isn't.", rank=rank)
            return wrong(SLICE, hint)
    return right(SLICE)


def _is_equal(found: object, expected: torch.Tensor) -> bool:
    return isinstance(found, torch.Tensor) and torch.equal(found, expected)


def _whole() -> torch.Tensor:
    return torch.arange(24.0).view(2, 2, 6)


def _gradient(rank: int) -> torch.Tensor:
    """Another one on each rank."""
    return torch.arange(12.0).view(2, 2, 3) + 100 * (rank + 1)


def _sliced(rank: int, world_size: int, forward: Step, backward: Step) -> tuple[Any, Any]:
    """Run both steps of the answer on one rank."""
    piece = forward(_whole(), rank, world_size)
    if is_open(piece):
        return piece, ...
    return piece, backward(_gradient(rank), rank, world_size)
