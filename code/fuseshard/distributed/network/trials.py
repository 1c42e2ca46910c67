"""One call of each collective with its right result; `support` tries them all.

An action takes this rank, the inputs of all ranks (two numbers for each rank of the group) and,
if it reduces, the name of the operation. It calls the collective with this rank's input and
returns what came out and what should have; None for the first where this rank gets nothing.
"""

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch
import torch.distributed as dist

Inputs = Sequence[torch.Tensor]
Result = tuple[torch.Tensor | None, torch.Tensor | None]
"""what came out, and what should have: None where nobody can say"""
Reduce = Callable[[int, Inputs, str], Result]
Move = Callable[[int, Inputs], Result]

_INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool)
_BITS = {"BAND": operator.and_, "BOR": operator.or_, "BXOR": operator.xor}
# torch 2.13 has new names for these and warns of the old ones; 2.11 has only the old ones.
_GATHER_SINGLE = "all_gather_single" if hasattr(dist, "all_gather_single") else None
_SCATTER_SINGLE = "reduce_scatter_single" if hasattr(dist, "reduce_scatter_single") else None
GATHER_INTO_ONE = _GATHER_SINGLE or "all_gather_into_tensor"
SCATTER_FROM_ONE = _SCATTER_SINGLE or "reduce_scatter_tensor"


def reduced(inputs: Inputs, reduce_op: str) -> torch.Tensor | None:
    """Reduce all ranks' inputs in one process: the oracle.

    Args:
        inputs: one tensor a rank, of one shape and dtype.
        reduce_op: torch's name of the operation.

    Returns:
        The result in the inputs' dtype; None where the operation means nothing for it.
    """
    dtype = inputs[0].dtype
    if reduce_op in _BITS:
        return functools.reduce(_BITS[reduce_op], inputs) if dtype in _INTEGERS else None
    if reduce_op == "PREMUL_SUM" or (reduce_op in ("MIN", "MAX") and dtype.is_complex):
        return None
    wide = torch.complex128 if dtype.is_complex else torch.float64
    stack = torch.stack([tensor.to(wide) for tensor in inputs])
    if reduce_op in ("MIN", "MAX"):
        return (stack.amin(dim=0) if reduce_op == "MIN" else stack.amax(dim=0)).to(dtype)
    if reduce_op == "PRODUCT":
        return stack.prod(dim=0).to(dtype)
    return (stack.sum(dim=0) if reduce_op == "SUM" else stack.mean(dim=0)).to(dtype)


def gather_into_one(output: torch.Tensor, tensor: torch.Tensor) -> None:
    """Call torch's all-gather into one tensor, by the name that this release prefers.

    Args:
        output: overwritten by all ranks' tensors.
        tensor: this rank's part.
    """
    getattr(dist, GATHER_INTO_ONE)(output, tensor)


def _op(name: str) -> Any:
    if name == "PREMUL_SUM":
        # It carries a factor, and this is torch's only way to make one. Checked on torch 2.13.
        return dist._make_nccl_premul_sum(2.0)
    return getattr(dist.ReduceOp, name)


def _all_reduce(rank: int, inputs: Inputs, reduce_op: str) -> Result:
    own = inputs[rank].clone()
    dist.all_reduce(own, _op(reduce_op))
    return own, reduced(inputs, reduce_op)


def _reduce(rank: int, inputs: Inputs, reduce_op: str) -> Result:
    own = inputs[rank].clone()
    dist.reduce(own, 0, _op(reduce_op))
    return own if rank == 0 else None, reduced(inputs, reduce_op)


def _reduce_scatter(rank: int, inputs: Inputs, reduce_op: str) -> Result:
    output = torch.empty_like(inputs[rank][:2])
    parts = [part.clone() for part in inputs[rank].split(2)]
    dist.reduce_scatter(output, parts, _op(reduce_op))
    return output, _part(reduced(inputs, reduce_op), rank)


def _reduce_scatter_single(rank: int, inputs: Inputs, reduce_op: str) -> Result:
    output = torch.empty_like(inputs[rank][:2])
    getattr(dist, SCATTER_FROM_ONE)(output, inputs[rank].clone(), _op(reduce_op))
    return output, _part(reduced(inputs, reduce_op), rank)


def _broadcast(rank: int, inputs: Inputs) -> Result:
    own = inputs[rank].clone()
    dist.broadcast(own, src=1)
    return own, inputs[1]


def _all_gather(rank: int, inputs: Inputs) -> Result:
    outputs = [torch.empty_like(part) for part in inputs]
    dist.all_gather(outputs, inputs[rank].clone())
    return _joined(outputs), _joined(inputs)


def _all_gather_single(rank: int, inputs: Inputs) -> Result:
    output = torch.empty(len(inputs) * inputs[0].numel(), dtype=inputs[0].dtype)
    gather_into_one(output, inputs[rank].clone())
    return output, _joined(inputs)


def _gather(rank: int, inputs: Inputs) -> Result:
    outputs = [torch.empty_like(part) for part in inputs]
    dist.gather(inputs[rank].clone(), outputs if rank == 0 else None, dst=0)
    return _joined(outputs) if rank == 0 else None, _joined(inputs)


def _scatter(rank: int, inputs: Inputs) -> Result:
    output = torch.empty_like(inputs[rank])
    dist.scatter(output, [part.clone() for part in inputs] if rank == 0 else None, src=0)
    return output, inputs[rank]


def _all_to_all(rank: int, inputs: Inputs) -> Result:
    outputs = [torch.empty_like(part[:2]) for part in inputs]
    dist.all_to_all(outputs, [part.clone() for part in inputs[rank].split(2)])
    return _joined(outputs), _swapped(inputs, rank)


def _all_to_all_single(rank: int, inputs: Inputs) -> Result:
    output = torch.empty_like(inputs[rank])
    dist.all_to_all_single(output, inputs[rank].clone())
    return output, _swapped(inputs, rank)


def _send(rank: int, inputs: Inputs) -> Result:
    own = inputs[rank].clone()
    if rank == 0:
        dist.send(own, dst=1)
    if rank == 1:
        dist.recv(own, src=0)
    return own if rank == 1 else None, inputs[0]


def _part(whole: torch.Tensor | None, rank: int) -> torch.Tensor | None:
    return None if whole is None else whole.split(2)[rank]


def _joined(parts: Inputs) -> torch.Tensor:
    """All parts one after another, in a dtype that every operation here knows."""
    return torch.cat([comparable(part) for part in parts])


def _swapped(inputs: Inputs, rank: int) -> torch.Tensor:
    return _joined([part.split(2)[rank] for part in inputs])


def comparable(tensor: torch.Tensor) -> torch.Tensor:
    """Return the same numbers in a dtype that can be joined and compared.

    Args:
        tensor: any dtype; not modified.
    """
    return tensor.to(torch.complex128 if tensor.is_complex() else torch.float64)


REDUCING: Mapping[str, Reduce] = MappingProxyType(
    {
        "all_reduce": _all_reduce,
        "reduce": _reduce,
        "reduce_scatter": _reduce_scatter,
        SCATTER_FROM_ONE: _reduce_scatter_single,
    }
)
"""torch's name -> action"""
MOVING: Mapping[str, Move] = MappingProxyType(
    {
        "broadcast": _broadcast,
        "all_gather": _all_gather,
        GATHER_INTO_ONE: _all_gather_single,
        "gather": _gather,
        "scatter": _scatter,
        "all_to_all": _all_to_all,
        "all_to_all_single": _all_to_all_single,
        "send": _send,
    }
)
"""torch's name -> action"""
