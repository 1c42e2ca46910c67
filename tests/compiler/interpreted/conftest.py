"""The two processes behind these tests, and what the first of them wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from fuseshard.compiler.described.targets import target
from fuseshard.compiler.gpu_code.records import GpuGraph
from fuseshard.compiler.gpu_code.worker.parent import Work, Worker
from fuseshard.compiler.gpu_code.worker.travel import pack
from fuseshard.compiler.gpu_code.worker.workers import writer

Graphs = tuple[GpuGraph, ...]
Write = Callable[..., Graphs]


@pytest.fixture(scope="package")
def child() -> Iterator[Worker]:
    """A process in which Triton interprets."""
    work = Work(tasks="tests.compiler.interpreted.tasks", variables={"TRITON_INTERPRET": "1"})
    worker = Worker(work)
    yield worker
    worker.close()


@pytest.fixture(scope="package")
def write() -> Iterator[Write]:
    """Has a program written for a GPU that isn't there; once, however many tests ask."""
    kept: dict[Any, Graphs] = {}

    def written(fn: Any, args: Sequence[Any], gpu: str = "h200", **options: Any) -> Graphs:
        packed = pack(fn, tuple(args))
        key = (packed.digest, gpu, tuple(sorted(options.items())))
        if key not in kept:
            kept[key] = writer(target(gpu)).ask("write", packed.content, gpu, options)
        return kept[key]

    yield written
    writer(target("h200")).close()
