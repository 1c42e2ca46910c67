"""What the answers of the chapter on sharding are tested with."""

from collections.abc import Callable, Sequence

import torch
import torch.distributed as dist

from fuseshard.checks.common import (
    as_number,
    check_function,
    check_number,
    is_close,
    is_open,
    open_question,
    right,
    wrong,
)
from fuseshard.distributed.launcher import DistributedError, run
from fuseshard.distributed.meter import CommMeter
from fuseshard.distributed.zero.formulas import model_state_bytes, step_traffic_bytes
from fuseshard.distributed.zero.records import MIXED
from fuseshard.show.records import Check
from fuseshard.show.words import Word, word

MEMORY = "fsdp-memory"
ROWS = "fsdp-rows"
HYBRID = "fsdp-hybrid"
NORM = "fsdp-norm"

_GB = 1e9
_NUM_PARAMETERS, _NUM_RANKS = 7e9, 8  # of the first exercise's text
_NORM_RANKS = 3

Norm = Callable[[Sequence[torch.Tensor]], object]
"""what a reader writes: from this rank's shards to the norm of all gradients"""


def check_memory(answer: object) -> Check:
    """Check the GB of model states that one of 8 ranks keeps under ZeRO-2, mixed precision.

    Args:
        answer: a number in GB (1e9 bytes), or `...`.
    """
    stages = [
        model_state_bytes(_NUM_PARAMETERS, _NUM_RANKS, stage, each=MIXED).total / _GB
        for stage in range(4)
    ]
    slips: dict[float, Word] = {
        stages[0]: word("That is with nothing sharded."),
        stages[1]: word("Stage 2 divides the gradients as well."),
        stages[3]: word("Stage 2 leaves the parameters whole."),
        stages[2] * 4: word("How many bytes do 16-bit parameters take?"),
    }
    what = word("Kept by one rank, in GB")
    return check_number(MEMORY, answer, stages[2], what=what, slips=slips)


def shard_rows(num_rows: int, world_size: int) -> list[int]:
    """Return how many rows of a parameter each rank keeps under `fully_shard`.

    Args:
        num_rows: size of the parameter's first dimension.
        world_size: number of ranks.

    Returns:
        rows of each rank, as `torch.chunk` cuts them; the last ranks may get fewer, or none.
    """
    most = -(-num_rows // world_size)
    return [min(most, max(0, num_rows - rank * most)) for rank in range(world_size)]


def check_rows(answer: object) -> Check:
    """Check a function like `shard_rows`.

    Args:
        answer: function of (num_rows, world_size), or `...`.
    """
    cases = [(8, 2), (13, 3), (5, 4), (2, 3), (600, 7), (9, 8), (0, 2)]
    return check_function(ROWS, answer, cases, shard_rows)


def hybrid_bytes(parameter_bytes: float, num_shards: int, num_replicas: int) -> float:
    """Return what a rank sends in a step if groups of shards are replicated, with resharding.

    Args:
        parameter_bytes: of the whole model.
        num_shards: ranks among which one copy of the model is cut.
        num_replicas: copies.
    """
    within = step_traffic_bytes(parameter_bytes, num_shards, 3)
    return within + step_traffic_bytes(parameter_bytes / num_shards, num_replicas, 0)


def check_hybrid(answer: object) -> Check:
    """Check a function like `hybrid_bytes`.

    Args:
        answer: function of (parameter_bytes, num_shards, num_replicas), or `...`.
    """
    cases = [(1200, 4, 1), (1200, 1, 4), (1200, 2, 2), (4800, 4, 2), (4800, 8, 3)]
    return check_function(HYBRID, answer, cases, hybrid_bytes)


def check_norm(answer: object) -> Check:
    """Run a reader's norm of all gradients on three ranks that hold shards of them.

    Args:
        answer: function of this rank's shards that returns the norm over all ranks, or `...`.

    Communicates:
        what the answer does; right is one all-reduce of one number.
    """
    if is_open(answer):
        return open_question(NORM)
    if not callable(answer):
        kind = type(answer).__name__
        return wrong(NORM, word("This needs a function, got a {kind}.", kind=kind))
    try:
        outcomes = run(_norm_on_a_rank, _NORM_RANKS, args=(answer,), timeout=15.0)
    except DistributedError as error:
        hint = word("On three ranks it fails: {reason}", reason=error.reason)
        return wrong(NORM, hint)
    if all(is_left_open for _, _, is_left_open in outcomes):
        return open_question(NORM)
    return _judge_norm([(found, sent) for found, sent, _ in outcomes])


def _judge_norm(outcomes: Sequence[tuple[float | None, int]]) -> Check:
    """Judge each rank's number and the bytes that it gave to collectives."""
    if any(found is None for found, _ in outcomes):
        return wrong(NORM, word("The result isn't one number on every rank."))
    expected = float(
        torch.cat([part for rank in range(_NORM_RANKS) for part in _shards(rank)]).norm()
    )
    locals_ = [float(torch.cat(_shards(rank)).norm()) for rank in range(_NORM_RANKS)]
    numbers = [found for found, _ in outcomes if found is not None]
    if all(is_close(found, own, 1e-9) for found, own in zip(numbers, locals_, strict=True)):
        return wrong(NORM, word("Each rank has the norm of its own shards alone."))
    if all(is_close(found, sum(locals_), 1e-9) for found in numbers):
        return wrong(NORM, word("Norms don't add up; what does?"))
    if not all(is_close(found, expected, 1e-9) for found in numbers):
        return wrong(NORM, word("That isn't the norm of all gradients."))
    if max(sent for _, sent in outcomes) > 8:
        hint = word("Right, but it sends more than one number: the shards can stay where they are.")
        return wrong(NORM, hint)
    return right(NORM, word("Right, with one number sent."))


def _shards(rank: int) -> list[torch.Tensor]:
    """Shards of two gradients; the last rank holds less of the first and nothing of the second."""
    generator = torch.Generator().manual_seed(1 + rank)
    sizes = [(5, 2), (5, 2), (3, 0)][rank]
    return [torch.randn(size, generator=generator, dtype=torch.float64) for size in sizes]


def _norm_on_a_rank(rank: int, world_size: int, norm: Norm) -> tuple[float | None, int, bool]:
    """Run the answer on one rank; return the number, the payload sent, whether `...` came back."""
    with CommMeter() as meter:
        found = norm(_shards(rank))
    dist.barrier()  # so that no rank leaves while another still waits for it
    return as_number(found), meter.payload_bytes, is_open(found)
