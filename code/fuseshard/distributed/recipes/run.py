"""Run the distributed half of the cheat sheet on two ranks; a line that fails stops the build."""

import shlex
import shutil
import tempfile
from pathlib import Path
from typing import Any

import torch
from torch.distributed.run import get_args_parser

from fuseshard.distributed.launcher import run
from fuseshard.distributed.recipes.records import RankRecipe, RankRecipeError
from fuseshard.distributed.recipes.shelf import LAUNCHES, SECTIONS

SETTING = """
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
from torch.distributed.tensor import Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DistributedSampler

RANK = dist.get_rank()
close = torch.testing.assert_close
mean_square = nn.MSELoss()


def fresh():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 4))


def loss_of(model, rows):
    return model(rows).square().mean()


def gradients(model):
    return [parameter.grad for parameter in model.parameters()]


def whole(tensors):
    return [t.full_tensor() if hasattr(t, "full_tensor") else t for t in tensors]


def stepped():
    model = fresh()
    loss_of(model, batch).backward()
    torch.optim.AdamW(model.parameters(), lr=0.1).step()
    return [*model.parameters()]


def train(schedule):
    inputs = {"target": torch.zeros(8, 4)} if RANK == 1 else {}
    schedule.step(*([batch] if RANK == 0 else []), **inputs)


x = torch.full((3,), RANK + 1.0)
batch = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
shard = batch.chunk(2)[RANK]
model, single, apart = fresh(), fresh(), fresh()
loss_of(single, batch).backward()
whole_gradients = gradients(single)
part_gradients = whole_gradients[2 * RANK : 2 * RANK + 2]
replica = DistributedDataParallel(fresh())
sampler = DistributedSampler(batch, num_replicas=2, rank=RANK, shuffle=True)
sharded = fully_shard(fresh())
mesh = init_device_mesh("cpu", (2,))
weight = torch.arange(24.0).view(6, 4)
cut = distribute_tensor(weight, mesh, [Shard(0)])
parts = [apart[:2], apart[2:]]
ready = PipelineStage(parts[RANK], RANK, 2, torch.device("cpu"))
"""
"""What each recipe starts from: a tensor and a batch that differ between ranks, a model, and the
gradients that one process computes from the whole batch."""


def run_section(section: str) -> tuple[RankRecipe, ...]:
    """Run and prove the recipes of one section on two ranks.

    Args:
        section: one of the keys of `shelf.SECTIONS`.

    Returns:
        The recipes, all proved on both ranks.

    Raises:
        ValueError: there is no such section.
        DistributedError: a recipe failed; its traceback ends in a RankRecipeError that names the
            recipe and quotes its line.
    """
    if section not in SECTIONS:
        raise ValueError(
            f"run_section: section is {section!r}, must be one of {', '.join(SECTIONS)}."
        )
    run_recipes(SECTIONS[section])
    return SECTIONS[section]


def run_recipes(recipes: tuple[RankRecipe, ...]) -> None:
    """Run recipes one after another on two ranks, each in names of its own.

    Args:
        recipes: lines, and what has to hold after each on both ranks.

    Raises:
        DistributedError: as `run_section`.
    """
    folder = tempfile.mkdtemp(prefix="fuseshard-recipes-")
    try:
        run(_prove, 2, args=(recipes, folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def parsed_launches() -> tuple[str, ...]:
    """Have torchrun's own parser read the command lines of the sheet.

    Returns:
        The lines.

    Raises:
        RankRecipeError: torchrun refuses an option.
    """
    for line in LAUNCHES:
        try:
            arguments = get_args_parser().parse_args(shlex.split(line)[1:])
        except SystemExit as error:
            raise RankRecipeError(
                f"launch {line!r}: torchrun refuses it; correct the line"
            ) from error
        assert arguments.training_script == "train.py"
    return LAUNCHES


def _prove(rank: int, world_size: int, recipes: tuple[RankRecipe, ...], folder: str) -> None:
    torch.set_num_threads(1)
    for recipe in recipes:
        names: dict[str, Any] = {"folder": str(Path(folder) / recipe.id)}
        try:
            for part in (SETTING, recipe.code, recipe.proof):
                exec(part, names)
        except Exception as error:
            raise RankRecipeError(
                f"recipe {recipe.id!r}: {recipe.code} failed on rank {rank} with "
                f"{type(error).__name__}: {error}; the sheet must show only lines that work on "
                "this release; correct the recipe"
            ) from error
