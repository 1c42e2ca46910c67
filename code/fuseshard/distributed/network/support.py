"""Which collectives gloo runs: every operation tried on real ranks, with its result checked."""

import functools
import operator
from collections.abc import Callable, Mapping, Sequence

import torch
import torch.distributed as dist

from fuseshard.distributed.launcher import run
from fuseshard.distributed.network.records import SupportTrial

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

Tried = tuple[str, str, str, str | None]
"""collective, reduce operation, dtype, and the error's text or None"""
_INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool)
_BITS = {"BAND": operator.and_, "BOR": operator.or_, "BXOR": operator.xor}
_WRONG = "another result than expected"


def collective_support(
    world_size: int = 2,
    dtypes: Sequence[torch.dtype] = DTYPES,
    reduce_ops: Sequence[str] = REDUCE_OPS,
    *,
    timeout: float = 60.0,
) -> tuple[SupportTrial, ...]:
    """Try every collective of gloo with every reduce operation and dtype on real ranks.

    What ran counts as working only if the result is right on every rank; the oracle is the same
    operation on all ranks' inputs in one process.

    Args:
        world_size: number of ranks, 2 to 4 (products of more don't fit the smallest dtypes).
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
    if unknown or not 2 <= world_size <= 4:
        raise ValueError(
            f"collective_support: world_size is {world_size} and unknown reduce_ops are {unknown}, "
            f"required are 2 to 4 ranks and names among {', '.join(REDUCE_OPS)} (a result needs an "
            "oracle, and must fit the dtype); change them"
        )
    by_rank = run(_try_all, world_size, args=(dtypes, reduce_ops), timeout=timeout)
    return tuple(_judge(tried) for tried in zip(*by_rank, strict=True))


def uneven_all_gather(world_size: int = 2, *, timeout: float = 60.0) -> str | None:
    """Try an all-gather into one tensor of parts of different lengths; return what is said.

    Args:
        world_size: number of ranks, at least 2.
        timeout: seconds for the whole run.

    Returns:
        The first rank's error on one line; None if it ran.

    Raises:
        ValueError: there is only one rank, so that nothing is uneven.
        DistributedError: ranks waited for each other.
    """
    if world_size < 2:
        raise ValueError(
            f"uneven_all_gather: world_size is {world_size}, required is at least 2 (one part "
            "can't differ in length); use 2"
        )
    return next((said for said in run(_gather_uneven, world_size, timeout=timeout) if said), None)


def _gather_uneven(rank: int, world_size: int) -> str | None:
    parts = torch.ones(1 + rank)
    whole = torch.empty(world_size * (world_size + 1) // 2)
    return _error_of(lambda: _INTO_ONE["all_gather"](whole, parts))


def _judge(tried: Sequence[Tried]) -> SupportTrial:
    """One trial from what all ranks saw; the first rank that complains gives the reason."""
    collective, reduce_op, dtype, _ = tried[0]
    reason = next((said for *_, said in tried if said), None)
    is_wrong = reason is not None and reason.startswith(_WRONG)
    return SupportTrial(
        collective=collective,
        reduce_op=reduce_op,
        dtype=dtype,
        outcome="wrong" if is_wrong else "works" if reason is None else "refused",
        reason=reason or "",
    )


def _try_all(
    rank: int, world_size: int, dtypes: Sequence[torch.dtype], reduce_ops: Sequence[str]
) -> list[Tried]:
    """All trials on this rank, in an order that all ranks share."""
    tried: list[Tried] = []
    for dtype in dtypes:
        name = str(dtype).removeprefix("torch.")
        inputs = [_numbers(index, world_size, dtype) for index in range(world_size)]
        for collective, reduce in _REDUCING.items():
            for reduce_op in reduce_ops:
                expected = _reduced(inputs, reduce_op)
                act = functools.partial(reduce, rank, inputs[rank].clone(), reduce_op, expected)
                tried.append((collective, reduce_op, name, _error_of(act)))
        for collective, move in _MOVING.items():
            act = functools.partial(move, rank, inputs[rank].clone(), inputs)
            tried.append((collective, "", name, _error_of(act)))
    return tried


def _error_of(act: Callable[[], object]) -> str | None:
    """The first line of what an action raises; None if it doesn't."""
    try:
        act()
    except (RuntimeError, ValueError, TypeError, NotImplementedError) as error:
        line = str(error).strip().splitlines()[0]
        # One of torch's messages holds a raw control character in place of the operation's name.
        return " ".join("".join(c if c.isprintable() else " ? " for c in line).split())
    return None


