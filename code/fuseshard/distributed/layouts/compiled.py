"""Compile and wrap in some order, run two steps, and count the graphs."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch
import torch.distributed as dist
from torch import fx, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import loss_parallel

from fuseshard.distributed.equivalence import largest_difference
from fuseshard.distributed.launcher import run
from fuseshard.distributed.layouts.compared import NUM_TERMS
from fuseshard.distributed.layouts.orders import ORDERS, Order, shard, split
from fuseshard.distributed.layouts.records import OrderTrial
from fuseshard.distributed.layouts.step import (
    loss_fn,
    make_pipeline,
    run_pipeline,
    whole_gradients,
)
from fuseshard.distributed.layouts.workload import Tensors, Workload
from fuseshard.models.minigpt import MiniGPT, MiniGPTConfig

SMALL = Workload(
    config=MiniGPTConfig(vocabulary=120, width=32, num_layers=2, num_heads=4, context=12)
)
"""two blocks, so that tracing is short; what repeats, repeats"""
SMALLEST = Workload(
    config=MiniGPTConfig(vocabulary=120, width=32, num_layers=1, num_heads=4, context=12)
)
"""one block, as an optimizer's graph grows with each parameter"""


class Backend(Protocol):
    """What is read of `compiler.graphs.CountingBackend`, which this layer doesn't import."""

    num_graphs: int
    num_operations: int

    def __call__(self, graph: fx.GraphModule, inputs: list[torch.Tensor]) -> Callable[..., Any]:
        """Compile a graph."""


MakeBackend = Callable[[str], Backend]
"""from the name of the backend that does the work to one that counts"""


def try_orders(
    names: Sequence[str],
    make_backend: MakeBackend,
    world_size: int = 2,
    *,
    workload: Workload = SMALL,
    timeout: float = 120.0,
) -> list[OrderTrial]:
    """Run orders of compiling and wrapping, all in the same processes.

    Args:
        names: of `ORDERS`.
        make_backend: `CountingBackend`; called with "aot_eager", and with "eager" where tracing
            is all that matters.
        world_size: number of processes: 2, or 4 for "everything".
        workload: the step.
        timeout: seconds for all of them.

    Returns:
        what rank 0 saw, one an order.

    Raises:
        ValueError: an order is unknown; nothing was started.
        RuntimeError: an order ran and arrived at other gradients than one process.
    """
    if unknown := sorted(set(names) - set(ORDERS)):
        raise ValueError(
            f"try_orders: names has {unknown}, required are some of {sorted(ORDERS)} (each is "
            "built by hand); leave them out"
        )
    ranks = run(
        _try_all, world_size, args=(tuple(names), (make_backend, workload)), timeout=timeout
    )
    equal = [all(trials[i].is_equal for trials in ranks) for i in range(len(names))]
    if not all(equal):
        raise RuntimeError(f"try_orders: {names} are equal to one process: {equal}")
    return list(ranks[0])


def _try_all(
    rank: int, world_size: int, names: Sequence[str], given: tuple[MakeBackend, Workload]
) -> list[OrderTrial]:
    make_backend, workload = given
    expected = workload.reference(torch.float64)
    return [try_order(name, make_backend, workload, expected) for name in names]


def try_order(
    name: str, make_backend: MakeBackend, workload: Workload, expected: Tensors
) -> OrderTrial:
    """Run one order twice, the second time with `fullgraph=True`; all ranks call this together.

    Args:
        name: key of the order.
        make_backend: see `try_orders`.
        workload: the step.
        expected: of one process, float64.
    """
    order, backend = ORDERS[name], make_backend("aot_eager")
    refused, counts = "", [(0, 0), (0, 0)]
    found: Tensors = {}
    try:
        found, counts = _run(order, workload, backend, num_steps=2)
    except (ValueError, AssertionError) as error:  # a plan that doesn't fit; torch's own checks
        refused = f"{type(error).__name__}: {error}"
    wanted = {key: expected[key] for key in found}
    is_equal = not found or largest_difference(found, wanted).is_rounding(NUM_TERMS)
    return OrderTrial(
        name=name,
        code=order.code,
        refused=refused,
        num_graphs=counts[0][0],
        later_graphs=counts[1][0] - counts[0][0],
        num_operations=counts[1][1] - counts[0][1],
        is_fullgraph=not refused and runs_whole(order, make_backend, workload),
        is_equal=is_equal,
    )


