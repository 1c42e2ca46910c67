"""What the answers of the chapter on process groups are tested with."""

from collections.abc import Callable, Sequence

import torch
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
from fuseshard.distributed.network.predict import (
    predict_ring_all_reduce,
    predict_tree_all_reduce,
    tree_depth,
)
from fuseshard.distributed.network.records import Link
from fuseshard.show.records import Check
from fuseshard.show.words import Word, word

RATIO = "groups-ratio"
CROSSING = "groups-crossing"
MISMATCH = "groups-mismatch"
BROADCAST = "groups-broadcast"

# Of the exercise's text.
_ALPHA_S, _BANDWIDTH, _NUM_RANKS, _PAYLOAD_BYTES = 10e-6, 10e9, 64, 4096
_WORLD_SIZES = (4, 3)
_TIMEOUT_S = 12.0

Pass = Callable[[torch.Tensor, int], None]
"""send(tensor, to) or recv(tensor, source)"""
Broadcast = Callable[[torch.Tensor, int, int, Pass, Pass], object]
"""what a reader writes: (tensor, rank, world_size, send, recv)"""
Log = list[tuple[str, int]]
"""what a rank did: ("send" or "recv", the other rank)"""
Outcome = tuple[list[float], Log, bool]
"""what a rank holds then, what it did, and whether `...` came back"""


def check_ratio(answer: object) -> Check:
    """Check how many times as long as a tree a ring takes for 4 KiB on 64 ranks.

    Args:
        answer: a number, or `...`.
    """
    link = Link.stated(_ALPHA_S, _BANDWIDTH)
    ring = predict_ring_all_reduce(link, _PAYLOAD_BYTES, _NUM_RANKS).value
    tree = predict_tree_all_reduce(link, _PAYLOAD_BYTES, _NUM_RANKS).value
    slips: dict[float, Word] = {
        tree / ring: word("That is the tree's time over the ring's."),
        ring / (tree / 2): word("A tree goes up and down again."),
        (ring / 2) / tree: word("A ring goes round twice."),
        ring / 1e-6: word("That is the ring's time in µs; divide by the tree's."),
    }
    what = word("Ring over tree")
    return check_number(RATIO, answer, ring / tree, what=what, slips=slips)


def crossing_bytes(alpha_s: float, beta_s_per_byte: float, world_size: int) -> float:
    """Return the size above which a ring takes less time than a tree; additions are free.

    Args:
        alpha_s: seconds that a message costs.
        beta_s_per_byte: seconds that each byte adds.
        world_size: number of ranks, at least 2.
    """
    depth, steps = tree_depth(world_size), world_size - 1
    return (steps - depth) / (depth - steps / world_size) * alpha_s / beta_s_per_byte


def check_crossing(answer: object) -> Check:
    """Check a function like `crossing_bytes`.

    Args:
        answer: function of (alpha_s, beta_s_per_byte, world_size), or `...`.
    """
    cases = [
        (8e-6, 1e-9, 8),
        (8e-6, 1e-9, 2),
        (1e-6, 2e-11, 64),
        (5e-5, 2e-10, 5),
        (5e-5, 2e-10, 3),
    ]
    return check_function(CROSSING, answer, cases, crossing_bytes)


def first_mismatch(calls: Sequence[Sequence[object]]) -> int | None:
    """Return the index of the first call in which ranks differ; None if they agree.

    Args:
        calls: what each rank calls, in order; a rank may call less than another.
    """
    for index in range(max(map(len, calls))):
        if len({str(own[index : index + 1]) for own in calls}) > 1:
            return index
    return None


