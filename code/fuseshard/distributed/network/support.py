"""Which collectives gloo runs: every operation tried on real ranks, with its result checked."""

import functools
from collections.abc import Callable, Sequence

import torch

from fuseshard.distributed.launcher import run
from fuseshard.distributed.network.records import SupportTrial
from fuseshard.distributed.network.trials import (
    MOVING,
    REDUCING,
    Result,
    comparable,
    gather_into_one,
)

DTYPES = (
    torch.float64,
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.float8_e4m3fn,
    torch.complex64,
    torch.int64,
    torch.int32,
    torch.int16,
    torch.int8,
    torch.uint8,
    torch.bool,
)
REDUCE_OPS = ("SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR", "PREMUL_SUM")
MAX_RANKS = 4
"""the sums and products of more don't fit the smallest dtypes"""

Tried = tuple[str, str, str, str | None]
"""collective, reduce operation, dtype, and the error's text or None"""
_WRONG = "another result than expected"


def collective_support(
    world_size: int = 2,
    *,
    dtypes: Sequence[torch.dtype] = DTYPES,
    reduce_ops: Sequence[str] = REDUCE_OPS,
    timeout: float = 60.0,
) -> tuple[SupportTrial, ...]:
    """Try every collective of gloo with every reduce operation and dtype on real ranks.

    What ran counts as working only if the result is right on every rank; the oracle is the same
    operation on all ranks' inputs in one process.

    Args:
        world_size: number of ranks, 2 to 4.
        dtypes: element types.
        reduce_ops: names among `REDUCE_OPS`.
        timeout: seconds for the whole run.

    Raises:
        ValueError: an argument can't work; nothing was started.
        DistributedError: a rank failed outside of a trial, or ranks waited for each other.

    Communicates:
        a few elements for each trial.
    """
    unknown = sorted(set(reduce_ops) - set(REDUCE_OPS))
    if unknown or not 2 <= world_size <= MAX_RANKS:
        raise ValueError(
            f"collective_support: world_size is {world_size} and unknown reduce_ops are {unknown}, "
            f"required are 2 to {MAX_RANKS} ranks and names among {', '.join(REDUCE_OPS)} (a "
            "result needs an oracle, and must fit the dtype); change them"
        )
    by_rank = run(_try_all, world_size, args=(dtypes, reduce_ops), timeout=timeout)
    return tuple(_judge(tried) for tried in zip(*by_rank, strict=True))


def uneven_all_gather(*, timeout: float = 60.0) -> str | None:
    """Try an all-gather into one tensor of 1 element from rank 0 and 2 from rank 1.

    Args:
        timeout: seconds for the whole run.

    Returns:
        The first rank's error on one line; None if it ran.

    Raises:
        DistributedError: ranks waited for each other.
    """
    return next((said for said in run(_gather_uneven, 2, timeout=timeout) if said), None)


def _gather_uneven(rank: int, world_size: int) -> str | None:
    whole = torch.empty(3)
    return _error_of(lambda: gather_into_one(whole, torch.ones(1 + rank)))


def _judge(tried: Sequence[Tried]) -> SupportTrial:
    """One trial from what all ranks saw; the first rank that complains gives the reason."""
    collective, reduce_op, dtype, _ = tried[0]
    reason = next((said for *_, said in tried if said), "")
    ran = "wrong" if reason.startswith(_WRONG) else "refused"
    return SupportTrial(
        collective=collective,
        reduce_op=reduce_op,
        dtype=dtype,
        outcome=ran if reason else "works",  # type: ignore[arg-type]  # one of three literals
        reason=reason,
    )


def _try_all(
    rank: int, world_size: int, dtypes: Sequence[torch.dtype], reduce_ops: Sequence[str]
) -> list[Tried]:
    """All trials on this rank, in an order that all ranks share."""
    tried: list[Tried] = []
    for dtype in dtypes:
        name = str(dtype).removeprefix("torch.")
        inputs = [_numbers(index, world_size, dtype) for index in range(world_size)]
        actions: list[tuple[str, str, Callable[[], Result]]] = [
            (collective, reduce_op, functools.partial(act, rank, inputs, reduce_op))
            for collective, act in REDUCING.items()
            for reduce_op in reduce_ops
        ]
        actions += [
            (collective, "", functools.partial(move, rank, inputs))
            for collective, move in MOVING.items()
        ]
        for collective, reduce_op, action in actions:
            said = _error_of(functools.partial(_run_and_compare, action))
            tried.append((collective, reduce_op, name, said))
    return tried


def _run_and_compare(action: Callable[[], Result]) -> None:
    got, expected = action()
    if got is None:
        return  # this rank gets nothing
    if expected is None or not torch.equal(comparable(got), comparable(expected)):
        raise ValueError(f"{_WRONG}: {got.tolist()}")


def _numbers(rank: int, world_size: int, dtype: torch.dtype) -> torch.Tensor:
    """Two small numbers for each rank of the group, other ones on each rank, 0 among them."""
    values = [(rank + place) % 3 for place in range(2 * world_size)]
    return torch.tensor(values, dtype=torch.float32).to(dtype)


def _error_of(act: Callable[[], object]) -> str | None:
    """The first line of what an action raises; None if it doesn't."""
    try:
        act()
    except (RuntimeError, ValueError, TypeError, NotImplementedError) as error:
        line = str(error).strip().splitlines()[0]
        # Some of torch's messages hold a raw control character in place of the operation's name.
        return " ".join("".join(c if c.isprintable() else " ? " for c in line).split())
    return None
