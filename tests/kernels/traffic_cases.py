"""Elements that kernels load and store, counted by Triton's interpreter; for test_traffic.py."""

from collections.abc import Callable
from typing import Any

import torch
from case_tools import drawn, report
from triton.runtime import interpreter

from fuseshard.kernels import copy, flash_attention, linear_cross_entropy, rms_norm, softmax
from fuseshard.kernels.plans import TilePlan


def counted(call: Callable[[], Any]) -> list[int]:
    """Count what a call reads and writes, element by element, masked ones left out."""
    counts = [0, 0]
    builder = interpreter.interpreter_builder
    load, store = builder.create_masked_load, builder.create_masked_store

    def counting_load(pointers: Any, mask: Any, *rest: Any) -> Any:
        counts[0] += int(mask.data.sum())
        return load(pointers, mask, *rest)

    def counting_store(pointers: Any, value: Any, mask: Any, *rest: Any) -> Any:
        counts[1] += int(mask.data.sum())
        return store(pointers, value, mask, *rest)

    builder.create_masked_load, builder.create_masked_store = counting_load, counting_store
    try:
        call()
    finally:
        del builder.create_masked_load, builder.create_masked_store
    return counts


def main() -> None:
    x = drawn(10, 600, dtype=torch.float32, seed=1)
    w = x[0].clone()
    q = drawn(1, 2, 40, 16, dtype=torch.float32, seed=2)
    hidden, weight = (
        drawn(20, 24, dtype=torch.float32, seed=3),
        drawn(100, 24, dtype=torch.float32, seed=4),
    )
    target = torch.arange(20)
    heads = TilePlan(rows=32, columns=16, depth=16, num_warps=4, num_stages=2)
    tiles = TilePlan(rows=16, columns=32, depth=16, num_warps=4, num_stages=2)
    report(
        {
            "copy": counted(lambda: copy.copy(x)),
            "softmax": counted(lambda: softmax.softmax(x)),
            "rms_norm": counted(lambda: rms_norm.rms_norm(x, w, rows_per_program=16)),
            "rms_norm, 5 programs": counted(lambda: rms_norm.rms_norm(x, w, rows_per_program=2)),
            "rms_norm_backward": counted(
                lambda: rms_norm.rms_norm_backward(x, x, w, rows_per_program=2, num_programs=3)
            ),
            "attention": counted(lambda: flash_attention.flash_attention(q, q, q, tiles=heads)),
            "causal": counted(
                lambda: flash_attention.flash_attention(q, q, q, is_causal=True, tiles=heads)
            ),
            "loss": counted(
                lambda: linear_cross_entropy.token_losses(
                    hidden, weight, target, tiles=tiles, num_splits=3
                )
            ),
        }
    )