def check_mismatch(answer: object) -> Check:
    """Check a function like `first_mismatch`.

    Args:
        answer: function of the ranks' lists of calls, or `...`.
    """
    reduce, gather = ("all_reduce", (3,)), ("all_gather", (3,))
    cases = [
        ([[reduce, gather], [reduce, gather]],),
        ([[reduce, gather], [gather, reduce]],),
        ([[reduce, gather], [reduce, gather], [reduce, reduce]],),
        ([[reduce, reduce], [reduce]],),
        ([[reduce], [reduce], [("all_reduce", (4,))]],),
        ([[], []],),
        ([[gather], []],),
    ]

    def is_same(got: object, expected: int | None) -> bool:
        return got == expected and isinstance(got, type(expected)) and not isinstance(got, bool)

    return check_function(MISMATCH, answer, cases, first_mismatch, is_same=is_same)


def check_broadcast(answer: object) -> Check:
    """Run a reader's broadcast from rank 0 on 4 and on 3 ranks; count its rounds.

    Args:
        answer: function of (tensor, rank, world_size, send, recv), or `...`.

    Communicates:
        what the answer does; right is N - 1 tensors in ceil(log2 N) rounds.
    """
    if is_open(answer):
        return open_question(BROADCAST)
    if not callable(answer):
        kind = type(answer).__name__
        return wrong(BROADCAST, word("This needs a function, got a {kind}.", kind=kind))
    for world_size in _WORLD_SIZES:
        try:
            outcomes = run(_broadcast, world_size, args=(answer,), timeout=_TIMEOUT_S)
        except DistributedError as error:
            hint = word("On {ranks} ranks: {reason}", ranks=world_size, reason=error.reason)
            return wrong(BROADCAST, hint)
        if all(is_left_open for *_, is_left_open in outcomes):
            return open_question(BROADCAST)
        if hint_or_none := _judge(outcomes):
            return wrong(BROADCAST, hint_or_none)
    return right(BROADCAST, word("Right: after each round, twice as many ranks hold the tensor."))


def _broadcast(rank: int, world_size: int, answer: Broadcast) -> Outcome:
    """Run the answer on one rank."""
    tensor = torch.arange(3.0) + 10 * (rank + 1)
    log: Log = []

    def send(what: torch.Tensor, to: int) -> None:
        log.append(("send", to))
        dist.send(what, to)

    def recv(where: torch.Tensor, source: int) -> None:
        log.append(("recv", source))
        dist.recv(where, source)

    returned = answer(tensor, rank, world_size, send, recv)
    return tensor.tolist(), log, is_open(returned)


def _judge(outcomes: Sequence[Outcome]) -> Word | None:
    """Say what is wrong with a broadcast that ended on all ranks."""
    ranks = len(outcomes)
    source = (torch.arange(3.0) + 10).tolist()
    for rank, (held, *_) in enumerate(outcomes):
        if held != source:
            return word(
                "After the call, rank {rank} of {ranks} doesn't hold rank 0's tensor.",
                rank=rank,
                ranks=ranks,
            )
    rounds, limit = rounds_of([log for _, log, _ in outcomes]), tree_depth(ranks)
    if rounds > limit:
        return word(
            "All {ranks} ranks hold it, after {rounds} rounds; it can be done in {limit}.",
            ranks=ranks,
            rounds=rounds,
            limit=limit,
        )
    return None


def rounds_of(logs: Sequence[Log]) -> int:
    """Count the rounds of messages, if each takes one and occupies both of its ends.

    Args:
        logs: what each rank did, in order; every send has its receive.

    Raises:
        ValueError: a send or a receive is left over.
    """
    left = [list(log) for log in logs]
    clocks = [0] * len(logs)
    while any(left):
        for rank, own in enumerate(left):
            kind, peer = own[0] if own else ("", rank)
            if kind == "send" and left[peer] and left[peer][0] == ("recv", rank):
                clocks[rank] = clocks[peer] = 1 + max(clocks[rank], clocks[peer])
                own.pop(0)
                left[peer].pop(0)
                break
        else:
            raise ValueError(
                f"rounds_of: {left} are left over, required is a receive for every send (they are "
                "paired in order); pass the logs of a call that ended"
            )
    return max(clocks)
