"""Room 4: layers that aren't sharded as planned, and shards that are used as if they were whole."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method
from torch.distributed.tensor import DTensor, Replicate
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    ParallelStyle,
    RowwiseParallel,
    parallelize_module,
)

from fuseshard.distributed.lab.detect import require_plan, require_whole_heads
from fuseshard.distributed.lab.exhibit import Exhibit

HEAD_SIZE = 4


class WithHead(nn.Module):
    """A layer named `head`, big enough to want to share it out."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(6, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.head(x)
        return result


def held(model: nn.Module) -> int:
    """Count the parameters that this rank stores."""
    locals_ = [p.to_local() if isinstance(p, DTensor) else p for p in model.parameters()]
    return sum(tensor.numel() for tensor in locals_)


def split_by(plan_key: str, group: dist.ProcessGroup, is_checked: bool = False) -> tuple[bool, int]:
    """Share out the layer of a name; whether results are right, and parameters held."""
    torch.manual_seed(0)
    model, x = WithHead(), torch.ones(2, 6)
    expected = model(x).detach()
    plan: dict[str, ParallelStyle] = {plan_key: ColwiseParallel(output_layouts=Replicate())}
    if is_checked:
        require_plan(model, plan)
    parallelize_module(model, DeviceMesh.from_group(group, "cpu"), plan)
    return torch.allclose(model(x), expected), held(model)


def mistyped_plan(rank: int, group: dist.ProcessGroup) -> tuple[bool, int]:
    """Ask for a layer that doesn't exist."""
    return split_by("haed", group)


def typed_plan(rank: int, group: dist.ProcessGroup) -> tuple[bool, int]:
    """Ask for the layer by its name."""
    return split_by("head", group)


def checked_plan(rank: int, group: dist.ProcessGroup) -> tuple[bool, int]:
    """Check the plan's keys first."""
    return split_by("haed", group, is_checked=True)


class Attention(nn.Module):
    """What matters of attention here: projections, and a view of the heads in between."""

    def __init__(self, num_heads: int) -> None:
        super().__init__()
        self.values = nn.Linear(6, num_heads * HEAD_SIZE)
        self.out = nn.Linear(num_heads * HEAD_SIZE, 6)

    def forward(self, x: torch.Tensor, num_heads: int) -> torch.Tensor:
        heads = self.values(x).view(len(x), num_heads, HEAD_SIZE)
        result: torch.Tensor = self.out(heads.flatten(1))
        return result


def share_heads(num_heads: int, group: dist.ProcessGroup) -> bool:
    """Share an attention layer out by its heads; whether the result is that of one process."""
    torch.manual_seed(0)
    model, x = Attention(num_heads), torch.ones(2, 6)
    expected = model(x, num_heads).detach()
    plan: dict[str, ParallelStyle] = {"values": ColwiseParallel(), "out": RowwiseParallel()}
    parallelize_module(model, DeviceMesh.from_group(group, "cpu"), plan)
    return torch.allclose(model(x, num_heads // group.size()), expected, atol=1e-6)


def uneven_heads(rank: int, group: dist.ProcessGroup) -> bool:
    """Share three heads between two ranks."""
    return share_heads(3, group)


def even_heads(rank: int, group: dist.ProcessGroup) -> bool:
    """Share four."""
    return share_heads(4, group)


def checked_heads(rank: int, group: dist.ProcessGroup) -> bool:
    """Check the number first."""
    require_whole_heads(3, group)
    return share_heads(3, group)


class Encoder(nn.Module):
    """A model with a second way in besides `forward`."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.encode(x).relu()

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        """Return what comes before the activation."""
        result: torch.Tensor = self.layer(x)
        return result


def around_fsdp(rank: int, group: dist.ProcessGroup) -> list[int]:
    """Call another method than `forward` of a sharded model."""
    model = Encoder()
    fully_shard(model, mesh=DeviceMesh.from_group(group, "cpu"))
    return list(model.encode(torch.ones(2, 6)).shape)


def through_fsdp(rank: int, group: dist.ProcessGroup) -> list[int]:
    """Tell FSDP that this method needs whole parameters too."""
    model = Encoder()
    fully_shard(model, mesh=DeviceMesh.from_group(group, "cpu"))
    register_fsdp_forward_method(model, "encode")
    return list(model.encode(torch.ones(2, 6)).shape)


EXHIBITS = (
    Exhibit(
        title='{"haed": ColwiseParallel()}',
        code=mistyped_plan,
        fixed=typed_plan,
        revealed=checked_plan,
        remedy='{"head": ColwiseParallel()}',
        helpers=(split_by,),
    ),
    Exhibit(
        title="3 heads / 2 ranks",
        code=uneven_heads,
        fixed=even_heads,
        revealed=checked_heads,
        remedy="share_heads(4, group)",
        helpers=(Attention, share_heads),
    ),
    Exhibit(
        title="model.encode(x)  # fully_shard",
        code=around_fsdp,
        fixed=through_fsdp,
        remedy="register_fsdp_forward_method",
        helpers=(Encoder,),
    ),
)
