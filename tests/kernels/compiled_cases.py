"""Kernels compiled under their default plans for GPUs that aren't there; for test_compiled.py."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import torch
from case_tools import report

from fuseshard.compiler.described.targets import TARGETS, Target
from fuseshard.compiler.gpu_code.machine import compile_triton
from fuseshard.kernels import plans
from fuseshard.kernels.copy import BLOCK_BYTES, copy_kernel
from fuseshard.kernels.flash_attention import attention_kernel
from fuseshard.kernels.linear_cross_entropy import cross_entropy_kernel
from fuseshard.kernels.logit_gradient import logit_gradient_kernel
from fuseshard.kernels.rms_norm import rms_norm_backward_kernel, rms_norm_kernel
from fuseshard.kernels.softmax import softmax_kernel

POINTERS = {
    "target_ptr": "*i64",
    "lse_ptr": "*fp32",
    "target_logit_ptr": "*fp32",
    "dweight_ptr": "*fp32",
}
"""those that don't point to the kernel's storage type"""
NUMBERS = {"eps": "fp32", "scale": "fp32"}
"""those that aren't counts"""
WIDTHS = {"fp32": (600, 1024, 8192), "fp16": (4096,), "bf16": (1000, 2048, 8192)}
TYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


def compiled(
    kernel: Any, storage: str, constants: dict[str, Any], target: Target, **options: Any
) -> dict[str, Any]:
    """Compile as a launch with aligned tensors would, and sizes divisible by 16."""
    aligned = options.pop("aligned", True)
    signature = {}
    for name in kernel.arg_names:
        if name not in constants:
            kind = f"*{storage}" if name.endswith("_ptr") else "i32"
            kind = POINTERS.get(name, NUMBERS.get(name, kind))
            signature[name] = f"{kind}:16" if aligned and kind not in NUMBERS.values() else kind
    code = compile_triton(kernel, signature, constants, target, **options)
    return {
        **asdict(code.resources),
        "threads": options["num_warps"] * target.warp_size,
        "narrow_ptx": sorted(set(ptx_loads(code.assembly)) - {"v4.b32"}),
        "wide_ptx": ptx_loads(code.assembly).count("v4.b32"),
    }


def ptx_loads(assembly: str) -> list[str]:
    """Shapes of PTX's loads from global memory: "v4.b32" for ld.global.v4.b32."""
    words = [word for word in assembly.split() if word.startswith("ld.global")]
    return [".".join(word.split(".")[-2:]) for word in words]


def of_rows(
    kernel: Any, storage: str, num_columns: int, target: Target, **options: Any
) -> dict[str, Any]:
    half = kernel is rms_norm_backward_kernel
    plan = plans.plan_rows(
        num_columns,
        elements_per_thread=plans.ELEMENTS_PER_THREAD // (2 if half else 1),
        warp_size=target.warp_size,
    )
    constants = {
        "NUM_COLUMNS": num_columns,
        "BLOCK_ROWS": plan.rows_per_program,
        "BLOCK_COLUMNS": plan.block_columns,
    }
    found = compiled(kernel, storage, constants, target, num_warps=plan.num_warps, **options)
    return found | {"tile": plan.rows_per_program * plan.block_columns, "columns": num_columns}


def of_attention(storage: str, head_size: int, target: Target) -> dict[str, Any]:
    plan = plans.plan_attention(TYPES[storage], head_size, warp_size=target.warp_size)
    constants = {
        "D": head_size,
        "IS_CAUSAL": True,
        "BLOCK_Q": plan.rows,
        "BLOCK_K": plan.columns,
        "BLOCK_D": plan.depth,
    }
    options = {"num_warps": plan.num_warps, "num_stages": plan.num_stages}
    return compiled(attention_kernel, storage, constants, target, **options)


def of_linear(kernel: Any, storage: str, depth: int, target: Target) -> dict[str, Any]:
    plan = plans.plan_product(TYPES[storage], warp_size=target.warp_size)
    constants = {
        "D": depth,
        "BLOCK_N": plan.rows,
        "BLOCK_V": plan.columns,
        "BLOCK_D": plan.depth,
    }
    options = {"num_warps": plan.num_warps, "num_stages": plan.num_stages}
    return compiled(kernel, storage, constants, target, **options)


def rows(h200: Target) -> Iterator[tuple[str, dict[str, Any]]]:
    """Softmax and RMS norm from 1024 to 8192 columns, and at two widths that fill no block."""
    for kernel in (softmax_kernel, rms_norm_kernel):
        name = kernel.__name__
        for storage, widths in WIDTHS.items():
            for columns in widths:
                yield f"{name} {storage} {columns}", of_rows(kernel, storage, columns, h200)


def main() -> None:
    h200 = TARGETS["h200"]
    copy = {"BLOCK": BLOCK_BYTES // 2}
    report(
        {
            "rows": dict(rows(h200)),
            "backward": {
                f"backward {storage} {columns}": of_rows(
                    rms_norm_backward_kernel, storage, columns, h200
                )
                for storage, columns in (("bf16", 1024), ("fp32", 8192))
            },
            "copy": compiled(copy_kernel, "bf16", copy, h200, num_warps=4),
            "unaligned": {
                "a width of 601": of_rows(softmax_kernel, "fp32", 601, h200),
                "pointers": of_rows(softmax_kernel, "fp32", 1024, h200, aligned=False),
            },
            "tiles": {
                **{f"attention {d}": of_attention("bf16", d, h200) for d in (64, 128)},
                "cross entropy": of_linear(cross_entropy_kernel, "bf16", 768, h200),
                "gradient": of_linear(logit_gradient_kernel, "bf16", 768, h200),
            },
            "float32": {"cross entropy": of_linear(cross_entropy_kernel, "fp32", 64, h200)},
            "others": {
                "softmax a100": of_rows(softmax_kernel, "bf16", 8192, TARGETS["a100"]),
                "attention a100": of_attention("bf16", 64, TARGETS["a100"]),
                "softmax mi300x": of_rows(softmax_kernel, "bf16", 8192, TARGETS["mi300x"]),
                "attention mi300x": of_attention("bf16", 128, TARGETS["mi300x"]),
                "gradient mi300x": of_linear(logit_gradient_kernel, "bf16", 768, TARGETS["mi300x"]),
            },
        }
    )
