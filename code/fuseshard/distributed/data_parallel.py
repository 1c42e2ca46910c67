"""Data parallelism by hand: equal parameters, different samples, averaged gradients.

N = ranks of the group, P = parameters of the module.
"""

import torch
import torch.distributed as dist
from torch import nn


def broadcast_parameters(module: nn.Module, group: dist.ProcessGroup | None = None) -> None:
    """Give all ranks the parameters and buffers of the group's first rank, in place.

    Averaged gradients keep equal models equal; they don't make different ones so.

    Args:
        module: the same architecture on all ranks; parameters and buffers are overwritten.
        group: ranks that take part; None means all.

    Communicates:
        one broadcast a parameter and buffer, see `broadcast_bytes`.
    """
    for tensor in [*module.parameters(), *module.buffers()]:
        dist.broadcast(tensor.detach(), group=group, group_src=0)  # sends P elements in all


def average_gradients(
    module: nn.Module,
    group: dist.ProcessGroup | None = None,
    *,
    num_samples: int | None = None,
) -> None:
    """Replace each gradient by its average over the ranks: data parallelism in one loop.

    The gradient of a mean over all samples is the average of the ranks' gradients, each weighted
    by its share of the samples:  g = sum_r (n_r / n) g_r,  n = sum_r n_r.
    With equal shards every weight is 1/N.

    Args:
        module: after `backward` of a loss that is the mean over this rank's samples.
        group: ranks that take part; None means all.
        num_samples: n_r, this rank's number of samples, for shards of different size; all ranks
            pass it or none does. None means that shards are equal.

    Raises:
        ValueError: num_samples is negative, no rank has a sample, or a gradient is sparse.

    Communicates:
        one all-reduce a parameter, see `all_reduce_bytes`; one of 8 bytes for num_samples.

    Source:
        Li et al. 2020, section 3.1, arXiv:2006.15704.
    """
    weight = _weight(module, num_samples, group)
    for param in module.parameters():
        if param.requires_grad:
            gradient = _weighted_gradient(param, weight)
            dist.all_reduce(gradient, group=group)  # 2 (N - 1)/N of the parameter's elements


def average_gradients_in_buckets(
    module: nn.Module,
    bucket_bytes: int,
    group: dist.ProcessGroup | None = None,
    *,
    num_samples: int | None = None,
) -> None:
    """Average gradients as `average_gradients` does, with fewer and larger all-reduces.

    Each message costs a start-up time whatever its size, so gradients travel in buckets.
    DDP sends a bucket while backward still works on the next; here all wait for the end.

    Args:
        module: as in `average_gradients`.
        bucket_bytes: a bucket is closed once it holds that much; at least 1.
        group: ranks that take part; None means all.
        num_samples: as in `average_gradients`.

    Raises:
        ValueError: bucket_bytes is below 1; or as in `average_gradients`.

    Communicates:
        one all-reduce a bucket, the same bytes as `average_gradients`, see `all_reduce_bytes`.

    Source:
        Li et al. 2020, section 3.2, arXiv:2006.15704.
    """
    weight = _weight(module, num_samples, group)
    for bucket in gradient_buckets(module, bucket_bytes):
        gradients = [_weighted_gradient(param, weight) for param in bucket]
        flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
        dist.all_reduce(flat, group=group)  # 2 (N - 1)/N of the bucket's elements
        pieces = flat.split([gradient.numel() for gradient in gradients])
        for gradient, piece in zip(gradients, pieces, strict=True):
            gradient.copy_(piece.view_as(gradient))


def gradient_buckets(module: nn.Module, bucket_bytes: int) -> list[list[nn.Parameter]]:
    """Group the parameters into buckets, last parameter first.

    Backward reaches the last layer first, so its bucket is full first. As in DDP, a bucket may
    exceed its size by a part of its last parameter, and holds one dtype.

    Args:
        module: its parameters that require a gradient are grouped, in reverse order.
        bucket_bytes: a bucket is closed once it holds that much; at least 1.

    Returns:
        the buckets in the order in which they are sent.

    Raises:
        ValueError: bucket_bytes is below 1.
    """
    if bucket_bytes < 1:
        raise ValueError(
            f"gradient_buckets: bucket_bytes is {bucket_bytes}, required is at least 1 (a bucket "
            "is closed once it holds that much); use 1 for a bucket a parameter"
        )
    buckets: list[list[nn.Parameter]] = []
    filled_bytes = bucket_bytes
    for param in reversed([param for param in module.parameters() if param.requires_grad]):
        if filled_bytes >= bucket_bytes or param.dtype != buckets[-1][-1].dtype:
            buckets.append([])
            filled_bytes = 0
        buckets[-1].append(param)
        filled_bytes += param.numel() * param.element_size()
    return buckets


def split_batch(batch: torch.Tensor, rank: int, world_size: int) -> torch.Tensor:
    """Return this rank's share of a batch: whole samples, in order, as equal as they come.

    Args:
        batch: [B, ...] samples, equal on all ranks; not modified.
        rank: index of this rank in its group.
        world_size: N, number of ranks in the group.

    Returns:
        [B/N, ...], a view; one sample more on the first B mod N ranks, none where B < N.

    Raises:
        ValueError: rank is not between 0 and world_size - 1.
    """
    if not 0 <= rank < world_size:
        raise ValueError(
            f"split_batch: rank is {rank}, required is 0 to {world_size - 1} (one share a rank); "
            "pass dist.get_rank(group) and dist.get_world_size(group)"
        )
    return batch.tensor_split(world_size)[rank]


def _weight(module: nn.Module, num_samples: int | None, group: dist.ProcessGroup | None) -> float:
    """This rank's share of all samples."""
    if num_samples is None:
        return 1 / dist.get_world_size(group)
    device = next((param.device for param in module.parameters()), None)  # NCCL takes no CPU's
    counts = torch.tensor([num_samples, int(num_samples < 0)], device=device)
    dist.all_reduce(counts, group=group)
    total, num_negative = counts.tolist()
    if num_negative or total == 0:
        raise ValueError(
            f"average_gradients: num_samples is {num_samples} on this rank and {total} in all, "
            "required are 0 or more on each and 1 in all (they are weights); pass len(shard)"
        )
    return num_samples / total


def _weighted_gradient(param: nn.Parameter, weight: float) -> torch.Tensor:
    """The gradient times its weight, in place; zeros where this rank has none to give.

    A rank that left the all-reduce out would have the others wait for it. One without samples
    has a mean over nothing, NaN, which no weight could mend.
    """
    if param.grad is not None and param.grad.is_sparse:
        raise ValueError(
            f"average_gradients: a gradient of shape {tuple(param.shape)} is sparse, required are "
            "dense ones (ranks that hold other entries can't add them up in place); use an "
            "embedding with sparse=False"
        )
    if param.grad is None or weight == 0:
        param.grad = torch.zeros_like(param)
    return param.grad.mul_(weight)
