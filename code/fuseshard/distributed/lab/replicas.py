"""Room 3: replicas that don't compute the gradient of one process, or aren't replicas."""

from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DistributedSampler, TensorDataset

from fuseshard.distributed.lab.detect import CheckError, require_same_tensors
from fuseshard.distributed.lab.exhibit import Exhibit

NUM_MICRO_BATCHES = 4
SAMPLES = TensorDataset(torch.arange(8))


class WithSpare(nn.Module):
    """Two layers, of which the forward pass uses one."""

    def __init__(self) -> None:
        super().__init__()
        self.used = nn.Linear(1, 1)
        self.spare = nn.Linear(1, 1)

    def forward(self, x: torch.Tensor) -> Any:
        return self.used(x)


def unused_layer(rank: int, group: dist.ProcessGroup, **options: Any) -> float:
    """Train two steps with a layer that nothing uses."""
    model = DistributedDataParallel(WithSpare(), process_group=group, **options)
    for _ in range(2):
        model.zero_grad()
        model(torch.full((1, 1), rank + 1.0)).sum().backward()
    return float(model.module.used.weight.grad)


def found_layer(rank: int, group: dist.ProcessGroup) -> float:
    """Let DDP look for what isn't used."""
    return unused_layer(rank, group, find_unused_parameters=True)


def named_layer(rank: int, group: dist.ProcessGroup) -> float:
    """Let DDP name what isn't used."""
    dist.set_debug_level(dist.DebugLevel.INFO)
    return unused_layer(rank, group)


def same_epoch(rank: int, group: dist.ProcessGroup) -> list[list[int]]:
    """Shuffle, but forget to say which epoch it is."""
    sampler: DistributedSampler[Any] = DistributedSampler(SAMPLES, group.size(), rank, seed=0)
    return [list(sampler) for epoch in range(3)]


def set_epoch(rank: int, group: dist.ProcessGroup) -> list[list[int]]:
    """Say which epoch it is."""
    sampler: DistributedSampler[Any] = DistributedSampler(SAMPLES, group.size(), rank, seed=0)
    orders = []
    for epoch in range(3):
        sampler.set_epoch(epoch)
        orders.append(list(sampler))
    return orders


def checked_epoch(rank: int, group: dist.ProcessGroup) -> list[list[int]]:
    """Compare the order with that of the epoch before.

    Raises:
        CheckError: they are the same.
    """
    orders = same_epoch(rank, group)
    for epoch, order in enumerate(orders[1:], start=1):
        if order == orders[epoch - 1]:
            raise CheckError(f"epoch {epoch} has the order of epoch {epoch - 1}: {order}")
    return orders


def accumulate(rank: int, group: dist.ProcessGroup, scale: float = 1.0) -> float:
    """Take the mean loss of each of four micro-batches, and add up what backward leaves."""
    weight = nn.Parameter(torch.tensor(1.0))
    samples = torch.arange(8.0) + rank
    for micro_batch in samples.chunk(NUM_MICRO_BATCHES):
        ((weight * micro_batch).mean() * scale).backward()
    gradient = _gradient(weight)
    dist.all_reduce(gradient, dist.ReduceOp.AVG, group=group)
    return gradient.item()


def accumulate_scaled(rank: int, group: dist.ProcessGroup) -> float:
    """Divide each loss by the number of micro-batches."""
    return accumulate(rank, group, scale=1 / NUM_MICRO_BATCHES)


def accumulate_checked(rank: int, group: dist.ProcessGroup) -> float:
    """Compare once with the whole batch in one pass.

    Raises:
        CheckError: the gradients differ.
    """
    weight = nn.Parameter(torch.tensor(1.0))
    (weight * (torch.arange(8.0) + rank)).mean().backward()
    whole = _gradient(weight)
    dist.all_reduce(whole, dist.ReduceOp.AVG, group=group)
    found = accumulate(rank, group)
    if found != whole:
        factor = found / whole.item()
        raise CheckError(f"the gradient is {factor:g} times that of the whole batch")
    return found


def _gradient(weight: nn.Parameter) -> torch.Tensor:
    assert weight.grad is not None
    return weight.grad


def train(model: nn.Module, rank: int, group: dist.ProcessGroup) -> None:
    """Take three steps on data that differ by rank; average gradients by hand."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.full((4, 2), 1.0 + rank)).square().mean().backward()
        for param in model.parameters():
            dist.all_reduce(param.grad, dist.ReduceOp.AVG, group=group)
        optimizer.step()


def other_seeds(rank: int, group: dist.ProcessGroup) -> list[float]:
    """Initialise by a seed that differs by rank."""
    torch.manual_seed(rank)
    model = nn.Linear(2, 1)
    train(model, rank, group)
    return model.weight.flatten().tolist()


def broadcast_first(rank: int, group: dist.ProcessGroup) -> list[float]:
    """Start from rank 0's parameters."""
    torch.manual_seed(rank)
    model = nn.Linear(2, 1)
    for param in model.parameters():
        dist.broadcast(param.data, src=0, group=group)
    train(model, rank, group)
    return model.weight.flatten().tolist()


