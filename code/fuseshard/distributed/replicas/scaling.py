"""What N replicas cost: the time of a training step by the alpha-beta model. No torch here.

N = ranks, one GPU each; P = parameters; S = bytes of all gradients; k = buckets.
Assumed: gradients become ready evenly along the backward pass, buckets are equal and leave one
after another while it goes on, and sending costs the GPU no time to compute.
"""

import math
from dataclasses import dataclass
from typing import Self

from fuseshard.distributed.network.predict import Predict, predict_ring_all_reduce
from fuseshard.distributed.network.records import Link

DEFAULT_BUCKET_BYTES = 25 * 2**20
"""bytes; DDP's cap for all buckets but the first"""


@dataclass(frozen=True, kw_only=True)
class Network:
    """GPUs in nodes: one link inside a node, another between nodes."""

    inside: Link
    "what a message costs between two GPUs of a node"
    between: Link
    "what it costs where the ring leaves a node"
    gpus_per_node: int = 8
    "GPUs in a node"

    def slowest_link(self, world_size: int) -> Link:
        """Return what the dearest message costs among so many GPUs.

        Args:
            world_size: N; nodes are filled one after another.
        """
        return self.inside if world_size <= self.gpus_per_node else self.between

    def ring_link(self, world_size: int) -> Link:
        """Return the mean link of a ring: its latencies in the mean, its slowest bandwidth.

        A part on its way round crosses N - 1 links, of which one a node is slow: latencies add
        up as they come, while bytes queue where the ring leaves a node.

        Args:
            world_size: N, GPUs in the ring; nodes are filled one after another.

        Source:
            NCCL's own model counts hops like this, `src/graph/tuning.cc`.
        """
        if world_size <= self.gpus_per_node:
            return self.inside
        num_crossings = math.ceil(world_size / self.gpus_per_node) - 1
        share = num_crossings / (world_size - 1)
        inside_s, between_s = self.inside.alpha_s.value, self.between.alpha_s.value
        return Link.stated(
            inside_s + share * (between_s - inside_s),
            min(self.inside.bandwidth_bytes_per_s, self.between.bandwidth_bytes_per_s),
        )


@dataclass(frozen=True, kw_only=True)
class Workload:
    """What one GPU has to do in a step, before it has to talk to anyone."""

    forward_s: float
    "seconds of the forward pass"
    backward_s: float
    "seconds of the backward pass"
    gradient_bytes: float
    "S, bytes of all gradients"
    bucket_bytes: float = DEFAULT_BUCKET_BYTES
    "bytes of one bucket; k = S / bucket_bytes, rounded up"

    def __post_init__(self) -> None:
        """Refuse what nobody can compute or send."""
        for name in ("forward_s", "backward_s", "gradient_bytes", "bucket_bytes"):
            value = getattr(self, name)
            if not 0 < value < math.inf:
                raise ValueError(
                    f"Workload: {name} is {value}, required is a finite number above 0 (a step "
                    "computes something and leaves gradients); pass seconds and bytes"
                )

    @classmethod
    def dense(
        cls,
        num_parameters: float,
        num_tokens: float,
        flops_per_s: float,
        *,
        bytes_per_gradient: float = 2,
        bucket_bytes: float = DEFAULT_BUCKET_BYTES,
    ) -> Self:
        """Make the workload of a dense Transformer: 2 P operations a token, and twice that back.

        Args:
            num_parameters: P.
            num_tokens: tokens that this GPU sees in a step.
            flops_per_s: operations that it really does in a second, not its peak.
            bytes_per_gradient: 2 for bfloat16, 4 for float32.
            bucket_bytes: bytes of one bucket.
        """
        forward_s = 2 * num_parameters * num_tokens / flops_per_s
        return cls(
            forward_s=forward_s,
            backward_s=2 * forward_s,
            gradient_bytes=num_parameters * bytes_per_gradient,
            bucket_bytes=bucket_bytes,
        )

    @property
    def compute_s(self) -> float:
        """Seconds of a step on one GPU alone."""
        return self.forward_s + self.backward_s

    @property
    def num_buckets(self) -> int:
        """All-reduces in a step, k."""
        return math.ceil(self.gradient_bytes / self.bucket_bytes)


def all_reduces_s(
    workload: Workload,
    network: Network,
    world_size: int,
    *,
    predict: Predict = predict_ring_all_reduce,
) -> float:
    """Seconds that the all-reduces of a step take one after another.

    Args:
        workload: one GPU's step.
        network: how the GPUs are joined.
        world_size: N, at least 1; with 1 there is nothing to send.
        predict: from link, bytes and N to the time of one all-reduce.
    """
    num_buckets = workload.num_buckets
    bucket_bytes = workload.gradient_bytes / num_buckets
    return num_buckets * predict(network.ring_link(world_size), bucket_bytes, world_size).value


def step_s(
    workload: Workload,
    network: Network,
    world_size: int,
    *,
    predict: Predict = predict_ring_all_reduce,
) -> float:
    """Seconds of a step in which buckets leave while the backward pass goes on.

    Bucket i of k is ready after i/k of the backward pass B and leaves when the one before it is
    back. So either the last one decides, B + a, or the first one and all transfers, B/k + k a.

    Args:
        workload: one GPU's step.
        network: how the GPUs are joined.
        world_size: N, at least 1.
        predict: from link, bytes and N to the time of one all-reduce, a.
    """
    transfers_s = all_reduces_s(workload, network, world_size, predict=predict)
    one_s, first_s = (total / workload.num_buckets for total in (transfers_s, workload.backward_s))
    last_decides = workload.backward_s + one_s
    link_decides = first_s + transfers_s
    return workload.forward_s + max(last_decides, link_decides)


def efficiency(
    workload: Workload,
    network: Network,
    world_size: int,
    *,
    predict: Predict = predict_ring_all_reduce,
) -> float:
    """Share of a step in which a GPU computes: 1 means that N GPUs do N times the work of one.

    Args:
        workload: one GPU's step.
        network: how the GPUs are joined.
        world_size: N, at least 1.
        predict: as for `step_s`.
    """
    return workload.compute_s / step_s(workload, network, world_size, predict=predict)
