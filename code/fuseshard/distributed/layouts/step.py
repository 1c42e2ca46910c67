"""One training step under a layout, on one rank.

B = sequences of the whole batch, T = tokens, V = vocabulary.
"""

from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import loss_parallel
from torch.nn.functional import cross_entropy

from fuseshard.distributed.layouts.build import average_gradients, build, make_mesh
from fuseshard.distributed.layouts.records import Layout
from fuseshard.distributed.layouts.workload import Tensors, Workload
from fuseshard.distributed.meter import CommMeter
from fuseshard.distributed.tensor.library import from_head_major
from fuseshard.distributed.traffic import CollectiveCall
from fuseshard.models.minigpt import MiniGPT

RankStep = tuple[Tensors, tuple[CollectiveCall, ...]]
"""loss (where the rank has one) and whole gradients of the rank's stage; what was sent"""
NUM_STEPS = 3
"""the last one counts; FSDP and pipelines learn shapes in the first, DDP in the second"""
SPOILERS = ("", "wrong axis", "summed")
"""nothing; samples shared out along the innermost axis; gradients summed instead of averaged"""

_WRAPPERS = ("module", "_orig_mod", "inner")
"""what DDP, torch.compile and `orders.Recomputed` put before the names of parameters"""


def train_once(
    workload: Workload, layout: Layout, dtype: torch.dtype, spoiled: str = ""
) -> RankStep:
    """Build this rank's part, run a few steps, and return what the last one yields.

    No optimizer runs, so that all steps are equal but for what is found out once.

    Args:
        workload: the step.
        layout: how it is split; all ranks call this together.
        dtype: of parameters and activations.
        spoiled: one of `SPOILERS`, what to do wrong.

    Returns:
        see `RankStep`.
    """
    mesh = make_mesh(layout)
    model = MiniGPT(workload.config).to(dtype)
    module = build(model, mesh, layout)
    batch = workload.share(share_index(layout, spoiled), layout.num_shares)
    runner = make_pipeline(module, mesh["pp"], workload) if layout.pp > 1 else None
    for _ in range(NUM_STEPS):
        module.zero_grad()
        with CommMeter() as meter:
            loss = _step(module, runner, batch, mesh=mesh, layout=layout)
    found = whole_gradients(module, workload.config.num_heads if layout.tp > 1 else None)
    if spoiled == "summed":
        found = {name: gradient * layout.num_shares for name, gradient in found.items()}
    return found | ({} if loss is None else {"loss": loss}), meter.calls


def share_index(layout: Layout, spoiled: str = "") -> int:
    """Say which part of the batch this rank computes.

    Args:
        layout: of all ranks.
        spoiled: "wrong axis" counts along the innermost axis, whatever it is.
    """
    rank = dist.get_rank()
    return rank % layout.num_shares if spoiled == "wrong axis" else layout.share(rank)


def whole_gradients(module: nn.Module, num_heads: int | None) -> Tensors:
    """Put the gradients of a part of the model together from the ranks that share it.

    Args:
        module: after `backward`; all ranks call this together.
        num_heads: H where qkv's rows were put head by head, else None.

    Returns:
        by parameter name; whole, in MiniGPT's own order.
    """
    found = {}
    for name, param in module.named_parameters():
        gradient = param.grad
        assert gradient is not None
        whole = gradient.full_tensor() if isinstance(gradient, DTensor) else gradient
        if ".qkv." in name and num_heads is not None:
            whole = from_head_major(whole, num_heads)
        parts = [part for part in name.split(".") if part not in _WRAPPERS]
        found[".".join(parts)] = whole.clone()
    return found


def loss_fn(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return the mean loss of all tokens.

    Args:
        logits: [B, T, V]; may be cut along V, inside `loss_parallel`.
        targets: [B, T].
    """
    return cross_entropy(logits.flatten(0, 1), targets.flatten())


def make_pipeline(stage_module: nn.Module, axis: DeviceMesh, workload: Workload) -> Any:
    """Make a 1F1B schedule of torch's.

    Args:
        stage_module: this rank's stage.
        axis: the mesh's axis of stages.
        workload: how many micro-batches there are.
    """
    stage = PipelineStage(
        stage_module,
        axis.get_local_rank(),
        axis.size(),
        torch.device("cpu"),
        group=axis.get_group(),
    )
    return Schedule1F1B(stage, n_microbatches=workload.num_micro_batches, loss_fn=loss_fn)


def _step(
    module: nn.Module,
    runner: Any,
    batch: tuple[torch.Tensor, torch.Tensor],
    *,
    mesh: DeviceMesh,
    layout: Layout,
) -> torch.Tensor | None:
    """Forward, backward and what follows; the loss of this rank's samples, if it knows it."""
    tokens, targets = batch
    loss: torch.Tensor | None
    with loss_parallel():
        if runner is None:
            loss = loss_fn(module(tokens), targets)
            loss.backward()
        else:
            loss = run_pipeline(runner, tokens, targets, mesh["pp"])
    if layout.dp > 1 and layout.fsdp == 1 and layout.tp > 1:
        average_gradients(module, mesh)
    if loss is None:
        return None
    loss = loss.detach()
    return loss.full_tensor() if isinstance(loss, DTensor) else loss


def run_pipeline(
    runner: Any, tokens: torch.Tensor, targets: torch.Tensor, axis: DeviceMesh
) -> torch.Tensor | None:
    """Run one step of a schedule.

    Args:
        runner: of `make_pipeline`.
        tokens: [B, T], read on the first stage.
        targets: [B, T], read on the last stage.
        axis: the mesh's axis of stages.

    Returns:
        the mean of the micro-batches' losses on the last stage, None elsewhere.
    """
    index, last = axis.get_local_rank(), axis.size() - 1
    losses: list[torch.Tensor] = []
    if index == 0:
        runner.step(tokens)
    elif index == last:
        runner.step(target=targets, losses=losses)
    else:
        runner.step()
    return torch.stack(losses).mean() if losses else None
