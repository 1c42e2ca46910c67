"""What the answers of the chapter on failures are tested with."""

import re
from collections import Counter
from collections.abc import Callable, Sequence

import torch.distributed as dist

from fuseshard.checks.common import (
    check_function,
    check_number,
    is_open,
    open_question,
    right,
    wrong,
)
from fuseshard.distributed.launcher import DistributedError, run
from fuseshard.show.records import Check
from fuseshard.show.words import Word, word

FACTOR = "failures-factor"
BLAME = "failures-blame"
ODD = "failures-odd"
STEPS = "failures-steps"

# Of the exercise's text.
_NUM_MICRO_BATCHES, _NUM_RANKS = 8, 4
_NUM_BATCHES = (5, 3, 4)
_TIMEOUT_S = 10.0
_IS_CONSEQUENCE = re.compile("connection|timed out", re.IGNORECASE)

Report = tuple[int, float, str]
"""rank, seconds after the start, what it said"""
CommonSteps = Callable[[int], object]
"""what a reader writes: own number of batches -> steps that all ranks can take"""


def check_factor(answer: object) -> Check:
    """Check how many times too large a gradient is after two mistakes at once.

    Args:
        answer: a number, or `...`.
    """
    slips: dict[float, Word] = {
        _NUM_MICRO_BATCHES: word("The ranks add up as well, instead of averaging."),
        _NUM_RANKS: word("The micro-batches add up as well, instead of averaging."),
        _NUM_MICRO_BATCHES + _NUM_RANKS: word("Each mistake multiplies what the other leaves."),
        1 / (_NUM_MICRO_BATCHES * _NUM_RANKS): word("That is the right gradient over the wrong."),
    }
    expected = _NUM_MICRO_BATCHES * _NUM_RANKS
    return check_number(FACTOR, answer, expected, what=word("The factor"), slips=slips)


def culprit(reports: Sequence[Report]) -> int | None:
    """Return the rank that failed first for a reason of its own; None if none did.

    Args:
        reports: of the ranks that failed, in any order.
    """
    own = [report for report in reports if not _IS_CONSEQUENCE.search(report[2])]
    return min(own, key=lambda report: report[1])[0] if own else None


def check_culprit(answer: object) -> Check:
    """Check a function like `culprit`.

    Args:
        answer: function of the reports, or `...`.
    """
    closed = "RuntimeError: Connection closed by peer [127.0.0.1]:29838"
    late = "RuntimeError: Timed out waiting 1500ms for recv operation to complete"
    key, memory = "KeyError: 'sample 7'", "killed by SIGKILL"
    cases: list[tuple[list[Report]]] = [
        ([(1, 0.3, key)],),
        ([(0, 0.2, closed), (1, 0.3, key)],),
        ([(2, 0.9, key), (0, 0.5, memory), (1, 0.2, closed)],),
        ([(2, 1.6, late), (0, 1.8, memory), (1, 1.7, closed)],),
        ([(0, 1.6, late), (1, 1.6, late)],),
        ([(0, 1.6, closed.replace("closed", "reset")), (3, 2.0, memory)],),
    ]

    def is_same(got: object, expected: int | None) -> bool:
        return got == expected and isinstance(got, type(expected)) and not isinstance(got, bool)

    return check_function(BLAME, answer, cases, culprit, is_same=is_same)


def odd_ranks(marks: Sequence[str]) -> list[int]:
    """Return the ranks whose fingerprint isn't the most frequent one, in rising order.

    Args:
        marks: a fingerprint per rank; the most frequent one is held by more ranks than any other.
    """
    ((usual, _),) = Counter(marks).most_common(1)
    return [rank for rank, mark in enumerate(marks) if mark != usual]


def check_odd_ranks(answer: object) -> Check:
    """Check a function like `odd_ranks`.

    Args:
        answer: function of the ranks' fingerprints, or `...`.
    """
    cases = [
        (["a1", "a1", "a1"],),
        (["a1", "b2", "a1"],),
        (["b2", "a1", "a1"],),
        (["a1", "b2", "a1", "c3", "a1"],),
        (["c3", "b2", "a1", "a1"],),
        (["a1"],),
    ]

    def is_same(got: object, expected: list[int]) -> bool:
        return isinstance(got, (list, tuple)) and list(got) == expected

    return check_function(ODD, answer, cases, odd_ranks, is_same=is_same)


def check_common_steps(answer: object) -> Check:
    """Run a reader's function on three ranks with 5, 3 and 4 batches.

    Args:
        answer: function of a rank's number of batches, called on all ranks, or `...`.

    Communicates:
        what the answer does; right is one all-reduce of one number.
    """
    if is_open(answer):
        return open_question(STEPS)
    if not callable(answer):
        kind = type(answer).__name__
        return wrong(STEPS, word("This needs a function, got a {kind}.", kind=kind))
    try:
        got = run(_common_steps, len(_NUM_BATCHES), args=(answer,), timeout=_TIMEOUT_S)
    except DistributedError as error:
        return wrong(STEPS, word("On 3 ranks: {reason}", reason=error.reason))
    return open_question(STEPS) if all(map(is_open, got)) else _judge_steps(got)


def _judge_steps(got: Sequence[object]) -> Check:
    """Say whether what the ranks returned is the number of steps that all can take."""
    if any(isinstance(one, bool) or not isinstance(one, int) for one in got):
        return wrong(STEPS, word("It has to return an int on every rank; got {got}.", got=str(got)))
    if len(set(got)) > 1:
        hint = word("The ranks disagree, so one would wait for another: {got}.", got=str(got))
        return wrong(STEPS, hint)
    steps = int(str(got[0]))
    if steps == min(_NUM_BATCHES):
        return right(STEPS, word("Right: all ranks stop with the one that has the fewest."))
    if steps > min(_NUM_BATCHES):
        hint = word("With {got} steps, a rank runs out of batches before the others.", got=steps)
    else:
        hint = word("With {got} steps, batches go unused on all ranks.", got=steps)
    return wrong(STEPS, hint)


def _common_steps(rank: int, world_size: int, answer: CommonSteps) -> object:
    """Run the answer on one rank."""
    steps = answer(_NUM_BATCHES[rank])
    dist.barrier()  # a rank that communicates more or less than the others is found here
    return steps
