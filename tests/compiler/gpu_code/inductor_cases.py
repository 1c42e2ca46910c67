"""Inductor's kernels compiled for test_machine.py, in a process of its own; prints JSON."""

import dataclasses
import json
import sys
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from fuseshard.compiler.described.describe import described_gpu
from fuseshard.compiler.described.targets import TARGETS
from fuseshard.compiler.gpu_code.machine import compile_kernel
from fuseshard.compiler.gpu_code.records import KernelSource
from fuseshard.compiler.gpu_code.written import WriteOptions, write


def softmax(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, -1)


def wide(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x.sum(1))


def squared(x: torch.Tensor) -> torch.Tensor:
    return x.bfloat16() @ x.bfloat16()


TEMPLATE = WriteOptions(mode="max-autotune-no-cudagraphs", choose="triton_mm_0")


def kernels(
    fn: Any, shape: tuple[int, ...], key: str, options: WriteOptions | None = None
) -> tuple[KernelSource, ...]:
    with FakeTensorMode():
        x = torch.empty(shape, device="cuda")
    (graph,) = write(fn, (x,), TARGETS[key], options=options or WriteOptions(), numbers={})
    return graph.kernels


def complaint(source: KernelSource, index: int, key: str) -> str:
    try:
        compile_kernel(source, index, TARGETS[key])
    except ValueError as error:
        return str(error)
    return "none"


def main(key: str, other: str) -> dict[str, Any]:
    target = TARGETS[key]
    with described_gpu(target):
        (rows,) = kernels(softmax, (4096, 600), key)
        (columns,) = kernels(wide, (512, 512, 64), key)
        (template,) = (
            k for k in kernels(squared, (256, 256), key, TEMPLATE) if k.kind == "template"
        )
        codes = {
            name: [
                dataclasses.asdict(compile_kernel(source, index, target))
                for index in range(len(source.configurations))
            ]
            for name, source in (("rows", rows), ("columns", columns), ("template", template))
        }
        return {
            "codes": codes,
            "asked": [dataclasses.asdict(c) for c in columns.configurations],
            "index": complaint(columns, len(columns.configurations), key),
            "target": complaint(rows, 0, other),
        }


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