def checked_seeds(rank: int, group: dist.ProcessGroup) -> list[float]:
    """Compare fingerprints of the parameters before the first step."""
    torch.manual_seed(rank)
    model = nn.Linear(2, 1)
    require_same_tensors(model.named_parameters(), group)
    train(model, rank, group)
    return model.weight.flatten().tolist()


def train_ddp(model: DistributedDataParallel, rank: int) -> None:
    """Take a step on data that differ by rank; DDP averages the gradients."""
    model.zero_grad()
    model(torch.full((4, 2), 1.0 + rank)).square().mean().backward()
    with torch.no_grad():
        for param in model.parameters():
            param.sub_(0.1 * _gradient(param))


def changed_on_one(rank: int, group: dist.ProcessGroup) -> list[float]:
    """Change a weight on one rank only, in the middle of training."""
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(2, 1), process_group=group)
    train_ddp(model, rank)
    if rank == 1:
        model.module.weight.data[0, 0] = 0.0
    train_ddp(model, rank)
    return model.module.weight.flatten().tolist()


def changed_on_all(rank: int, group: dist.ProcessGroup) -> list[float]:
    """Change it on all ranks."""
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(2, 1), process_group=group)
    train_ddp(model, rank)
    model.module.weight.data[0, 0] = 0.0
    train_ddp(model, rank)
    return model.module.weight.flatten().tolist()


def checked_change(rank: int, group: dist.ProcessGroup) -> list[float]:
    """Compare fingerprints of the parameters after each step."""
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(2, 1), process_group=group)
    train_ddp(model, rank)
    if rank == 1:
        model.module.weight.data[0, 0] = 0.0
    train_ddp(model, rank)
    require_same_tensors(model.module.named_parameters(), group)
    return model.module.weight.flatten().tolist()


def around_ddp(rank: int, group: dist.ProcessGroup) -> float:
    """Call the module that DDP wraps."""
    model = DistributedDataParallel(nn.Linear(1, 1), process_group=group)
    model.module(torch.full((1, 1), rank + 1.0)).sum().backward()
    return float(model.module.weight.grad)


def through_ddp(rank: int, group: dist.ProcessGroup) -> float:
    """Call DDP."""
    model = DistributedDataParallel(nn.Linear(1, 1), process_group=group)
    model(torch.full((1, 1), rank + 1.0)).sum().backward()
    return float(model.module.weight.grad)


def checked_ddp(rank: int, group: dist.ProcessGroup) -> float:
    """Compare fingerprints of the gradients."""
    model = DistributedDataParallel(nn.Linear(1, 1), process_group=group)
    model.module(torch.full((1, 1), rank + 1.0)).sum().backward()
    pairs = model.module.named_parameters()
    require_same_tensors([(f"{name}.grad", _gradient(param)) for name, param in pairs], group)
    return float(model.module.weight.grad)


EXHIBITS = (
    Exhibit(
        title="self.spare  # never used",
        code=unused_layer,
        fixed=found_layer,
        revealed=named_layer,
        remedy="find_unused_parameters=True",
        helpers=(WithSpare,),
        under_detail=True,
    ),
    Exhibit(
        title="list(sampler)  # each epoch",
        code=same_epoch,
        fixed=set_epoch,
        revealed=checked_epoch,
        remedy="sampler.set_epoch(epoch)",
    ),
    Exhibit(
        title="loss.backward()  # 4 times",
        code=accumulate,
        fixed=accumulate_scaled,
        revealed=accumulate_checked,
        remedy="loss / NUM_MICRO_BATCHES",
    ),
    Exhibit(
        title="torch.manual_seed(rank)",
        code=other_seeds,
        fixed=broadcast_first,
        revealed=checked_seeds,
        remedy="broadcast(param.data, src=0)",
        helpers=(train,),
    ),
    Exhibit(
        title="if rank == 1: weight[0, 0] = 0",
        code=changed_on_one,
        fixed=changed_on_all,
        revealed=checked_change,
        remedy="model.module.weight.data[0, 0] = 0.0",
        helpers=(train_ddp,),
    ),
    Exhibit(
        title="model.module(x)",
        code=around_ddp,
        fixed=through_ddp,
        revealed=checked_ddp,
        remedy="model(x)",
    ),
)
