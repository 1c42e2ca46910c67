"""MiniGPT by PyTorch's own tensor parallelism: DTensor and `parallelize_module`.

N = ranks, B = sequences, T = tokens, D = width, H = heads.
"""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

import torch
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from torch.distributed.tensor.parallel.style import ParallelStyle
from torch.nn import functional

from fuseshard.distributed.tensor.assemble import check_untied
from fuseshard.models.minigpt import Attention, Block, MiniGPT

Plan = dict[str, ParallelStyle]
"""module name, "*" for any, to how it is split"""
_BLOCK = "blocks.*"


class HeadMajorAttention(nn.Module):
    """Attention whose qkv rows lie head by head, so that contiguous parts hold whole heads.

    MiniGPT's qkv has all queries first, then all keys, then all values: half of its rows are all
    queries and half of the keys. `ColwiseParallel` cuts contiguous parts and knows no heads.
    """

    def __init__(self, attention: Attention) -> None:
        """Take over both projections; put the rows of qkv in another order, in place."""
        super().__init__()
        self.qkv, self.out = attention.qkv, attention.out
        self.head_width = self.out.in_features // attention.num_heads
        for param in self.qkv.parameters():
            param.data = to_head_major(param.data, attention.num_heads)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Mix tokens: [B, T, D] to [B, T, D]; qkv may yield H/N heads instead of H."""
        by_head = self.qkv(x).unflatten(-1, (-1, 3, self.head_width))
        q, k, v = by_head.permute(3, 0, 2, 1, 4)  # each [B, H/N, T, D/H]
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).flatten(2))


def to_head_major(rows: torch.Tensor, num_heads: int) -> torch.Tensor:
    """Reorder the rows of qkv from (queries, keys, values) of all heads to head by head.

    Args:
        rows: [3 D, ...] of weight, bias or their gradients; not modified.
        num_heads: H.
    """
    return rows.unflatten(0, (3, num_heads, -1)).transpose(0, 1).flatten(0, 2)


def from_head_major(rows: torch.Tensor, num_heads: int) -> torch.Tensor:
    """Undo `to_head_major`.

    Args:
        rows: [3 D, ...], head by head; not modified.
        num_heads: H.
    """
    return rows.unflatten(0, (num_heads, 3, -1)).transpose(0, 1).flatten(0, 2)


def tensor_plan() -> Plan:
    """Return the plan of a MiniGPT with `HeadMajorAttention`: every rank has all tokens."""
    return {
        "token_embedding": RowwiseParallel(input_layouts=Replicate()),
        f"{_BLOCK}.attention.qkv": ColwiseParallel(),
        f"{_BLOCK}.attention.out": RowwiseParallel(),
        f"{_BLOCK}.feed_forward.up": ColwiseParallel(),
        f"{_BLOCK}.feed_forward.down": RowwiseParallel(),
        "head": ColwiseParallel(use_local_output=False),
    }


def sequence_plan() -> list[Plan]:
    """Return two plans, to be applied in turn: a rank has T/N tokens between parallel regions."""
    enter = PrepareModuleInput(input_layouts=Shard(1), desired_input_layouts=Replicate())
    positions = PrepareModuleInput(input_layouts=Replicate(), desired_input_layouts=Shard(0))
    norm = SequenceParallel(use_local_output=True)
    plan: Plan = {
        "token_embedding": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
        "position_embedding": positions,
        f"{_BLOCK}.*_norm": norm,
        f"{_BLOCK}.attention": enter,
        f"{_BLOCK}.attention.qkv": ColwiseParallel(),
        f"{_BLOCK}.attention.out": RowwiseParallel(output_layouts=Shard(1)),
        f"{_BLOCK}.feed_forward": enter,
        f"{_BLOCK}.feed_forward.up": ColwiseParallel(),
        f"{_BLOCK}.feed_forward.down": RowwiseParallel(output_layouts=Shard(1)),
        "norm": norm,
        "head": ColwiseParallel(input_layouts=Shard(1), use_local_output=False),
    }
    # A module takes one style at a time: positions are cut first, then embedded as tokens are.
    return [plan, {"position_embedding": SequenceParallel(sequence_dim=0, use_local_output=True)}]


def parallelize_minigpt(model: MiniGPT, mesh: DeviceMesh, *, is_sequence: bool = False) -> MiniGPT:
    """Split a MiniGPT in place with `parallelize_module`.

    Args:
        model: whole, equal on all ranks; its attention is replaced and its parameters become
            DTensors.
        mesh: one axis, N ranks.
        is_sequence: whether tokens are shared out between parallel regions.

    Returns:
        the model.

    Raises:
        ValueError: the plan names a module that the model doesn't have, or parameters are tied.
    """
    check_untied(model)
    for block in model.blocks:
        assert isinstance(block, Block)
        block.add_module("attention", HeadMajorAttention(block.attention))
    for plan in sequence_plan() if is_sequence else [tensor_plan()]:
        check_plan(model, plan)
        parallelize_module(model, mesh, plan)
    return model


def unmatched_keys(module: nn.Module, plan: Iterable[str]) -> list[str]:
    """Name the keys of a plan that match no module, for which torch only warns.

    Args:
        module: what the plan is meant for.
        plan: module names; each part between dots may hold wildcards, as torch reads them.
    """
    names = [name.split(".") for name, _ in module.named_modules()]

    def fits(key: str, name: list[str]) -> bool:
        parts = key.split(".") if key else [""]
        pairs = zip(parts, name, strict=False)
        return len(parts) == len(name) and all(fnmatchcase(n, part) for part, n in pairs)

    return [key for key in plan if not any(fits(key, name) for name in names)]


def check_plan(module: nn.Module, plan: Iterable[str]) -> None:
    """Refuse a plan with a key that matches nothing, before anything is split.

    Args:
        module: what the plan is meant for.
        plan: as in `unmatched_keys`.

    Raises:
        ValueError: names the keys, and the modules that there are.
    """
    if odd := unmatched_keys(module, plan):
        there = sorted({name for name, _ in module.named_modules() if name})
        raise ValueError(
            f"check_plan: the plan names {odd}, must name modules that exist (torch only warns, "
            f"and what is meant stays whole); there are {there}"
        )


def whole_gradients(model: MiniGPT) -> Mapping[str, torch.Tensor]:
    """Return the whole gradients of a model that `parallelize_minigpt` split, in the old order.

    Args:
        model: after `backward`; all ranks call this together.

    Communicates:
        an all-gather for each gradient that is in parts, an all-reduce for each pending sum.
    """
    found = {}
    for name, param in model.named_parameters():
        gradient = param.grad
        assert gradient is not None
        whole = gradient.full_tensor() if isinstance(gradient, DTensor) else gradient
        is_qkv = ".qkv." in name
        found[name] = from_head_major(whole, model.config.num_heads) if is_qkv else whole.clone()
    return found
