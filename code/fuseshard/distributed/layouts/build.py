"""From a whole model to this rank's part of it, one axis at a time, the innermost first.

    tp      cut each matrix               parallelize_module
    pp      keep some of the blocks       MiniGPTStage
    fsdp    share out what is left        fully_shard
    dp      average gradients             fully_shard's outer axis, or DistributedDataParallel

The order matters: FSDP shares out what tensor parallelism left of a matrix, and its hooks must
stand outermost, where they see each forward pass begin.
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel

from fuseshard.distributed.layouts.records import Layout
from fuseshard.distributed.tensor.library import parallelize_minigpt
from fuseshard.models.minigpt import MiniGPT
from fuseshard.models.minigpt_stages import MiniGPTStage, cut_into_stages


def make_mesh(layout: Layout) -> DeviceMesh:
    """Arrange all ranks in a mesh with the layout's axes, outermost first.

    Args:
        layout: its `world_size` is that of the default group; all ranks call this together.
    """
    degrees = layout.degrees
    return init_device_mesh("cpu", tuple(degrees.values()), mesh_dim_names=tuple(degrees))


def build(model: MiniGPT, mesh: DeviceMesh, layout: Layout) -> nn.Module:
    """Make this rank's part of a model.

    Args:
        model: whole, equal on all ranks; changed in place.
        mesh: of `make_mesh`.
        layout: the same layout.

    Returns:
        what is called instead of the model: all of it, or one stage.
    """
    if layout.tp > 1:
        parallelize_minigpt(model, mesh["tp"])
    part: MiniGPT | MiniGPTStage = model
    if layout.pp > 1:
        part = cut_into_stages(model, layout.pp)[mesh["pp"].get_local_rank()]
    if layout.fsdp > 1:
        return share_out(part, mesh, layout)
    if layout.dp > 1 and layout.tp == 1:
        return DistributedDataParallel(part, process_group=mesh["dp"].get_group())
    return part


def share_out(part: MiniGPT | MiniGPTStage, mesh: DeviceMesh, layout: Layout) -> nn.Module:
    """Shard each block, then what is left of the model, along fsdp; replicate along dp.

    Args:
        part: of the model; changed in place.
        mesh: of `make_mesh`.
        layout: the same layout.

    Returns:
        the part itself.
    """
    axes = mesh["dp", "fsdp"] if layout.dp > 1 else mesh["fsdp"]
    blocks = part.blocks.values() if isinstance(part, MiniGPTStage) else part.blocks
    # With a pipeline, a block would be gathered twice for each micro-batch; so it stays whole.
    is_freed = layout.pp == 1
    for block in blocks:
        fully_shard(block, mesh=axes, reshard_after_forward=is_freed)
    fully_shard(part, mesh=axes, reshard_after_forward=False)
    return part


def average_gradients(module: nn.Module, mesh: DeviceMesh) -> None:
    """Average what each rank holds of each gradient along dp.

    DistributedDataParallel fails where some parameters are DTensors and others aren't; this stands
    in for it.

    Args:
        module: after `backward`.
        mesh: has an axis "dp"; all ranks call this together.

    Communicates:
        an all-reduce along dp for each parameter, of the part that the rank holds.
    """
    group = mesh["dp"].get_group()
    for param in module.parameters():
        gradient = param.grad
        assert gradient is not None
        if isinstance(param, DTensor) and isinstance(gradient, DTensor):
            # An embedding's gradient comes whole on all tp ranks: take the part that is held.
            gradient = gradient.redistribute(placements=param.placements)
            param.grad = gradient
        local = gradient.to_local() if isinstance(gradient, DTensor) else gradient
        with torch.no_grad():
            dist.all_reduce(local, op=dist.ReduceOp.AVG, group=group)
