"""Count the collectives that this rank calls, and their bytes, whoever calls them."""

import os
import socket
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor

# Checked on torch 2.11 and 2.13. The class is what torch documents for watching operators, though
# its module has an underscore; from a group's name to the group there is no public way.
from torch.distributed.distributed_c10d import _resolve_process_group  # isort: skip
from torch.utils._python_dispatch import TorchDispatchMode  # isort: skip

from fuseshard.distributed.traffic import CollectiveCall

# struct tcp_info of linux/tcp.h, since Linux 4.19: at byte 144 tcpi_notsent_bytes (handed over,
# still queued); at 200 tcpi_bytes_sent and tcpi_bytes_retrans (sent a second time).
_TCP_INFO_NOT_SENT = struct.Struct("144xI")
_TCP_INFO_SENT = struct.Struct("200xQQ")

# Operators of the namespaces below: what they are, which argument is the payload, and whether
# that argument is one of N parts. Checked on torch 2.11 and 2.13; a test compares with torch.
_OPERATORS: dict[str, tuple[str, int, bool]] = {
    "allreduce_": ("all_reduce", 0, False),
    "allreduce_coalesced_": ("all_reduce", 0, False),
    "allgather_": ("all_gather", 0, False),
    "_allgather_base_": ("all_gather", 0, False),
    "allgather_coalesced_": ("all_gather", 0, False),
    "allgather_into_tensor_coalesced_": ("all_gather", 0, False),
    "reduce_scatter_": ("reduce_scatter", 1, False),
    "_reduce_scatter_base_": ("reduce_scatter", 1, False),
    "reduce_scatter_tensor_coalesced_": ("reduce_scatter", 1, False),
    "alltoall_": ("all_to_all", 1, False),
    "alltoall_base_": ("all_to_all", 1, False),
    "broadcast_": ("broadcast", 0, False),
    "reduce_": ("reduce", 0, False),
    "gather_": ("gather", 1, True),
    "scatter_": ("scatter", 0, True),
    "send": ("send", 0, False),
    "recv_": ("recv", 0, False),
    "recv_any_source_": ("recv", 0, False),
    "barrier": ("barrier", 0, False),
    "monitored_barrier_": ("barrier", 0, False),
    "all_reduce": ("all_reduce", 0, False),
    "all_reduce_": ("all_reduce", 0, False),
    "all_reduce_coalesced": ("all_reduce", 0, False),
    "all_reduce_coalesced_": ("all_reduce", 0, False),
    "all_gather_into_tensor": ("all_gather", 0, True),
    "all_gather_into_tensor_out": ("all_gather", 0, True),
    "all_gather_into_tensor_coalesced": ("all_gather", 0, True),
    "reduce_scatter_tensor": ("reduce_scatter", 0, False),
    "reduce_scatter_tensor_out": ("reduce_scatter", 0, False),
    "reduce_scatter_tensor_coalesced": ("reduce_scatter", 0, False),
    "all_to_all_single": ("all_to_all", 0, False),
    "broadcast": ("broadcast", 0, False),
    "isend": ("send", 0, False),
    "irecv": ("recv", 0, False),
    "shard_dim_alltoall": ("all_to_all", 0, False),
}
_SPACES = ("c10d", "_c10d_functional", "_dtensor")


class CommMeter:
    """Count collectives and their bytes while the context is open, on this rank and thread.

    It sees what passes torch's dispatcher: calls from Python, the functional collectives under
    DTensor and compiled code, FSDP's, and the buckets that DDP's C++ reducer sends during
    backward. None of them takes another path because it is watched.

    ```python
    with CommMeter() as meter:
        loss.backward()
    meter.sent_bytes_per_rank == all_reduce_bytes(gradient_bytes, world_size)
    ```
    """

    def __init__(self) -> None:
        self._calls: list[CollectiveCall] = []
        self._mode = _dispatch_mode(self._count)
        self._wire_bytes = 0
        self._wire_at_start: int | None = None

    @property
    def calls(self) -> tuple[CollectiveCall, ...]:
        """All calls so far, in order."""
        return tuple(self._calls)

    @property
    def payload_bytes(self) -> int:
        """Bytes of all payloads; what a payload is, each formula in `traffic` says."""
        return sum(call.payload_bytes for call in self._calls)

    @property
    def sent_bytes_per_rank(self) -> float:
        """Bytes that a rank has to send, by the formulas in `traffic`, mean over the ranks."""
        return float(sum((call.exact_sent_bytes for call in self._calls), Fraction(0)))

    @property
    def wire_bytes(self) -> int:
        """Bytes that this process really gave to its TCP sockets, the backend's headers included.

        Independent of the count and of the formulas: the kernel's own figure. gloo sends through
        TCP; NCCL on one machine doesn't, and then it says nothing about the collectives. Destroy
        no process group while the meter is open: the counts go with the sockets.
        """
        start = self._wire_at_start
        return self._wire_bytes + (0 if start is None else _tcp_bytes_sent() - start)

    def __enter__(self) -> Self:
        self._wire_at_start = _tcp_bytes_sent()
        self._mode.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trail: TracebackType | None,
    ) -> None:
        self._mode.__exit__(kind, error, trail)
        self._wire_bytes, self._wire_at_start = self.wire_bytes, None

    def _count(self, func: Any, args: Sequence[Any]) -> None:
        if func.namespace not in _SPACES:
            return
        name = func._schema.name.rpartition("::")[2]
        if name == "batch_p2p_ops":
            for kind, tensor in zip(args[0], args[3], strict=True):
                self._calls.append(_call(kind, [tensor, args[-1]]))
        elif name in _OPERATORS:  # the others wait, or move nothing
            self._calls.append(_call(name, args))


