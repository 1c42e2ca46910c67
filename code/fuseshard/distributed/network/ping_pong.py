"""Time messages of several sizes between two ranks, and fit a line."""

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist

from fuseshard.distributed.launcher import run
from fuseshard.distributed.network.fit import MIN_ROUNDS, MIN_SIZES, fit_link
from fuseshard.distributed.network.records import Link, LinkTimes, Pattern

SIZES_BYTES = (4, 1 << 10, 1 << 13, 1 << 16, 1 << 18, 1 << 20, 1 << 22)
"""from a single number to more than the processor's caches hand over at once"""
NUM_ROUNDS = 12
REPEATS = 12
_PATTERNS = ("one way", "both ways")
Rows = tuple[tuple[float, ...], ...]
"""seconds, a row a round and in it one a size"""


def measure_link(
    pattern: Pattern = "one way",
    sizes_bytes: Sequence[int] = SIZES_BYTES,
    *,
    num_rounds: int = NUM_ROUNDS,
    repeats: int = REPEATS,
    timeout: float = 60.0,
) -> tuple[LinkTimes, Link]:
    """Measure what messages between two gloo ranks of this machine cost; return times and fit.

    Args:
        pattern: "one way" for ping-pong, of which a message is half; "both ways" for both ranks
            sending at the same time, as in a ring or a swap.
        sizes_bytes: sizes of the messages, at least 3 different ones of at least 1 byte.
        num_rounds: rounds, at least 8; each one times all sizes in an order of its own.
        repeats: messages a size and round, at least 1; the fastest counts, because whatever else
            runs on the machine only ever adds time.
        timeout: seconds for the whole run.

    Raises:
        ValueError: an argument can't work; nothing was started.
        DistributedError: a rank failed or time ran out.

    Communicates:
        2 messages of each size from each rank, a repeat and round, the first `repeats` more.
    """
    _check(pattern, sizes_bytes, num_rounds, repeats)
    sizes = tuple(sorted(set(sizes_bytes)))
    plan = _Plan(pattern=pattern, sizes=sizes, num_rounds=num_rounds, repeats=repeats)
    sent, added = run(_time_messages, 2, args=(plan,), timeout=timeout)[0]
    times = LinkTimes(
        pattern=pattern,
        sizes_bytes=sizes,
        rounds_s=sent,
        adding_rounds_s=added,
        repeats=repeats,
    )
    return times, fit_link(times)


@dataclass(frozen=True, kw_only=True)
class _Plan:
    """What both ranks do."""

    pattern: Pattern
    sizes: tuple[int, ...]
    num_rounds: int
    repeats: int


def _time_messages(rank: int, world_size: int, plan: _Plan) -> tuple[Rows, Rows]:
    """Seconds of one message and of one addition on this rank."""
    for size in plan.sizes:  # connects the ranks and warms the buffers up
        _best_of(2, rank, plan.pattern, size)
    sent, added = [], []
    for index in range(plan.num_rounds):
        order = random.Random(index).sample(plan.sizes, len(plan.sizes))
        message = {size: _best_of(plan.repeats, rank, plan.pattern, size) for size in order}
        addition = {size: _best_addition(plan.repeats, size) for size in order}
        sent.append(tuple(message[size] for size in plan.sizes))
        added.append(tuple(addition[size] for size in plan.sizes))
    return tuple(sent), tuple(added)


def _best_addition(repeats: int, size: int) -> float:
    """Seconds of the fastest addition of a tensor that had to be received first."""
    own, received = (torch.zeros(max(1, size // 4)) for _ in range(2))
    best_s = float("inf")
    for _ in range(repeats):
        received.fill_(1.0)
        started_s = time.perf_counter()
        own.add_(received)
        best_s = min(best_s, time.perf_counter() - started_s)
    return best_s


def _best_of(repeats: int, rank: int, pattern: Pattern, size: int) -> float:
    """Seconds of the fastest message."""
    outgoing, incoming = (torch.zeros(size, dtype=torch.uint8) for _ in range(2))
    play, num_messages = (_swap, 1) if pattern == "both ways" else (_there_and_back, 2)
    best_s = float("inf")
    dist.barrier()
    for _ in range(repeats):
        started_s = time.perf_counter()
        play(rank, outgoing, incoming)
        best_s = min(best_s, (time.perf_counter() - started_s) / num_messages)
    return best_s


def _swap(rank: int, outgoing: torch.Tensor, incoming: torch.Tensor) -> None:
    """Send while the other rank sends."""
    for work in (dist.isend(outgoing, 1 - rank), dist.irecv(incoming, 1 - rank)):
        if work is not None:
            work.wait()


def _there_and_back(rank: int, outgoing: torch.Tensor, incoming: torch.Tensor) -> None:
    """Send a message and wait for the answer, or the other way round."""
    if rank == 0:
        dist.send(outgoing, 1)
        dist.recv(incoming, 1)
    else:
        dist.recv(incoming, 0)
        dist.send(outgoing, 0)


def _check(pattern: str, sizes_bytes: Sequence[int], num_rounds: int, repeats: int) -> None:
    if pattern not in _PATTERNS:
        raise ValueError(
            f"measure_link: pattern is {pattern!r}, required is one of {', '.join(_PATTERNS)} "
            "(they are timed differently); pass one of them"
        )
    are_sizes = all(isinstance(size, int) and size >= 1 for size in sizes_bytes)
    if len(set(sizes_bytes)) < MIN_SIZES or not are_sizes:
        raise ValueError(
            f"measure_link: sizes_bytes is {tuple(sizes_bytes)}, required are at least "
            f"{MIN_SIZES} different sizes of at least 1 byte (two points fit any line, and an "
            "empty message isn't sent); add sizes between a few bytes and a few MiB"
        )
    if num_rounds < MIN_ROUNDS or repeats < 1:
        raise ValueError(
            f"measure_link: num_rounds is {num_rounds} and repeats {repeats}, required are at "
            f"least {MIN_ROUNDS} and 1 (fewer rounds give no interval of 99 %); raise them"
        )
