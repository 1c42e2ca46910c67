"""Orders in which to compile and to wrap a model, as data: two builders in sequence each."""

from collections.abc import Callable
from dataclasses import dataclass

import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

from fuseshard.distributed.tensor.library import parallelize_minigpt
from fuseshard.models.minigpt import MiniGPT
from fuseshard.models.minigpt_stages import cut_into_stages

Wrap = Callable[[nn.Module], nn.Module]


class Recomputed(nn.Module):
    """A module whose activations are computed a second time in the backward pass.

    Args:
        inner: the module.
    """

    def __init__(self, inner: nn.Module) -> None:
        """Take over the module."""
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Tensor:
        """Call the module, keeping its input alone."""
        output: Tensor = checkpoint(self.inner, x, use_reentrant=False)
        return output


@dataclass(frozen=True, kw_only=True)
class Order:
    """One order, and how the batch is shared out under it."""

    code: str
    "the order as one line of code"
    make: Callable[[MiniGPT, Wrap], nn.Module]
    "(model, compile) -> what is called"
    num_shares: int = 1
    "parts of the batch, each for as many neighbouring ranks"
    is_tensor: bool = False
    "whether matrices are cut"
    is_pipeline: bool = False
    "whether what is made is a stage"


def each_block(model: MiniGPT, wrap: Wrap) -> MiniGPT:
    """Wrap each block of a model in place.

    Args:
        model: changed in place.
        wrap: from a block to what takes its place.
    """
    for index, block in enumerate(model.blocks):
        model.blocks[index] = wrap(block)
    return model


def shard(model: MiniGPT) -> nn.Module:
    """Shard each block and then the rest with FSDP2, over all ranks.

    Args:
        model: changed in place.
    """
    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)
    return model


def split(model: MiniGPT) -> MiniGPT:
    """Cut the matrices of a model among all ranks.

    Args:
        model: changed in place.
    """
    return parallelize_minigpt(model, init_device_mesh("cpu", (dist.get_world_size(),)))


def _stage(model: MiniGPT, compiled: Wrap) -> nn.Module:
    return compiled(cut_into_stages(model, dist.get_world_size())[dist.get_rank()])


def _everything(model: MiniGPT, compiled: Wrap) -> nn.Module:
    """Cut matrices, compile, recompute, shard: from the inside out."""
    mesh = init_device_mesh("cpu", (2, dist.get_world_size() // 2), mesh_dim_names=("fsdp", "tp"))
    parallelize_minigpt(model, mesh["tp"])
    each_block(model, lambda block: Recomputed(compiled(block)))
    for block in model.blocks:
        fully_shard(block, mesh=mesh["fsdp"])
    fully_shard(model, mesh=mesh["fsdp"])
    return model


def _split_compiled(model: MiniGPT, compiled: Wrap) -> nn.Module:
    whole = compiled(model)
    assert isinstance(whole, nn.Module)
    return split(whole)  # type: ignore[arg-type]


def _split_checkpoint(model: MiniGPT, compiled: Wrap) -> nn.Module:
    return each_block(split(model), lambda block: compiled(Recomputed(block)))


ORDERS = {
    "alone": Order(code="compile(model)", make=lambda model, compiled: compiled(model)),
    "ddp_outside": Order(
        code="compile(DDP(model))",
        make=lambda model, compiled: compiled(DistributedDataParallel(model)),
        num_shares=2,
    ),
    "ddp_inside": Order(
        code="DDP(compile(model))",
        make=lambda model, compiled: DistributedDataParallel(compiled(model)),
        num_shares=2,
    ),
    "fsdp_outside": Order(
        code="compile(fully_shard(model))",
        make=lambda model, compiled: compiled(shard(model)),
        num_shares=2,
    ),
    "fsdp_inside": Order(
        code="fully_shard(compile(block)), ...",
        make=lambda model, compiled: shard(each_block(model, compiled)),
        num_shares=2,
    ),
    "tp_outside": Order(
        code="compile(parallelize(model))",
        make=lambda model, compiled: compiled(split(model)),
        is_tensor=True,
    ),
    "tp_inside": Order(code="parallelize(compile(model))", make=_split_compiled, is_tensor=True),
    "pp_inside": Order(code="PipelineStage(compile(stage))", make=_stage, is_pipeline=True),
    "checkpoint_inside": Order(
        code="compile(model of checkpoint(block))",
        make=lambda model, compiled: compiled(each_block(model, Recomputed)),
    ),
    "checkpoint_outside": Order(
        code="checkpoint(compile(block)), ...",
        make=lambda model, compiled: each_block(model, lambda block: Recomputed(compiled(block))),
    ),
    "tp_checkpoint_inside": Order(
        code="compile(checkpoint(block of parallelize(model))), ...",
        make=_split_checkpoint,
        is_tensor=True,
    ),
    "everything": Order(
        code="fully_shard(checkpoint(compile(block of parallelize(model)))), ...",
        make=_everything,
        num_shares=2,
        is_tensor=True,
    ),
}
"""name -> order; where a line ends in dots, the model around the blocks is wrapped likewise"""
