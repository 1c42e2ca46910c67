"""What a plan is made of, as plain data: a model's shape, a cluster, a layout and its costs.

dp = replicas, fsdp = shards of each replica's state, tp = parts of each layer, pp = stages;
dp · fsdp · tp · pp = number of GPUs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Literal, NamedTuple

Limit = Literal[
    "compute",
    "bubble",
    "tensor inside",
    "tensor between",
    "shard inside",
    "shard between",
    "replicate inside",
    "replicate between",
    "pipeline inside",
    "pipeline between",
]
"""what takes most of a step beside computing, and whether its links run inside or between nodes"""
Reason = Literal[
    "num_heads", "num_kv_heads", "feed_forward_width", "sequence", "num_layers", "global_batch"
]
"""the field of the model that a degree doesn't divide"""

MOST_OF_A_KIND = 2**24
"""far above any size in use; trying all layouts of more would take minutes"""
MOST_GPUS = 2**17


@dataclass(frozen=True, kw_only=True)
class ModelShape:
    """The sizes of a decoder-only transformer and of the batch that it trains on."""

    num_layers: int
    "transformer blocks"
    width: int
    "features of a token, h; a multiple of `num_heads`"
    num_heads: int
    "attention heads of a block"
    num_kv_heads: int
    "heads of keys and values; below `num_heads` where several query heads share one"
    feed_forward_width: int
    "features inside the feed-forward part"
    vocabulary: int
    "tokens that the model knows, V"
    sequence: int
    "tokens in a training sequence, s"
    global_batch: int
    "sequences in a training step, over all GPUs"
    num_positions: int = 0
    "learned position embeddings; 0 for rotary ones, which have no parameters"
    is_gated: bool = False
    "whether the feed-forward part has a gate, and so three matrices (SwiGLU)"
    has_bias: bool = False
    "whether linear layers and norms have biases"
    is_tied: bool = False
    "whether the head shares the weights of the token embedding"
    has_dropout: bool = False
    "whether each half of a block ends in dropout, which keeps a mask of one byte"
    weight_bytes: int = 2
    "bytes of a parameter as the passes use it; 2 for bfloat16"
    gradient_bytes: int = 2
    "bytes of a gradient"
    optimizer_bytes: int = 12
    "bytes that Adam keeps for a parameter: a float32 copy and two moments"
    activation_bytes: int = 2
    "bytes of a number that goes from layer to layer"

    def __post_init__(self) -> None:
        """Refuse sizes that no model can have."""
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type == "bool":
                _check_flag("ModelShape", field.name, value)
            else:
                least = 0 if field.name in ("num_positions", "optimizer_bytes") else 1
                _check_count("ModelShape", field.name, value, least)
        _check_multiple("width", self.width, "num_heads", self.num_heads)
        _check_multiple("num_heads", self.num_heads, "num_kv_heads", self.num_kv_heads)


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Equal nodes of equal GPUs, with one kind of link inside a node and one between nodes."""

    gpus_per_node: int
    "GPUs that share the fast links"
    num_nodes: int
    "nodes"
    memory_bytes: float
    "bytes of one GPU"
    usable_memory: float = 0.9
    "share of the memory that a plan may fill; the rest is for the driver, NCCL and fragments"
    peak_flop_per_s: float
    "FLOP/s of one GPU's matrix units for the numbers that the passes use"
    efficiency: float = 0.5
    "share of the peak that matrix products reach; assumed, not measured"
    inside_bytes_per_s: float
    "bytes/s that one GPU sends inside its node, one direction"
    inside_latency_s: float
    "seconds before the first byte arrives, inside a node"
    between_bytes_per_s: float
    "bytes/s that one GPU sends to another node, one direction"
    between_latency_s: float
    "seconds before the first byte arrives, between nodes"

    def __post_init__(self) -> None:
        """Refuse what no cluster can be."""
        for name in ("gpus_per_node", "num_nodes"):
            _check_count("Cluster", name, getattr(self, name), 1)
        if self.num_gpus > MOST_GPUS:
            raise ValueError(
                f"Cluster: num_nodes is {self.num_nodes}, which makes {self.num_gpus} GPUs, must "
                f"be at most {MOST_GPUS} in all (every layout of them is tried); pass fewer nodes"
            )
        for name in ("memory_bytes", "peak_flop_per_s", "inside_bytes_per_s"):
            _check_quantity(name, getattr(self, name))
        _check_quantity("between_bytes_per_s", self.between_bytes_per_s)
        for name in ("inside_latency_s", "between_latency_s"):
            _check_quantity(name, getattr(self, name), zero_is_right=True)
        for name in ("usable_memory", "efficiency"):
            _check_quantity(name, getattr(self, name), most=1.0)

    @property
    def num_gpus(self) -> int:
        """All GPUs."""
        return self.gpus_per_node * self.num_nodes

    @property
    def usable_bytes(self) -> float:
        """What a plan may fill of one GPU."""
        return self.memory_bytes * self.usable_memory


class Degrees(NamedTuple):
    """How many ways each axis of the mesh goes, and what each GPU's share of the batch becomes."""

    dp: int
    """replicas"""
    fsdp: int
    """shards of each replica's state"""
    tp: int
    """parts of each layer"""
    pp: int
    """stages"""
    num_micro_batches: int
    """micro-batches that a replica's share of the batch is cut into"""
    recomputes: bool
    """whether activations are computed again in the backward pass (activation checkpointing)"""


