"""Sizes of real models and machines, each with the place where it can be read.

What a source doesn't say is assumed, and marked so: `model_preset` and `cluster_preset` return the
sizes, `MODELS` and `CLUSTERS` also hold the sources.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from fuseshard.distributed.planning.records import Cluster, ModelShape

ASSUMED = "assumed by this book"
"""stands in place of a source"""
_MIXED = {"weight_bytes gradient_bytes optimizer_bytes": "https://arxiv.org/abs/1910.02054"}
_LLAMA_CONFIG = {
    "vocabulary is_gated has_bias is_tied": "https://huggingface.co/nvidia/Llama3-ChatQA-1.5-70B/"
    "blob/4687107c3383b74de78dd9511a0e8d2d8ee391a1/config.json",
    "sequence num_positions": "https://arxiv.org/abs/2407.21783",
    "global_batch has_dropout activation_bytes": ASSUMED,
}
_LLAMA = "https://arxiv.org/abs/2407.21783"
_GPT3 = "https://arxiv.org/abs/2005.14165"
_GPT2 = (  # whose tokens GPT-3 uses
    "https://cdn.openai.com/better-language-models/"
    "language_models_are_unsupervised_multitask_learners.pdf"
)
_LATENCY = "https://github.com/NVIDIA/nccl/blob/v2.25.1-1/src/graph/tuning.cc"
_DGX_A100 = "https://docs.nvidia.com/dgx/dgxa100-user-guide/introduction-to-dgxa100.html"
_DGX_H100 = "https://docs.nvidia.com/dgx/dgxh100-user-guide/introduction-to-dgxh100.html"
_H100 = "https://www.nvidia.com/en-us/data-center/h100/"
_H200 = "https://www.nvidia.com/en-us/data-center/h200/"
_A100 = (
    "https://www.nvidia.com/content/dam/en-zz/Solutions/Data-Center/a100/pdf/"
    "nvidia-a100-datasheet-us-nvidia-1758950-r4-web.pdf"
)
_GIB = 2.0**30


@dataclass(frozen=True)
class ModelPreset:
    """A model's sizes and where they can be read."""

    title: str
    "as its makers write it"
    shape: ModelShape
    "the sizes"
    sources: Mapping[str, str]
    "fields, separated by spaces -> address, or that it is assumed"


@dataclass(frozen=True)
class ClusterPreset:
    """A kind of node and where its sizes can be read."""

    title: str
    "as its maker writes it"
    node: Cluster
    "one node of it"
    sources: Mapping[str, str]
    "fields, separated by spaces -> address, or that it is assumed"


_LLAMA_8B = ModelShape(
    num_layers=32,
    width=4096,
    num_heads=32,
    num_kv_heads=8,
    feed_forward_width=14336,
    vocabulary=128256,
    sequence=8192,
    global_batch=512,
    is_gated=True,
)
_LAYERS = "num_layers width num_heads num_kv_heads feed_forward_width"
MODELS: dict[str, ModelPreset] = {
    "minigpt": ModelPreset(
        "MiniGPT",
        ModelShape(
            num_layers=4,
            width=64,
            num_heads=4,
            num_kv_heads=4,
            feed_forward_width=256,
            vocabulary=600,
            sequence=128,
            global_batch=32,
            num_positions=128,
            has_bias=True,
            weight_bytes=4,
            gradient_bytes=4,
            optimizer_bytes=8,
            activation_bytes=4,
        ),
        {
            f"{_LAYERS} vocabulary sequence num_positions is_gated has_bias is_tied has_dropout "
            "weight_bytes gradient_bytes optimizer_bytes activation_bytes": (
                "fuseshard.models.minigpt"
            ),
            "global_batch": ASSUMED,
        },
    ),
    "llama3-8b": ModelPreset("Llama 3 8B", _LLAMA_8B, {_LAYERS: _LLAMA, **_LLAMA_CONFIG, **_MIXED}),
    "llama3-70b": ModelPreset(
        "Llama 3 70B",
        replace(_LLAMA_8B, num_layers=80, width=8192, num_heads=64, feed_forward_width=28672),
        {_LAYERS: _LLAMA, **_LLAMA_CONFIG, **_MIXED},
    ),
    "gpt3-175b": ModelPreset(
        "GPT-3 175B",
        ModelShape(
            num_layers=96,
            width=12288,
            num_heads=96,
            num_kv_heads=96,
            feed_forward_width=49152,
            vocabulary=50257,
            sequence=2048,
            global_batch=1536,
            num_positions=2048,
            has_bias=True,
            is_tied=True,
            has_dropout=True,
        ),
        {
            f"{_LAYERS} sequence global_batch": _GPT3,  # 3.2 million tokens, rounded to 1536 · 2048
            "vocabulary": _GPT2,
            "num_positions has_bias is_tied is_gated": (
                "https://github.com/openai/gpt-2/blob/c2dae27c1029770cea40978813f17a5fd545b883/src/"
                "model.py"
            ),
            "has_dropout activation_bytes": "https://arxiv.org/abs/2205.05198",
            **_MIXED,
        },
    ),
}