def _call(name: str, args: Sequence[Any]) -> CollectiveCall:
    """The record of one operator's call."""
    op, index, is_part = _OPERATORS[name]
    group = _group_of(args)
    tensors = [] if op == "barrier" else list(_tensors(args[index]))
    if any(tensor.is_sparse for tensor in tensors):
        raise ValueError(
            f"CommMeter: {op} got a sparse tensor, required are dense ones (what a sparse one "
            "sends depends on all ranks' entries, which no formula here knows); make it dense"
        )
    num_parts = group.size() if is_part else 1
    return CollectiveCall(
        op=op,
        payload_bytes=num_parts * sum(t.numel() * t.element_size() for t in tensors),
        num_elements=num_parts * sum(t.numel() for t in tensors),
        dtype=", ".join(sorted({str(t.dtype).removeprefix("torch.") for t in tensors})),
        group_size=group.size(),
        group_ranks=tuple(dist.get_process_group_ranks(group)),
        kept_bytes=_kept_bytes(name, args, tensors, group),
    )


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    """All tensors in an operator's argument, a tensor or lists of them."""
    if isinstance(value, torch.Tensor):
        yield value
    else:
        for item in value:
            yield from _tensors(item)


def _kept_bytes(
    name: str, args: Sequence[Any], tensors: list[torch.Tensor], group: dist.ProcessGroup
) -> int | None:
    """Bytes of an all-to-all's input that are for this rank itself, if parts may differ."""
    if name == "alltoall_":
        return tensors[group.rank()].numel() * tensors[group.rank()].element_size()
    splits = {"alltoall_base_": 4, "all_to_all_single": 2}.get(name)
    if splits is None or not args[splits]:
        return None
    (whole,) = tensors
    row_bytes = whole.numel() // max(1, whole.shape[0]) * whole.element_size()
    return int(args[splits][group.rank()]) * row_bytes


def _dispatch_mode(count: Callable[[Any, Sequence[Any]], None]) -> AbstractContextManager[Any]:
    """A dispatch mode that shows each operator to `count` and then runs it unchanged.

    DDP's reducer calls `c10d::allreduce_` from C++ through the dispatcher, on a thread to which
    autograd carries the mode over; hence its buckets are seen.
    """

    class CountingMode(TorchDispatchMode):
        @classmethod
        def ignore_compile_internals(cls) -> bool:
            return True  # else torch.compile runs eagerly under the mode: other collectives

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if any(issubclass(kind, DTensor) for kind in types):
                return NotImplemented  # DTensor first turns into local operators and collectives
            count(func, args)
            return func(*args, **(kwargs or {}))

    return CountingMode()


def _group_of(args: Sequence[Any]) -> dist.ProcessGroup:
    """The process group among an operator's arguments: boxed, or by its name."""
    for arg in args:
        if isinstance(arg, dist.ProcessGroup):
            return arg
        if isinstance(arg, torch.ScriptObject) and "ProcessGroup" in str(arg._type()):
            return dist.ProcessGroup.unbox(arg)
    name: Any = [arg for arg in args if isinstance(arg, str)][-1]
    return _resolve_process_group(name)


def _tcp_bytes_sent() -> int:
    """Bytes that this process has handed to its open TCP sockets, by the kernel's count."""
    total = 0
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # closed meanwhile
            total += _bytes_sent_by(entry)
    return total


def _bytes_sent_by(entry: Path) -> int:
    """Bytes handed to one open file of this process; 0 unless it is a TCP socket."""
    if not os.readlink(entry).startswith("socket:"):  # noqa: PTH115 (it's no path)
        return 0
    with socket.socket(fileno=os.dup(int(entry.name))) as connection:
        is_internet = connection.family in (socket.AF_INET, socket.AF_INET6)
        if not is_internet or connection.type != socket.SOCK_STREAM:
            return 0
        info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    sent, again = _TCP_INFO_SENT.unpack_from(info)
    (not_yet,) = _TCP_INFO_NOT_SENT.unpack_from(info)
    return int(sent - again + not_yet)
