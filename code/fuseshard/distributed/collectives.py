"""Collectives by hand, from sends and receives between ranks.

N = ranks of the group, S = elements of the tensor; a chunk has S/N elements (one more or less).
"""

from collections.abc import Iterator

import torch
import torch.distributed as dist

Group = dist.ProcessGroup | None
"""ranks that take part; None means all"""


def ring_all_reduce(tensor: torch.Tensor, group: Group = None) -> None:
    """Sum `tensor` over all ranks of the group, in place, by passing chunks round a ring.

    Cut the tensor into N chunks. In N - 1 steps each rank passes one chunk to its right neighbour
    and adds the one from its left: then rank r holds the finished sum of chunk r + 1.
    In N - 1 more steps the finished chunks go round once. No rank is a bottleneck, and what
    a rank sends hardly depends on N.

    Args:
        tensor: any shape and strides, equal shape and dtype on all ranks; overwritten by the sum.
        group: ranks that take part; None means all.

    Raises:
        ValueError: this rank isn't in the group, or elements of the tensor share their place.

    Communicates:
        2 (N - 1) chunks sent to the right neighbour, see `all_reduce_bytes`.

    Source:
        Patarasuk and Yuan 2009, doi:10.1016/j.jpdc.2008.09.002.
    """
    size, rank = _place("ring_all_reduce", group)
    flat = _flat("ring_all_reduce", tensor)  # a copy where the strides have gaps
    chunks = flat.tensor_split(size)
    for step in range(size - 1):
        received = torch.empty_like(chunks[(rank - step - 1) % size])
        _pass_on(chunks[(rank - step) % size], received, group)  # sends S/N elements
        chunks[(rank - step - 1) % size].add_(received)
    for step in range(size - 1):
        _pass_on(chunks[(rank - step + 1) % size], chunks[(rank - step) % size], group)  # S/N
    _put_back(flat, tensor)
    # in all: 2 (N - 1) S/N elements


def ring_reduce_scatter(output: torch.Tensor, tensor: torch.Tensor, group: Group = None) -> None:
    """Sum `tensor` over the ranks and leave its r-th of N equal parts in rank r's `output`.

    The first half of `ring_all_reduce`, begun one chunk earlier, so that rank r ends with chunk r.

    Args:
        output: any shape of S/N elements, contiguous; overwritten by this rank's part of the sum.
        tensor: S elements in the order of their parts, equal shape on all ranks; not modified.
        group: ranks that take part; None means all.

    Raises:
        ValueError: this rank isn't in the group, or the sizes, dtypes or strides don't fit.

    Communicates:
        N - 1 chunks sent to the right neighbour, see `reduce_scatter_bytes`.
    """
    size, rank = _place("ring_reduce_scatter", group)
    _check_parts("ring_reduce_scatter", tensor, output, size, written=output)
    # A copy of its own: partial sums are collected in it.
    chunks = tensor.detach().flatten().clone().tensor_split(size)
    for step in range(size - 1):
        received = torch.empty_like(chunks[(rank - step - 2) % size])
        _pass_on(chunks[(rank - step - 1) % size], received, group)  # sends S/N elements
        chunks[(rank - step - 2) % size].add_(received)
    output.detach().view(-1).copy_(chunks[rank])
    # in all: (N - 1) S/N elements


def ring_all_gather(output: torch.Tensor, tensor: torch.Tensor, group: Group = None) -> None:
    """Put the ranks' tensors one after another into `output`, on every rank.

    The second half of `ring_all_reduce`: in N - 1 steps each rank passes on what it got last.

    Args:
        output: any shape of S elements, contiguous; overwritten by all parts in rank order.
        tensor: this rank's part, S/N elements, equal shape on all ranks; not modified.
        group: ranks that take part; None means all.

    Raises:
        ValueError: this rank isn't in the group, or the sizes, dtypes or strides don't fit.

    Communicates:
        N - 1 parts sent to the right neighbour, see `all_gather_bytes`.
    """
    size, rank = _place("ring_all_gather", group)
    _check_parts("ring_all_gather", output, tensor, size, written=output)
    chunks = output.detach().view(-1).tensor_split(size)
    chunks[rank].copy_(tensor.detach().flatten())
    for step in range(size - 1):
        _pass_on(chunks[(rank - step) % size], chunks[(rank - step - 1) % size], group)  # S/N
    # in all: (N - 1) S/N elements


def tree_all_reduce(tensor: torch.Tensor, group: Group = None) -> None:
    """Sum `tensor` over all ranks of the group, in place, up a binomial tree and down again.

    In round k = 0, 1, ... ranks that are odd multiples of 2**k send all they have to the rank
    2**k below, which adds it, and are done; after ceil(log2 N) rounds rank 0 holds the sum.
    The same way back hands it out. Few rounds, but the whole tensor in each of them.

    Args:
        tensor: any shape and strides, equal shape and dtype on all ranks; overwritten by the sum.
        group: ranks that take part; None means all.

    Raises:
        ValueError: this rank isn't in the group, or elements of the tensor share their place.

    Communicates:
        2 (N - 1) tensors sent by all ranks together, see `tree_all_reduce_bytes`.

    Source:
        Thakur, Rabenseifner and Gropp 2005, doi:10.1177/1094342005051521.
    """
    size, rank = _place("tree_all_reduce", group)
    flat = _flat("tree_all_reduce", tensor)
    received = torch.empty_like(flat)
    distances = list(_powers_of_two(size))
    for distance in distances:  # up to rank 0
        if rank % (2 * distance) == distance:
            _exchange(flat, None, rank - distance, group)  # sends S elements
            break
        if rank % distance == 0 and rank + distance < size:
            _exchange(None, received, rank + distance, group)
            flat.add_(received)
    for distance in reversed(distances):  # down from rank 0
        if rank % (2 * distance) == distance:
            _exchange(None, flat, rank - distance, group)
        elif rank % distance == 0 and rank + distance < size:
            _exchange(flat, None, rank + distance, group)  # sends S elements
    _put_back(flat, tensor)
    # in all: N - 1 tensors up and N - 1 down; rank 0 sends up to ceil(log2 N) of them