def runs_whole(order: Order, make_backend: MakeBackend, workload: Workload) -> bool:
    """Try an order with `fullgraph=True`, tracing alone.

    Args:
        order: what to wrap how.
        make_backend: see `try_orders`.
        workload: the step.
    """
    try:
        _run(order, workload, make_backend("eager"), num_steps=1, is_fullgraph=True)
    except RuntimeError as error:
        if type(error).__name__ != "Unsupported":  # Dynamo's class, which has no public name
            raise
        return False
    return True


def _run(
    order: Order,
    workload: Workload,
    backend: Backend,
    *,
    num_steps: int,
    is_fullgraph: bool = False,
) -> tuple[Tensors, list[tuple[int, int]]]:
    """Some steps; the gradients, and after each step the numbers of graphs and operations."""
    torch.compiler.reset()

    def compiled(module: nn.Module) -> nn.Module:
        made: Any = torch.compile(module, backend=backend, fullgraph=is_fullgraph)
        return made

    module = order.make(MiniGPT(workload.config).double(), compiled)
    group = dist.get_world_size() // order.num_shares
    tokens, targets = workload.share(dist.get_rank() // group, order.num_shares)
    axis = init_device_mesh("cpu", (dist.get_world_size(),))
    runner = make_pipeline(module, axis, workload) if order.is_pipeline else None
    counts = []
    for _ in range(num_steps):
        module.zero_grad()
        with loss_parallel():
            if runner is None:
                loss_fn(module(tokens), targets).backward()
            else:
                run_pipeline(runner, tokens, targets, axis)
        counts.append((backend.num_graphs, backend.num_operations))
    return whole_gradients(module, workload.config.num_heads if order.is_tensor else None), counts


def try_optimizers(
    make_backend: MakeBackend, workload: Workload = SMALLEST, *, timeout: float = 120.0
) -> dict[str, int]:
    """Compile AdamW's step for whole, sharded and split parameters on two ranks.

    Args:
        make_backend: see `try_orders`.
        workload: whose gradients it gets.
        timeout: seconds for all of them.

    Returns:
        "alone", "fsdp" and "tp" -> graphs in three steps.

    Raises:
        RuntimeError: a compiled optimizer arrived at other parameters than an eager one.
    """
    return run(_optimizers, 2, args=(make_backend, workload), timeout=timeout)[0]


def _optimizers(
    rank: int, world_size: int, make_backend: MakeBackend, workload: Workload
) -> dict[str, int]:
    makers: dict[str, Callable[[MiniGPT], nn.Module]] = {
        "alone": lambda model: model,
        "fsdp": shard,
        "tp": split,
    }
    return {
        name: _optimizer_graphs(make, make_backend("eager"), workload)
        for name, make in makers.items()
    }


def _optimizer_graphs(
    make: Callable[[MiniGPT], nn.Module], backend: Backend, workload: Workload
) -> int:
    torch.compiler.reset()
    ends = []
    for is_compiled in (False, True):
        module = make(MiniGPT(workload.config))  # AdamW counts its steps in float32, so float32
        with loss_parallel():
            loss_fn(module(workload.batch()[0]), workload.batch()[1]).backward()
        optimizer = torch.optim.AdamW(module.parameters())
        step = torch.compile(optimizer.step, backend=backend) if is_compiled else optimizer.step
        for _ in range(3):
            step()
        ends.append({name: _local(param) for name, param in module.named_parameters()})
    if not largest_difference(*ends).is_rounding(NUM_TERMS):
        raise RuntimeError("try_optimizers: compiled AdamW arrived at other parameters")
    return backend.num_graphs


def _local(param: torch.Tensor) -> torch.Tensor:
    """What this rank holds of a parameter."""
    return (param.to_local() if isinstance(param, DTensor) else param).detach()