@dataclass(frozen=True)
class Memory:
    """Bytes that the fullest GPU of a layout holds."""

    state_bytes: float
    "bytes of weights, gradients and optimizer state"
    gathered_bytes: float
    "bytes of layers that FSDP has gathered at the same time"
    activation_bytes: float
    "bytes kept for the backward pass"

    @property
    def total_bytes(self) -> float:
        """All of it."""
        return self.state_bytes + self.gathered_bytes + self.activation_bytes


@dataclass(frozen=True)
class Traffic:
    """Bytes that one GPU sends in a step, by axis."""

    tensor_bytes: float
    "bytes of activations, summed inside layers"
    pipeline_bytes: float
    "bytes of activations and their gradients, to the neighbouring stages"
    shard_bytes: float
    "bytes of gathered weights and scattered gradients"
    replicate_bytes: float
    "bytes of gradients, averaged over replicas"


@dataclass(frozen=True)
class Times:
    """Where the seconds of a step go; what hides behind computing isn't counted."""

    compute_s: float
    "seconds of matrix products"
    tensor_s: float
    "seconds of sums inside layers"
    pipeline_s: float
    "seconds of messages between stages"
    shard_s: float
    "seconds of FSDP's collectives that computing doesn't hide"
    replicate_s: float
    "seconds of averaging over replicas that the last backward pass doesn't hide"
    bubble_s: float
    "seconds in which a stage waits for work"

    @property
    def step_s(self) -> float:
        """All of it."""
        passes = self.compute_s + self.tensor_s + self.pipeline_s + self.shard_s
        return passes + self.bubble_s + self.replicate_s


@dataclass(frozen=True)
class Refusal:
    """A layout that would be right but doesn't fit."""

    degrees: Degrees
    "how the GPUs would be laid out"
    needed_bytes: float
    "bytes that its fullest GPU would hold"
    step_s: float
    "seconds that its step would take"


@dataclass(frozen=True)
class Layout:
    """A layout that fits, with its costs and what binds it."""

    degrees: Degrees
    "how the GPUs are laid out"
    memory: Memory
    "what its fullest GPU holds"
    traffic: Traffic
    "what one GPU sends in a step"
    times: Times
    "where the seconds of a step go"
    limit: Limit
    "what takes most of its step beside computing; compute where nothing takes a twentieth"
    blocked: Refusal | None
    "of the layouts that would be faster by a hundredth, the one that lacks least memory, if any"

    @property
    def step_s(self) -> float:
        """Seconds of a training step."""
        return self.times.step_s


def _check_count(record: str, name: str, value: object, least: int) -> None:
    is_flag = isinstance(value, bool)
    if isinstance(value, int) and not is_flag and least <= value <= MOST_OF_A_KIND:
        return
    raise ValueError(
        f"{record}: {name} is {value!r}, must be a whole number from {least} to {MOST_OF_A_KIND} "
        "(it counts things); pass one of these"
    )


def _check_flag(record: str, name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise ValueError(
            f"{record}: {name} is {value!r}, must be True or False (a model has it or hasn't); "
            "pass one of them"
        )


def _check_multiple(name: str, value: int, divisor_name: str, divisor: int) -> None:
    if value % divisor:
        near = max(d for d in range(1, divisor) if value % d == 0)
        raise ValueError(
            f"ModelShape: {name} is {value}, must be a multiple of {divisor_name} {divisor} (each "
            f"takes an equal part); use {divisor_name}={near}, or another {name}"
        )


def _check_quantity(
    name: str, value: object, *, most: float = math.inf, zero_is_right: bool = False
) -> None:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        is_large_enough = value > 0 or (zero_is_right and value == 0)
        if is_large_enough and value <= most and math.isfinite(value):
            return
    least = "0 or more" if zero_is_right else "above 0"
    limit = f" and at most {most:g}" if math.isfinite(most) else ""
    raise ValueError(
        f"Cluster: {name} is {value!r}, must be a finite number, {least}{limit} (the plan computes "
        "with it); pass it in bytes, seconds, FLOP/s or as a share, as its name says"
    )