_H200_NODE = Cluster(
    gpus_per_node=8,
    num_nodes=1,
    memory_bytes=141 * _GIB,
    peak_flop_per_s=1979e12 / 2,  # the data sheet's with sparsity, halved
    inside_bytes_per_s=450e9,  # the 900 GB/s of NVLink count both directions
    inside_latency_s=3.4e-6,
    between_bytes_per_s=50e9,  # a card of 400 Gb/s for each GPU
    between_latency_s=14e-6,
)
_SHARED = {
    "usable_memory efficiency num_nodes": ASSUMED,
    "inside_latency_s between_latency_s": _LATENCY,
}
CLUSTERS: dict[str, ClusterPreset] = {
    "h200x8": ClusterPreset(
        "8 × H200",
        _H200_NODE,
        {
            "memory_bytes peak_flop_per_s inside_bytes_per_s": _H200,
            "gpus_per_node between_bytes_per_s": _DGX_H100,
            **_SHARED,
        },
    ),
    "h100x8": ClusterPreset(
        "8 × H100",
        replace(_H200_NODE, memory_bytes=80 * _GIB),
        {
            "memory_bytes peak_flop_per_s inside_bytes_per_s": _H100,
            "gpus_per_node between_bytes_per_s": _DGX_H100,
            **_SHARED,
        },
    ),
    "a100x8": ClusterPreset(
        "8 × A100 80 GB",
        replace(
            _H200_NODE,
            memory_bytes=80 * _GIB,
            peak_flop_per_s=312e12,
            inside_bytes_per_s=300e9,
            between_bytes_per_s=25e9,
        ),
        {
            "memory_bytes peak_flop_per_s inside_bytes_per_s": _A100,
            "gpus_per_node between_bytes_per_s": _DGX_A100,
            **_SHARED,
        },
    ),
}

_Preset = TypeVar("_Preset", ModelPreset, ClusterPreset)


def model_preset(
    name: str, *, sequence: int | None = None, global_batch: int | None = None
) -> ModelShape:
    """Return a known model's shape.

    Args:
        name: a key of `MODELS`.
        sequence: tokens in a sequence; None for the preset's.
        global_batch: sequences in a step; None for the preset's.

    Raises:
        ValueError: no such model, or a size that can't be.
    """
    shape = _known("model", name, MODELS).shape
    return replace(
        shape,
        sequence=shape.sequence if sequence is None else sequence,
        global_batch=shape.global_batch if global_batch is None else global_batch,
    )


def cluster_preset(name: str, *, num_nodes: int = 1) -> Cluster:
    """Return a number of known nodes.

    Args:
        name: a key of `CLUSTERS`.
        num_nodes: how many of them.

    Raises:
        ValueError: no such node, or a number that can't be.
    """
    return replace(_known("cluster", name, CLUSTERS).node, num_nodes=num_nodes)


def _known(what: str, name: str, presets: Mapping[str, _Preset]) -> _Preset:
    if name not in presets:
        raise ValueError(
            f"{what}: name is {name!r}, must be one of {', '.join(presets)} (the sizes of these "
            f"are known, with a source); use one of them, or make a record of your own sizes"
        )
    return presets[name]