def recursive_doubling_all_reduce(tensor: torch.Tensor, group: Group = None) -> None:
    """Sum `tensor` over all ranks of the group, in place, by swaps with ever more distant ranks.

    In round k = 0, 1, ... rank r and the rank whose number differs in bit k swap all they have
    and both add: each sum then covers 2**(k + 1) ranks. That needs a power of two, P; each of the
    N - P ranks above hands its tensor to a rank below first, and gets the sum back at the end.

    Args:
        tensor: any shape and strides, equal shape and dtype on all ranks; overwritten by the sum.
        group: ranks that take part; None means all.

    Raises:
        ValueError: this rank isn't in the group, or elements of the tensor share their place.

    Communicates:
        P log2(P) + 2 (N - P) tensors sent by all ranks together, see
        `recursive_doubling_all_reduce_bytes`.

    Source:
        Thakur, Rabenseifner and Gropp 2005, doi:10.1177/1094342005051521.
    """
    size, rank = _place("recursive_doubling_all_reduce", group)
    flat = _flat("recursive_doubling_all_reduce", tensor)
    received = torch.empty_like(flat)
    power = 1 << (size.bit_length() - 1)  # P
    if rank >= power:
        _exchange(flat, None, rank - power, group)  # sends S elements
        _exchange(None, flat, rank - power, group)
    else:
        if rank + power < size:
            _exchange(None, received, rank + power, group)
            flat.add_(received)
        for distance in _powers_of_two(power):
            _exchange(flat, received, rank ^ distance, group)  # sends S elements
            flat.add_(received)
        if rank + power < size:
            _exchange(flat, None, rank + power, group)  # sends S elements
    _put_back(flat, tensor)
    # in all: at most 1 + log2(P) tensors a rank


def _powers_of_two(limit: int) -> Iterator[int]:
    """1, 2, 4, ... below `limit`."""
    return (1 << k for k in range((limit - 1).bit_length()))


def _place(name: str, group: Group) -> tuple[int, int]:
    """Size of the group and this rank's index in it."""
    size, rank = dist.get_world_size(group), dist.get_rank(group)
    if rank < 0:
        raise ValueError(
            f"{name}: this rank is not in the group, required is a member (its "
            "neighbours would wait for it); call it on the group's ranks only"
        )
    return size, rank


def _check_parts(
    name: str, whole: torch.Tensor, part: torch.Tensor, size: int, *, written: torch.Tensor
) -> None:
    """Refuse, before anything is sent, tensors of which one isn't a rank's part of the other."""
    if whole.numel() != size * part.numel() or whole.dtype != part.dtype:
        raise ValueError(
            f"{name}: the whole has {whole.numel()} elements of {whole.dtype} and the part "
            f"{part.numel()} of {part.dtype}, required are {size} equal parts of one dtype (one "
            "for each rank of the group); pad the tensor or change the output"
        )
    if not written.is_contiguous():
        raise ValueError(
            f"{name}: output has strides {written.stride()}, required is a contiguous tensor "
            "(it is written as one run of elements); pass torch.empty(...) and copy"
        )


def _flat(name: str, tensor: torch.Tensor) -> torch.Tensor:
    """All elements in one run: the tensor's own memory, or a copy where its strides have gaps."""
    dims = zip(tensor.shape, tensor.stride(), strict=True)
    if any(length > 1 and stride == 0 for length, stride in dims):
        raise ValueError(
            f"{name}: the tensor of shape {tuple(tensor.shape)} has strides {tensor.stride()}, "
            "required is a place in memory for each element (the sums are written there); call "
            "it on tensor.contiguous()"
        )
    return tensor.detach().contiguous().view(-1)


def _put_back(flat: torch.Tensor, tensor: torch.Tensor) -> None:
    """Copy the result back where `flat` was a copy because of the tensor's strides."""
    if not tensor.is_contiguous():
        tensor.detach().copy_(flat.view(tensor.shape))


def _pass_on(to_right: torch.Tensor, from_left: torch.Tensor, group: Group) -> None:
    """Send to the next rank of the ring while receiving from the one before."""
    size, rank = dist.get_world_size(group), dist.get_rank(group)
    left = (rank - 1) % size
    _wait_for(_start(to_right, (rank + 1) % size, group), _start(None, left, group, from_left))


def _exchange(
    outgoing: torch.Tensor | None, incoming: torch.Tensor | None, peer: int, group: Group
) -> None:
    """Send to a rank, receive from it, or both at the same time."""
    _wait_for(_start(outgoing, peer, group, incoming))


def _start(
    outgoing: torch.Tensor | None,
    peer: int,
    group: Group,
    incoming: torch.Tensor | None = None,
) -> list[dist.Work | None]:
    """Start to send to a rank, to receive from it, or both."""
    works = []
    # An empty tensor is empty on both sides, so that both leave the message out.
    if outgoing is not None and outgoing.numel():
        works.append(dist.isend(outgoing, group=group, group_dst=peer))
    if incoming is not None and incoming.numel():
        works.append(dist.irecv(incoming, group=group, group_src=peer))
    return works


def _wait_for(*started: list[dist.Work | None]) -> None:
    """Wait until all that was started is done."""
    for works in started:
        for work in works:
            if work is not None:
                work.wait()
