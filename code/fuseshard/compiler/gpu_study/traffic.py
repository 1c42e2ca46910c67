"""How many bytes a compiled program moves, read from the arguments of its launches. Torch-free.

A kernel reads each tensor that it is given once and writes each that it has to fill once: more
would be traffic with a cache, which a launch doesn't show. A program with N iterations reads at
most N elements of a tensor, so a look-up in a large table counts what it looks up.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable

from fuseshard.compiler.gpu_code.records import ExternCall, GpuGraph, KernelSource, Launch
from fuseshard.compiler.gpu_study.matching import kernel_text
from fuseshard.compiler.gpu_study.records import Traffic

ITEM_BYTES = {"bool": 1, "int8": 1, "uint8": 1, "bfloat16": 2, "float16": 2, "int32": 4}
ITEM_BYTES |= {"float32": 4, "int64": 8, "float64": 8}

_TENSOR = re.compile(r"(\w+)\[([\d, ]*)\]")
_SAME_SHAPE = re.compile(r"scaled_dot_product_\w+attention\.default")
"""operators that return a tensor shaped like their first one"""


def traffic(graphs: Iterable[GpuGraph]) -> Traffic:
    """Add up what the launches and library calls of a program read and write.

    Args:
        graphs: of one build, without graphs for other sizes.

    Raises:
        ValueError: a library call whose result's size isn't known here.
    """
    launches, calls = [], []
    for graph in graphs:
        kernels = {kernel.name: kernel for kernel in graph.kernels}
        for step in graph.steps:
            if isinstance(step, Launch):
                launches.append(_launch_bytes(step, kernels[step.kernel]))
            else:
                calls.append((*_call_bytes(step), 0))
    read, written, again = (sum(sizes) for sizes in zip(*launches, *calls, strict=True))
    return Traffic(
        read_bytes=read,
        written_bytes=written,
        again_bytes=again,
        launches=len(launches),
        library_calls=len(calls),
    )


def num_bytes(tensor: str, most: int | None = None) -> int:
    """Return the size of a tensor that is written like "float32[4096, 600]".

    Args:
        tensor: type and shape.
        most: elements that are counted at most.

    Raises:
        ValueError: the text is no tensor.
    """
    found = _TENSOR.fullmatch(tensor)
    if found is None:
        raise ValueError(f"num_bytes: tensor is {tensor!r}, must be like 'float32[4096, 600]'.")
    sizes = [int(size) for size in found[2].split(",") if size.strip()]
    count = math.prod(sizes)
    return ITEM_BYTES[found[1]] * (count if most is None else min(count, most))


def _launch_bytes(launch: Launch, kernel: KernelSource) -> tuple[int, int, int]:
    """Add up what a launch reads, writes and reads again.

    Names tell which arguments are filled: out_ptr0 is, and in_out_ptr0 is also read.
    """
    names = _parameters(kernel.triton)
    pairs = list(zip(names, launch.arguments, strict=False))  # tile sizes aren't passed
    iterations = math.prod(int(text) for name, text in pairs if name.endswith("numel"))
    sizes = {name: num_bytes(text, iterations) for name, text in pairs if "ptr" in name}
    loads = {name: kernel.triton.count(f"tl.load({name} + ") for name in sizes}
    return (
        sum(size for name, size in sizes.items() if name.startswith("in_")),
        sum(size for name, size in sizes.items() if "out_ptr" in name),
        sum(size * max(0, loads[name] - 1) for name, size in sizes.items()),
    )


def _call_bytes(call: ExternCall) -> tuple[int, int]:
    inputs = [text for text in call.arguments if _TENSOR.fullmatch(text)]
    outputs = [text[4:] for text in call.arguments if text.startswith("out=")]
    if not outputs and _SAME_SHAPE.search(call.op):
        outputs = inputs[:1]
    if not outputs:
        raise ValueError(
            f"traffic: {call.op} doesn't say what it fills, must have an argument out= (its bytes "
            "are counted); leave the program out, or add the operator to those of known shape."
        )
    return sum(map(num_bytes, inputs)), sum(map(num_bytes, outputs))


def _parameters(source: str) -> list[str]:
    """List the parameters of a kernel that are no constants."""
    (function,) = ast.parse(kernel_text(source)).body
    assert isinstance(function, ast.FunctionDef)
    return [a.arg for a in function.args.args if a.annotation is None]
