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


def kernel(fn: Any, shape: tuple[int, ...], key: str) -> KernelSource:
    with FakeTensorMode():
        x = torch.empty(shape, device="cuda")
    graphs = write(fn, (x,), TARGETS[key], options=WriteOptions(), numbers={})
    return graphs[0].kernels[0]


def complaint(source: KernelSource, index: int, key: str) -> str:
    try:
        compile_kernel(source, index, TARGETS[key])
    except ValueError as error:
        return str(error)
    return "none"


def main(key: str, other: str) -> dict[str, Any]:
    target = TARGETS[key]
    with described_gpu(target):
        rows = kernel(softmax, (4096, 600), key)
        columns = kernel(wide, (512, 512, 64), key)
        codes = {
            name: [
                dataclasses.asdict(compile_kernel(source, index, target))
                for index in range(len(source.configurations))
            ]
            for name, source in (("rows", rows), ("columns", columns))
        }
        return {
            "codes": codes,
            "asked": [dataclasses.asdict(c) for c in columns.configurations],
            "index": complaint(columns, len(columns.configurations), key),
            "target": complaint(rows, 0, other),
        }


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
