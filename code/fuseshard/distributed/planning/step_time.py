"""How long a step takes: computing at an assumed efficiency, and the messages beside it.

m = micro-batches, p = stages. A micro-batch occupies a stage for one slot; a step lasts m + p - 1
slots. FSDP's collectives hide behind a slot's computing, and the average over replicas behind what
they leave of the last backward pass; sums inside layers and messages between stages hide behind
nothing.
"""

from __future__ import annotations

from fuseshard.distributed.planning import shape
from fuseshard.distributed.planning.communication import (
    all_gather_s,
    all_reduce_s,
    link,
    shared_parameters,
    sums_per_layer,
)
from fuseshard.distributed.planning.memory import layer_input_bytes, micro_batch_size
from fuseshard.distributed.planning.records import Cluster, Degrees, Limit, ModelShape, Times

NOTABLE = 0.05
"""share of a step from which on something limits it"""


def stage_flop(model: ModelShape, degrees: Degrees) -> tuple[float, float]:
    """Return the FLOP of the slowest stage for a micro-batch: forward pass, all passes.

    The slowest is the last, which has the head.

    Args:
        model: the shape.
        degrees: the layout.
    """
    micro_batch = micro_batch_size(model, degrees)
    layers = model.num_layers // degrees.pp * shape.layer_flop(model, micro_batch)
    forward = layers + shape.head_flop(model, micro_batch)
    return forward, 3.0 * forward + (layers if degrees.recomputes else 0.0)


def tensor_s(model: ModelShape, cluster: Cluster, degrees: Degrees) -> float:
    """Return the seconds of a slot's sums inside layers.

    Args:
        model: the shape.
        cluster: the machines.
        degrees: the layout.
    """
    if degrees.tp == 1:
        return 0.0
    moved = layer_input_bytes(model, micro_batch_size(model, degrees))
    sums = model.num_layers // degrees.pp * sums_per_layer(degrees)
    return sums * all_reduce_s(moved, degrees.tp, link(cluster, 1, degrees.tp))


def pipeline_s(model: ModelShape, cluster: Cluster, degrees: Degrees) -> float:
    """Return the seconds of a slot's two messages between stages.

    Args:
        model: the shape.
        cluster: the machines.
        degrees: the layout.
    """
    if degrees.pp == 1:
        return 0.0
    moved = layer_input_bytes(model, micro_batch_size(model, degrees)) / degrees.tp
    if link(cluster, degrees.tp * degrees.fsdp * degrees.dp, degrees.pp).is_between:
        return 2 * (cluster.between_latency_s + moved / cluster.between_bytes_per_s)
    return 2 * (cluster.inside_latency_s + moved / cluster.inside_bytes_per_s)


def shard_s(model: ModelShape, cluster: Cluster, degrees: Degrees) -> float:
    """Return the seconds of a slot's gathers and scatters, hidden or not.

    Args:
        model: the shape.
        cluster: the machines.
        degrees: the layout.
    """
    if degrees.fsdp == 1:
        return 0.0
    over = link(cluster, degrees.tp, degrees.fsdp)
    units = model.num_layers // degrees.pp + 1  # embedding and head are one more
    parts = shared_parameters(model, degrees) / units
    gather = all_gather_s(model.weight_bytes * parts, degrees.fsdp, over)
    scatter = all_gather_s(model.gradient_bytes * parts, degrees.fsdp, over)
    return units * (2 * gather + scatter)


def replicate_s(model: ModelShape, cluster: Cluster, degrees: Degrees) -> float:
    """Return the seconds of averaging gradients over replicas, hidden or not.

    Args:
        model: the shape.
        cluster: the machines.
        degrees: the layout.
    """
    if degrees.dp == 1:
        return 0.0
    gradients = model.gradient_bytes * shared_parameters(model, degrees) / degrees.fsdp
    over = link(cluster, degrees.tp * degrees.fsdp, degrees.dp)
    return all_reduce_s(gradients, degrees.dp, over)


def times(model: ModelShape, cluster: Cluster, degrees: Degrees) -> Times:
    """Return where the seconds of a step go.

    Args:
        model: the shape.
        cluster: the machines.
        degrees: the layout.

    Source:
        Narayanan et al. 2021, section 2.2, arXiv:2104.04473: a bubble of (p - 1)/m.
    """
    flop_per_s = cluster.peak_flop_per_s * cluster.efficiency
    forward_flop, flop = stage_flop(model, degrees)
    compute = flop / degrees.tp / flop_per_s
    backward = compute - forward_flop / degrees.tp / flop_per_s
    tensor = tensor_s(model, cluster, degrees)
    pipeline = pipeline_s(model, cluster, degrees)
    gathers = shard_s(model, cluster, degrees)
    shard = max(0.0, gathers - compute)
    room = min(backward, max(0.0, compute - gathers))
    slot = compute + tensor + pipeline + shard
    count = degrees.num_micro_batches
    return Times(
        compute_s=count * compute,
        tensor_s=count * tensor,
        pipeline_s=count * pipeline,
        shard_s=count * shard,
        replicate_s=max(0.0, replicate_s(model, cluster, degrees) - room),
        bubble_s=(degrees.pp - 1) * slot,
    )


def limit(found: Times, cluster: Cluster, degrees: Degrees) -> Limit:
    """Name what takes most of a step beside computing, if it takes a twentieth or more.

    Args:
        found: where the seconds go.
        cluster: the machines.
        degrees: the layout.
    """
    losses = {
        "bubble": found.bubble_s,
        "tensor": found.tensor_s,
        "shard": found.shard_s,
        "replicate": found.replicate_s,
        "pipeline": found.pipeline_s,
    }
    worst = max(losses, key=lambda name: losses[name])
    if losses[worst] < NOTABLE * found.step_s:
        return "compute"
    dp, fsdp, tp, pp = degrees[:4]
    groups = {"tensor": (1, tp), "shard": (tp, fsdp), "replicate": (tp * fsdp, dp)}
    groups["pipeline"] = (tp * fsdp * dp, pp)
    if worst not in groups:
        return "bubble"
    return _named(worst, is_between=link(cluster, *groups[worst]).is_between)


def _named(axis: str, *, is_between: bool) -> Limit:
    names: dict[tuple[str, bool], Limit] = {
        ("tensor", False): "tensor inside",
        ("tensor", True): "tensor between",
        ("shard", False): "shard inside",
        ("shard", True): "shard between",
        ("replicate", False): "replicate inside",
        ("replicate", True): "replicate between",
        ("pipeline", False): "pipeline inside",
        ("pipeline", True): "pipeline between",
    }
    return names[axis, is_between]
