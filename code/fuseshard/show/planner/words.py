"""What layouts, limits and the sizes of models and clusters are called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from fuseshard.distributed.planning.records import Degrees, Limit, Reason
from fuseshard.show.numbers import TIMES_SIGN
from fuseshard.show.words import Json, Plain, Word, plain, word

LIMITS: Mapping[Limit, Word] = {
    "compute": word("none of note"),
    "bubble": word("pipeline bubble"),
    "tensor inside": word("sums of TP, inside nodes"),
    "tensor between": word("sums of TP, between nodes"),
    "shard inside": word("gathers of FSDP, inside nodes"),
    "shard between": word("gathers of FSDP, between nodes"),
    "replicate inside": word("averages of DP, inside nodes"),
    "replicate between": word("averages of DP, between nodes"),
    "pipeline inside": word("messages of PP, inside nodes"),
    "pipeline between": word("messages of PP, between nodes"),
}
"""what takes most of a step beside computing"""
OBSTACLES: Mapping[Reason, Word] = {
    "num_heads": word("TP doesn't divide the heads"),
    "num_kv_heads": word("TP doesn't divide the heads of keys and values"),
    "feed_forward_width": word("TP doesn't divide the feed-forward width"),
    "sequence": word("TP doesn't divide the sequence"),
    "num_layers": word("PP doesn't divide the layers"),
    "global_batch": word("DP and FSDP don't divide the batch"),
}
"""why a mesh can't be, whatever the memory"""


@dataclass(frozen=True)
class Field:
    """A size that a reader may change."""

    name: str
    """of the record's field"""
    title: Word
    unit: str | None
    """symbol of the unit in which it is shown"""
    scale: float
    """what one of these units is in the record's"""
    kind: Literal["count", "share", "quantity"]
    """a whole number of at least 1; a percentage above 0; any number above 0"""

    def to_json(self) -> Json:
        """Return the fields, the title as a Word's JSON."""
        own = {"name": self.name, "unit": self.unit, "scale": self.scale, "kind": self.kind}
        return {**own, "title": self.title.to_json()}


def _count(name: str, title: Word) -> Field:
    return Field(name, title, None, 1, "count")


MODEL_FIELDS = (
    _count("num_layers", word("Layers")),
    _count("width", word("Width")),
    _count("num_heads", word("Heads")),
    _count("num_kv_heads", word("Heads of keys and values")),
    _count("feed_forward_width", word("Feed-forward width")),
    _count("vocabulary", word("Vocabulary")),
    _count("sequence", word("Tokens in a sequence")),
    _count("global_batch", word("Sequences in a step")),
)
CLUSTER_FIELDS = (
    _count("gpus_per_node", word("GPUs in a node")),
    _count("num_nodes", word("Nodes")),
    Field("memory_bytes", word("Memory of a GPU"), "GiB", 2**30, "quantity"),
    Field("usable_memory", word("Usable part of the memory"), "%", 0.01, "share"),
    Field("peak_flop_per_s", word("Peak"), "TFLOP/s", 1e12, "quantity"),
    Field("efficiency", word("Reached part of the peak"), "%", 0.01, "share"),
    Field("inside_bytes_per_s", word("Link inside a node"), "GB/s", 1e9, "quantity"),
    Field("between_bytes_per_s", word("Link between nodes"), "GB/s", 1e9, "quantity"),
)


def short_name(degrees: Degrees) -> Plain:
    """Return a layout in a few signs, for the row of a figure: "1×8×4×1, 64".

    Args:
        degrees: the layout; DP, FSDP, TP and PP, then micro-batches, and r if it recomputes.
    """
    mesh = TIMES_SIGN.join(str(size) for size in degrees[:4])
    return plain(f"{mesh}, {degrees.num_micro_batches}{' r' if degrees.recomputes else ''}")


def layout_name(degrees: Degrees) -> Word:
    """Return a layout in a line: "FSDP 8 · TP 4, micro-batches: 64".

    Args:
        degrees: the layout; axes of one are left out.
    """
    axes = {"DP": degrees.dp, "FSDP": degrees.fsdp, "TP": degrees.tp, "PP": degrees.pp}
    mesh = " · ".join(f"{name} {size}" for name, size in axes.items() if size > 1) or "DP 1"
    count = degrees.num_micro_batches
    if degrees.recomputes:
        return word("{mesh}, micro-batches: {count}, recomputing", mesh=mesh, count=count)
    return word("{mesh}, micro-batches: {count}", mesh=mesh, count=count)
