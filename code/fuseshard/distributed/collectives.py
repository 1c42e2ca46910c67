"""Collectives by hand, from sends and receives between neighbours.

N = ranks of the group, S = elements of the tensor; a chunk has S/N elements (one more or less).
"""

import torch
import torch.distributed as dist


def ring_all_reduce(tensor: torch.Tensor, group: dist.ProcessGroup | None = None) -> None:
    """Sum `tensor` over all ranks of the group, in place, by passing chunks round a ring.

    Cut the tensor into N chunks. In N - 1 steps each rank passes one chunk to its right neighbour
    and adds the one from its left: then rank r holds the finished sum of chunk r + 1.
    In N - 1 more steps the finished chunks go round once. No rank is a bottleneck, and what
    a rank sends hardly depends on N.

    Args:
        tensor: any shape and strides, equal shape and dtype on all ranks; overwritten by the sum.
        group: ranks that take part; None means all.

    Raises:
        ValueError: this rank isn't in the group.

    Communicates:
        2 (N - 1) chunks sent to the right neighbour, see `all_reduce_bytes`.

    Source:
        Patarasuk and Yuan 2009, doi:10.1016/j.jpdc.2008.09.002.
    """
    size, rank = dist.get_world_size(group), dist.get_rank(group)
    if rank < 0:
        raise ValueError(
            "ring_all_reduce: this rank is not in the group, required is a member (its "
            "neighbours would wait for it); call it on the group's ranks only"
        )
    flat = tensor.detach().contiguous().view(-1)  # a copy where the strides have gaps
    chunks = flat.tensor_split(size)
    for step in range(size - 1):
        received = torch.empty_like(chunks[(rank - step - 1) % size])
        _pass_on(chunks[(rank - step) % size], received, group)  # sends S/N elements
        chunks[(rank - step - 1) % size].add_(received)
    for step in range(size - 1):
        _pass_on(chunks[(rank - step + 1) % size], chunks[(rank - step) % size], group)  # S/N
    if not tensor.is_contiguous():
        tensor.detach().copy_(flat.view(tensor.shape))
    # in all: 2 (N - 1) S/N elements


def _pass_on(
    to_right: torch.Tensor, from_left: torch.Tensor, group: dist.ProcessGroup | None
) -> None:
    """Send to the next rank of the ring while receiving from the one before."""
    size, rank = dist.get_world_size(group), dist.get_rank(group)
    works = []
    # An empty chunk is empty on both sides, so that both leave the message out.
    if to_right.numel():
        works.append(dist.isend(to_right, group=group, group_dst=(rank + 1) % size))
    if from_left.numel():
        works.append(dist.irecv(from_left, group=group, group_src=(rank - 1) % size))
    for work in works:
        if work is not None:
            work.wait()