def _expect(got: torch.Tensor, expected: torch.Tensor | None) -> None:
    if expected is None or not torch.equal(got.to(expected.dtype), expected):
        raise ValueError(f"{_WRONG}: {got.tolist()}")


def _numbers(rank: int, world_size: int, dtype: torch.dtype) -> torch.Tensor:
    """Two small numbers a rank of the group, different on each rank; 0 among them."""
    values = [(rank + place) % 3 for place in range(2 * world_size)]
    return torch.tensor(values, dtype=torch.float32).to(dtype)


def _reduced(inputs: Sequence[torch.Tensor], reduce_op: str) -> torch.Tensor | None:
    """All ranks' inputs reduced in one process; None where the operation means nothing."""
    dtype = inputs[0].dtype
    if reduce_op in _BITS:
        return functools.reduce(_BITS[reduce_op], inputs) if dtype in _INTEGERS else None
    if reduce_op == "PREMUL_SUM" or (reduce_op in ("MIN", "MAX") and dtype.is_complex):
        return None
    wide = torch.complex128 if dtype.is_complex else torch.float64
    stack = torch.stack([tensor.to(wide) for tensor in inputs])
    totals = {"SUM": stack.sum, "AVG": stack.mean, "PRODUCT": stack.prod}
    if reduce_op in totals:
        return totals[reduce_op](dim=0).to(dtype)
    return (stack.amin(dim=0) if reduce_op == "MIN" else stack.amax(dim=0)).to(dtype)


def _all_reduce(rank: int, own: torch.Tensor, op: str, expected: torch.Tensor | None) -> None:
    dist.all_reduce(own, getattr(dist.ReduceOp, op))
    _expect(own, expected)


def _reduce(rank: int, own: torch.Tensor, op: str, expected: torch.Tensor | None) -> None:
    dist.reduce(own, 0, getattr(dist.ReduceOp, op))
    if rank == 0:
        _expect(own, expected)


def _reduce_scatter(rank: int, own: torch.Tensor, op: str, expected: torch.Tensor | None) -> None:
    output = torch.empty_like(own[:2])
    dist.reduce_scatter(output, [part.clone() for part in own.split(2)], getattr(dist.ReduceOp, op))
    _expect(output, None if expected is None else expected.split(2)[rank])


def _reduce_scatter_single(
    rank: int, own: torch.Tensor, op: str, expected: torch.Tensor | None
) -> None:
    output = torch.empty_like(own[:2])
    _INTO_ONE["reduce_scatter"](output, own, getattr(dist.ReduceOp, op))
    _expect(output, None if expected is None else expected.split(2)[rank])


def _broadcast(rank: int, own: torch.Tensor, inputs: Sequence[torch.Tensor]) -> None:
    dist.broadcast(own, src=1)
    _expect(own, inputs[1])


def _all_gather(rank: int, own: torch.Tensor, inputs: Sequence[torch.Tensor]) -> None:
    outputs = [torch.empty_like(own) for _ in inputs]
    dist.all_gather(outputs, own)
    _expect(torch.cat(outputs), torch.cat(list(inputs)))


def _all_gather_single(rank: int, own: torch.Tensor, inputs: Sequence[torch.Tensor]) -> None:
    output = torch.empty_like(torch.cat(list(inputs)))
    _INTO_ONE["all_gather"](output, own)
    _expect(output, torch.cat(list(inputs)))


def _gather(rank: int, own: torch.Tensor, inputs: Sequence[torch.Tensor]) -> None:
    outputs = [torch.empty_like(own) for _ in inputs] if rank == 0 else None
    dist.gather(own, outputs, dst=0)
    if outputs is not None:
        _expect(torch.cat(outputs), torch.cat(list(inputs)))
