"""Time all-reduces by hand and gloo's own, over sizes and world sizes."""

import random
import time
from collections.abc import Callable, Sequence

import torch
import torch.distributed as dist

from fuseshard.distributed.collectives import (
    recursive_doubling_all_reduce,
    ring_all_reduce,
    tree_all_reduce,
)
from fuseshard.distributed.launcher import run
from fuseshard.distributed.network.records import ALGORITHMS, AllReduceTimes

_CALLS: dict[str, Callable[[torch.Tensor], object]] = dict(
    zip(
        ALGORITHMS,
        (ring_all_reduce, tree_all_reduce, recursive_doubling_all_reduce, dist.all_reduce),
        strict=True,
    )
)
_BYTES = 4  # of a float32


def time_all_reduces(
    sizes_bytes: Sequence[int],
    world_size: int,
    *,
    num_rounds: int = 9,
    repeats: int = 5,
    timeout: float = 60.0,
) -> tuple[AllReduceTimes, ...]:
    """Time ring, tree, recursive doubling and gloo's all-reduce of float32 tensors.

    Rounds time all of them in an order of their own. A call begins after a barrier and lasts until
    its slowest rank is done; the fastest of `repeats` counts, as for the link they are compared
    with.

    Args:
        sizes_bytes: bytes of the tensors, each a multiple of 4 and at least 4.
        world_size: number of ranks, at least 2.
        num_rounds: rounds, at least 1.
        repeats: calls of each in a round, at least 1.
        timeout: seconds for the whole run.

    Returns:
        One record for each algorithm of `ALGORITHMS` and, within it, each size in ascending order.

    Raises:
        ValueError: an argument can't work; nothing was started.
        DistributedError: a rank failed or time ran out.

    Communicates:
        what each algorithm sends, `num_rounds * repeats` times, and a barrier before each.
    """
    _check(sizes_bytes, world_size, num_rounds, repeats)
    sizes = sorted(set(sizes_bytes))
    by_rank = run(_time_calls, world_size, args=(sizes, (num_rounds, repeats)), timeout=timeout)
    records = []
    for algorithm in ALGORITHMS:
        for size in sizes:
            rounds = zip(*(found[algorithm, size] for found in by_rank), strict=True)
            # Rows are ranks, columns repeats: the slowest rank of the fastest call.
            best_s = tuple(min(max(call) for call in zip(*ranks, strict=True)) for ranks in rounds)
            records.append(
                AllReduceTimes(
                    algorithm=algorithm,
                    world_size=world_size,
                    payload_bytes=size,
                    rounds_s=best_s,
                )
            )
    return tuple(records)


def _time_calls(
    rank: int, world_size: int, sizes: list[int], counts: tuple[int, int]
) -> dict[tuple[str, int], list[list[float]]]:
    """Seconds of each call on this rank: algorithm and size -> round -> repeat.

    `counts` are the rounds and the repeats in each.
    """
    num_rounds, repeats = counts
    jobs = [(algorithm, size) for algorithm in ALGORITHMS for size in sizes]
    found: dict[tuple[str, int], list[list[float]]] = {job: [] for job in jobs}
    for algorithm, _ in jobs:
        _CALLS[algorithm](torch.ones(max(sizes) // _BYTES))  # connects the ranks
    for index in range(num_rounds):
        for algorithm, size in random.Random(index).sample(jobs, len(jobs)):
            tensor, seconds = torch.zeros(size // _BYTES), []
            for _ in range(repeats):
                dist.barrier()
                started_s = time.perf_counter()
                _CALLS[algorithm](tensor)
                seconds.append(time.perf_counter() - started_s)
            found[algorithm, size].append(seconds)
    return found


def _check(sizes_bytes: Sequence[int], world_size: int, num_rounds: int, repeats: int) -> None:
    are_sizes = all(isinstance(n, int) and n >= _BYTES and n % _BYTES == 0 for n in sizes_bytes)
    if not sizes_bytes or not are_sizes:
        raise ValueError(
            f"time_all_reduces: sizes_bytes is {tuple(sizes_bytes)}, required are multiples of "
            f"{_BYTES} from {_BYTES} on (the tensors are float32); round them up"
        )
    if world_size < 2 or num_rounds < 1 or repeats < 1:
        raise ValueError(
            f"time_all_reduces: world_size is {world_size}, num_rounds {num_rounds} and repeats "
            f"{repeats}, required are at least 2, 1 and 1 (one rank sends nothing, and a time "
            "needs a call); raise them"
        )
