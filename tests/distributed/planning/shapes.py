"""Models and clusters whose sizes don't divide evenly, for the planner's tests."""

from __future__ import annotations

import random
from dataclasses import replace

from fuseshard.distributed.planning.records import Cluster, ModelShape

SMALL = ModelShape(
    num_layers=6,
    width=96,
    num_heads=6,
    num_kv_heads=3,
    feed_forward_width=160,
    vocabulary=101,
    sequence=20,
    global_batch=12,
)
LAB = Cluster(
    gpus_per_node=3,
    num_nodes=2,
    memory_bytes=9e6,
    peak_flop_per_s=1e12,
    inside_bytes_per_s=4e9,
    inside_latency_s=2e-6,
    between_bytes_per_s=5e8,
    between_latency_s=3e-5,
)


def random_case(number: random.Random) -> tuple[ModelShape, Cluster]:
    """Draw a model and a cluster on which some layouts fit and others don't."""
    heads = number.choice((4, 6, 8, 12, 40))
    kv_heads = number.choice([d for d in range(1, heads + 1) if heads % d == 0])
    model = ModelShape(
        num_layers=number.choice((4, 6, 12, 30)),
        width=heads * number.choice((16, 64, 128)),
        num_heads=heads,
        num_kv_heads=kv_heads,
        feed_forward_width=number.choice((256, 3072, 11008)),
        vocabulary=number.choice((600, 50257)),
        sequence=number.choice((128, 1000, 2048)),
        global_batch=number.choice((1, 24, 36, 256)),
        num_positions=number.choice((0, 128)),
        is_gated=number.random() < 0.5,
        has_bias=number.random() < 0.5,
        is_tied=number.random() < 0.5,
        has_dropout=number.random() < 0.5,
    )
    cluster = replace(
        LAB,
        gpus_per_node=number.choice((1, 4, 6, 8)),
        num_nodes=number.choice((1, 2, 3, 4)),
        memory_bytes=number.choice((1e9, 1e10, 8e10)),
        peak_flop_per_s=number.choice((1e13, 1e15)),
        inside_bytes_per_s=number.choice((1e10, 4.5e11)),
        between_bytes_per_s=number.choice((1e9, 5e10)),
    )
    return model, cluster
