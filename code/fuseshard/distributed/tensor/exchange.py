"""Collectives that return a new tensor, along one dim. They know nothing of gradients.

N = ranks of the group.
"""

import torch
import torch.distributed as dist

Group = dist.ProcessGroup | None
"""ranks that take part; None means all"""


def all_reduced(x: torch.Tensor, group: Group) -> torch.Tensor:
    """Return the sum over the ranks.

    Args:
        x: any shape, equal on all ranks; not modified.
        group: ranks that take part; None means all.

    Communicates:
        one all-reduce of x's size, see `all_reduce_bytes`.
    """
    total = x.clone(memory_format=torch.contiguous_format)
    dist.all_reduce(total, group=group)
    return total


def all_gathered(x: torch.Tensor, dim: int, group: Group) -> torch.Tensor:
    """Return the ranks' tensors one after the other along a dim.

    Args:
        x: of the same shape on all ranks; not modified.
        dim: along which they are joined.
        group: ranks that take part; None means all.

    Communicates:
        one all-gather of N times x's size, see `all_gather_bytes`.
    """
    mine = x.contiguous()
    pieces = [torch.empty_like(mine) for _ in range(dist.get_world_size(group))]
    dist.all_gather(pieces, mine, group=group)
    return torch.cat(pieces, dim)


def reduce_scattered(x: torch.Tensor, dim: int, group: Group) -> torch.Tensor:
    """Return this rank's piece, along a dim, of the sum over the ranks.

    Args:
        x: of the same shape on all ranks, N divides its size along `dim`; not modified.
        dim: along which the sum is cut.
        group: ranks that take part; None means all.

    Raises:
        ValueError: N doesn't divide the size.

    Communicates:
        one reduce-scatter of x's size, see `reduce_scatter_bytes`.
    """
    pieces = [piece.contiguous() for piece in _equal_pieces(x, dim, group)]
    total = torch.empty_like(pieces[0])
    dist.reduce_scatter(total, pieces, group=group)
    return total


def own_piece(x: torch.Tensor, dim: int, group: Group) -> torch.Tensor:
    """Return this rank's piece along a dim, a view.

    Args:
        x: N divides its size along `dim`.
        dim: along which x is cut.
        group: ranks among which it is cut; None means all.

    Raises:
        ValueError: N doesn't divide the size.
    """
    return _equal_pieces(x, dim, group)[dist.get_rank(group)]


def _equal_pieces(x: torch.Tensor, dim: int, group: Group) -> tuple[torch.Tensor, ...]:
    """Cut along a dim, for collectives whose pieces must be equal in size."""
    num_ranks = dist.get_world_size(group)
    if x.shape[dim] % num_ranks:
        raise ValueError(
            f"tensor_parallel: dim {dim} of x has {x.shape[dim]} elements, must be a multiple of "
            f"the {num_ranks} ranks (gloo ends processes that exchange pieces of unequal size); "
            "pad it, or use other ranks"
        )
    return x.tensor_split(num_ranks, dim)
