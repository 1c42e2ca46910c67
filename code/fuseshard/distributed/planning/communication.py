"""Who sends how much over which links, and how long that takes.

A message of S bytes takes α + βS: a latency, then β seconds for each byte. Ranks are laid
out so that tp varies fastest, then fsdp, dp and pp: those who talk most sit closest together.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from fuseshard.distributed.planning import shape
from fuseshard.distributed.planning.memory import layer_input_bytes, micro_batch_size
from fuseshard.distributed.planning.records import Cluster, Degrees, ModelShape, Traffic

_SUMS, _SUMS_RECOMPUTING = 4, 6
"""all-reduces of a layer and micro-batch under TP: two forward, two backward, two once more"""


class Link(NamedTuple):
    """What joins the members of a group in a ring."""

    bytes_per_s: float
    """1/β of its slowest part, of one GPU in one direction"""
    latency_s: float
    """α, summed over the N - 1 hops of a chunk that goes all the way round"""
    is_between: bool
    """whether the group spans nodes"""


def link(cluster: Cluster, stride: int, degree: int) -> Link:
    """Return what joins the members of a group in a ring.

    A group stays inside a node if nodes hold whole groups. If it doesn't, each of its members in
    a node brings a network card of its own, so that together they send through several.

    Args:
        cluster: the machines.
        stride: ranks from one member to the next: the product of the axes inside this one.
        degree: N, members of the group.
    """
    hops = degree - 1
    is_whole = degree == 1 or cluster.num_nodes == 1
    if is_whole or cluster.gpus_per_node % (stride * degree) == 0:
        return Link(cluster.inside_bytes_per_s, hops * cluster.inside_latency_s, False)
    members = max(1, min(degree, cluster.gpus_per_node // stride))
    crossings = math.ceil(degree / members) - 1
    inside_s = (hops - crossings) * cluster.inside_latency_s
    latency_s = inside_s + crossings * cluster.between_latency_s
    rate = min(cluster.inside_bytes_per_s, members * cluster.between_bytes_per_s)
    return Link(rate, latency_s, True)


def all_gather_s(num_bytes: float, degree: int, over: Link) -> float:
    """Return the seconds of an all-gather or reduce-scatter in a ring.

    Args:
        num_bytes: S, of the whole tensor.
        degree: N, members of the group.
        over: what joins them.
    """
    return over.latency_s + (degree - 1) / degree * num_bytes / over.bytes_per_s


def all_reduce_s(num_bytes: float, degree: int, over: Link) -> float:
    """Return the seconds of an all-reduce in a ring: a reduce-scatter and an all-gather.

    Args:
        num_bytes: S, of the tensor.
        degree: N, members of the group.
        over: what joins them.
    """
    return 2 * all_gather_s(num_bytes, degree, over)


def sums_per_layer(degrees: Degrees) -> int:
    """Return the all-reduces of a layer and micro-batch, or as many pairs of their halves.

    Args:
        degrees: the layout.

    Source:
        Shoeybi et al. 2019, section 3, arXiv:1909.08053.
    """
    return _SUMS_RECOMPUTING if degrees.recomputes else _SUMS


def shared_parameters(model: ModelShape, degrees: Degrees) -> float:
    """Return the parameters of the largest stage's part on one of its tp ranks.

    Args:
        model: the shape.
        degrees: the layout.
    """
    return max(shape.stage_parameters(model, degrees.pp)) / degrees.tp


def traffic(model: ModelShape, degrees: Degrees) -> Traffic:
    """Return the bytes that one GPU sends in a step.

    FSDP gathers weights twice and scatters gradients once for each micro-batch: 3 Ψ (N - 1)/N
    where DDP sends 2 Ψ (N - 1)/N once a step. A stage sends each micro-batch on and its gradient
    back.

    Args:
        model: the shape.
        degrees: the layout.

    Source:
        Rajbhandari et al. 2020, section 7, arXiv:1910.02054; Narayanan et al. 2021, section 2.2,
        arXiv:2104.04473.
    """
    parts = shared_parameters(model, degrees)
    moved = layer_input_bytes(model, micro_batch_size(model, degrees))
    layers = model.num_layers // degrees.pp
    count = degrees.num_micro_batches
    sums = count * layers * sums_per_layer(degrees) * moved
    gathers = (2 * model.weight_bytes + model.gradient_bytes) * parts * count
    gradients = model.gradient_bytes * parts / degrees.fsdp
    return Traffic(
        tensor_bytes=2 * (degrees.tp - 1) / degrees.tp * sums,
        pipeline_bytes=2 * count * moved / degrees.tp if degrees.pp > 1 else 0.0,
        shard_bytes=(degrees.fsdp - 1) / degrees.fsdp * gathers,
        replicate_bytes=2 * (degrees.dp - 1) / degrees.dp * gradients,
    )
