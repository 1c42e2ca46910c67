"""Room 1: ranks that don't call the same thing."""

from typing import Any

import torch
import torch.distributed as dist

from fuseshard.distributed.lab.detect import require_same, require_same_tensors
from fuseshard.distributed.lab.exhibit import Exhibit

Numbers = list[float]


def other_collective(rank: int, group: dist.ProcessGroup) -> Numbers:
    """One rank reduces, the other broadcasts."""
    numbers = torch.ones(3)
    if rank == 0:
        dist.all_reduce(numbers, group=group)
    else:
        dist.broadcast(numbers, src=1, group=group)
    return numbers.tolist()


def same_collective(rank: int, group: dist.ProcessGroup) -> Numbers:
    """Both reduce."""
    numbers = torch.ones(3)
    dist.all_reduce(numbers, group=group)
    return numbers.tolist()


def other_length(rank: int, group: dist.ProcessGroup) -> Numbers:
    """Add up tensors of 3 and of 5 numbers."""
    numbers = torch.ones(3 + 2 * rank)
    dist.all_reduce(numbers, group=group)
    return numbers.tolist()


def padded_length(rank: int, group: dist.ProcessGroup) -> Numbers:
    """Agree on the largest length first, then pad to it."""
    numbers = torch.ones(3 + 2 * rank)
    length = torch.tensor(len(numbers))
    dist.all_reduce(length, dist.ReduceOp.MAX, group=group)
    padded = torch.zeros(int(length))
    padded[: len(numbers)] = numbers
    dist.all_reduce(padded, group=group)
    return padded.tolist()


def longer_receiver(rank: int, group: dist.ProcessGroup) -> Numbers:
    """Receive 3 numbers into a tensor of 5."""
    numbers = torch.tensor([1.0, 2, 3] if rank == 0 else [0.0] * 5)
    dist.broadcast(numbers, src=0, group=group)
    return numbers.tolist()


def told_receiver(rank: int, group: dist.ProcessGroup) -> Numbers:
    """Send the length before the numbers."""
    length = torch.tensor(3 if rank == 0 else 0)
    dist.broadcast(length, src=0, group=group)
    numbers = torch.tensor([1.0, 2, 3]) if rank == 0 else torch.empty(int(length))
    dist.broadcast(numbers, src=0, group=group)
    return numbers.tolist()


def checked_receiver(rank: int, group: dist.ProcessGroup) -> Numbers:
    """Compare shapes first."""
    numbers = torch.tensor([1.0, 2, 3] if rank == 0 else [0.0] * 5)
    require_same(tuple(numbers.shape), group, name="the shape")
    dist.broadcast(numbers, src=0, group=group)
    return numbers.tolist()


def other_dtype(rank: int, group: dist.ProcessGroup) -> Numbers:
    """Add up floats on one rank and integers on the other."""
    numbers = torch.tensor([5, 5, 5], dtype=(torch.float32, torch.int32)[rank])
    dist.all_reduce(numbers, group=group)
    return numbers.tolist()


def same_dtype(rank: int, group: dist.ProcessGroup) -> Numbers:
    """Convert before the call."""
    numbers = torch.tensor([5, 5, 5], dtype=(torch.float32, torch.int32)[rank])
    numbers = numbers.float()
    dist.all_reduce(numbers, group=group)
    return numbers.tolist()


def checked_dtype(rank: int, group: dist.ProcessGroup) -> Numbers:
    """Compare dtypes first."""
    numbers = torch.tensor([5, 5, 5], dtype=(torch.float32, torch.int32)[rank])
    require_same(numbers.dtype, group, name="the dtype")
    dist.all_reduce(numbers, group=group)
    return numbers.tolist()


def other_reduction(rank: int, group: dist.ProcessGroup) -> Numbers:
    """Average on one rank and add up on the other."""
    gradient = torch.tensor([1.0 + rank])
    op = dist.ReduceOp.AVG if rank == 0 else dist.ReduceOp.SUM
    dist.all_reduce(gradient, op, group=group)
    return gradient.tolist()


def same_reduction(rank: int, group: dist.ProcessGroup) -> Numbers:
    """Average on both."""
    gradient = torch.tensor([1.0 + rank])
    dist.all_reduce(gradient, dist.ReduceOp.AVG, group=group)
    return gradient.tolist()


def checked_reduction(rank: int, group: dist.ProcessGroup) -> Numbers:
    """Compare the results, which have to be equal bit for bit."""
    gradient = torch.tensor([1.0 + rank])
    op = dist.ReduceOp.AVG if rank == 0 else dist.ReduceOp.SUM
    dist.all_reduce(gradient, op, group=group)
    require_same_tensors([("the gradient", gradient)], group)
    return gradient.tolist()


def metrics(rank: int) -> dict[str, torch.Tensor]:
    """Two sums to be added up over ranks; their order differs, as that of a set of names may."""
    own = {"loss": torch.tensor(2.0 + rank), "hits": torch.tensor(30.0 + rank)}
    return own if rank == 0 else dict(reversed(own.items()))


def other_order(rank: int, group: dist.ProcessGroup) -> dict[str, Any]:
    """Add up two tensors in an order that differs by rank."""
    own = metrics(rank)
    for tensor in own.values():
        dist.all_reduce(tensor, group=group)
    return {name: own[name].item() for name in ("loss", "hits")}


def sorted_order(rank: int, group: dist.ProcessGroup) -> dict[str, Any]:
    """Sort the names first."""
    own = metrics(rank)
    for name in sorted(own):
        dist.all_reduce(own[name], group=group)
    return {name: own[name].item() for name in ("loss", "hits")}


def checked_order(rank: int, group: dist.ProcessGroup) -> dict[str, Any]:
    """Compare the names, in their order."""
    own = metrics(rank)
    require_same(list(own), group, name="the order")
    for tensor in own.values():
        dist.all_reduce(tensor, group=group)
    return {name: own[name].item() for name in ("loss", "hits")}


EXHIBITS = (
    Exhibit(
        title="all_reduce / broadcast",
        code=other_collective,
        fixed=same_collective,
        remedy="dist.all_reduce(numbers)",
        under_detail=True,
    ),
    Exhibit(
        title="all_reduce(ones(3 + 2 * rank))",
        code=other_length,
        fixed=padded_length,
        remedy="padded[: len(numbers)] = numbers",
        under_detail=True,
    ),
    Exhibit(
        title="broadcast(3 -> 5)",
        code=longer_receiver,
        fixed=told_receiver,
        revealed=checked_receiver,
        remedy="dist.broadcast(length, src=0)",
        under_detail=True,
    ),
    Exhibit(
        title="all_reduce(float32 / int32)",
        code=other_dtype,
        fixed=same_dtype,
        revealed=checked_dtype,
        remedy="numbers.float()",
        under_detail=True,
    ),
    Exhibit(
        title="all_reduce(AVG / SUM)",
        code=other_reduction,
        fixed=same_reduction,
        revealed=checked_reduction,
        remedy="dist.ReduceOp.AVG",
        under_detail=True,
    ),
    Exhibit(
        title="for tensor in metrics.values()",
        code=other_order,
        fixed=sorted_order,
        revealed=checked_order,
        remedy="for name in sorted(metrics)",
        helpers=(metrics,),
        under_detail=True,
    ),
)
