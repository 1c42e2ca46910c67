"""Reading, running and timing the module that Inductor writes.

R = rows of the input, D = features of a row (width), V = results of a row (vocabulary).
"""

import ast
import functools
import math
import re
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

# Private, checked on torch 2.13: seconds of each phase of compiling, by name.
from torch._dynamo.utils import compilation_time_metrics

# Private, checked on torch 2.11 and 2.13: the loader that Inductor uses for its own modules.
from torch._inductor.codecache import PyCodeCache

from fuseshard.compiler.isolate import isolated
from fuseshard.compiler.records import Kernel
from fuseshard.measure.clock import first_call, warm_compiler
from fuseshard.models.minigpt import MiniGPT

_KERNEL = re.compile(
    r"^(?P<name>\w+) = async_compile\.(?P<how>cpp\w*|triton)\((?P<before>.*?)"
    r"r?(?P<quote>'{3}|\"{3})(?P<code>.*?)(?P=quote)",
    re.MULTILINE | re.DOTALL,
)
_EXTERN_CALL = re.compile(r"\bextern_kernels\.(\w+)\(")
_FLOAT_BUFFER = re.compile(r"= empty_strided_\w+\(\(([\d, ]+)\), .*?, torch\.float32\)")
_LOOP_BODY = re.compile(r"^class op\d+_loop_body:\n(?:    .*\n?)+", re.MULTILINE)
# Each of these stopwatches runs inside the one before it.
_STOPWATCHES = (
    "OutputGraph.call_user_compiler",
    "compile_fx.<locals>.fw_compiler_base",
    "compile_file",
)
_STEP = re.compile(r"x1\s*\+=\s*(?:static_cast<int64_t>)?\((\d+)L?\)")


def kernels(source: str) -> tuple[Kernel, ...]:
    """List the kernels in a module that Inductor wrote, in the order of the module.

    Args:
        source: one text of `Stages.source`.

    Returns:
        The kernels; empty when the module only calls libraries.
    """
    return tuple(
        Kernel(
            name=found["name"],
            language="triton" if found["how"] == "triton" else "cpp",
            code=found["code"].strip("\n"),
        )
        for found in _KERNEL.finditer(source)
    )


def extern_calls(source: str) -> tuple[str, ...]:
    """List the library functions that a module calls instead of a kernel of its own.

    Args:
        source: one text of `Stages.source`.

    Returns:
        Names such as "addmm", in the order of the calls.
    """
    return tuple(_EXTERN_CALL.findall(source))


def wrapper(source: str) -> str:
    """Cut out the function that runs the kernels: allocations, library calls, kernel calls.

    Args:
        source: one text of `Stages.source`.

    Returns:
        The text of `call`, without the class around it.

    Raises:
        ValueError: the module has no function of that name.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and node.name == "call":
            lines = source.splitlines()[node.lineno - 1 : node.end_lineno]
            return "\n".join(line[node.col_offset :] for line in lines)
    raise ValueError(
        "wrapper: got a module without a function `call`, must be one that Inductor wrote "
        "(only those have it); pass one text of Stages.source."
    )


def buffer_bytes(source: str) -> int:
    """Add up the float32 buffers that a module allocates in one call.

    Args:
        source: one text of `Stages.source`, with static shapes.

    Returns:
        Bytes of results and intermediates that pass through memory.
    """
    shapes = [found.split(",") for found in _FLOAT_BUFFER.findall(source)]
    sizes = [math.prod(int(dim) for dim in shape if dim.strip()) for shape in shapes]
    return sum(sizes) * torch.float32.itemsize


def loop_bodies(loops: str) -> str:
    """Keep of a dump of Inductor's loops the bodies, and leave the book-keeping out.

    Args:
        loops: one text of `Stages.loops`.

    Returns:
        One small class an operation, in the order of execution.
    """
    return "\n".join(body.rstrip() for body in _LOOP_BODY.findall(loops))


def vector_width(kernel: Kernel) -> int:
    """Read off how many float32 numbers the inner loop of a C++ kernel takes at a step.

    Args:
        kernel: written for the CPU, with a loop over rows, x0, and one over columns, x1.

    Returns:
        16 with AVX-512, 8 with AVX2, 1 without vectors.

    Raises:
        ValueError: there is no such loop.
    """
    steps = {int(step) for step in _STEP.findall(kernel.code)}
    if not steps:
        raise ValueError(
            f"vector_width: {kernel.name} has no loop over x1, must have one (its step is the "
            "width); pass a C++ kernel that reduces rows."
        )
    return max(steps)


def load(source: str) -> Callable[[list[torch.Tensor]], tuple[Any, ...]]:
    """Compile a module that Inductor wrote, edited or not, and return its `call`.

    Args:
        source: one text of `Stages.source`.

    Returns:
        A function of one list, the inputs in the order of the ATen graph; it empties the list.

    Raises:
        ValueError: the module has no function `call`.
    """
    wrapper(source)
    call: Callable[[list[torch.Tensor]], tuple[Any, ...]] = PyCodeCache.load(source).call
    return call


def first_call_parts(compiled: Callable[..., Any], *args: Any) -> dict[str, float]:
    """Make the first call of a compiled function, and say which stage took how long.

    Args:
        compiled: by torch.compile with Inductor, for the CPU, and not called yet.
        args: its arguments; not modified.

    Returns:
        Seconds of "dynamo", guards and the call itself included, "aotautograd", "inductor" and
        "compiler", the C++ compiler. They add up to the whole call.

    Raises:
        ValueError: nothing was compiled.
    """
    warm_compiler()
    before = [sum(compilation_time_metrics.get(name, ())) for name in _STOPWATCHES]
    whole_s = first_call(functools.partial(compiled, *args))
    after = [sum(compilation_time_metrics.get(name, ())) for name in _STOPWATCHES]
    behind_dynamo_s, inductor_s, compiler_s = (b - a for a, b in zip(before, after, strict=True))
    if not compiler_s:
        raise ValueError(
            "first_call_parts: the C++ compiler took 0 s, must have run (the call compiles only "
            "once, and only with Inductor); pass what torch.compile has just returned."
        )
    return {
        "dynamo": whole_s - behind_dynamo_s,
        "aotautograd": behind_dynamo_s - inductor_s,
        "inductor": inductor_s - compiler_s,
        "compiler": compiler_s,
    }


def softmax_by_hand(logits: torch.Tensor) -> torch.Tensor:
    """Compute softmax over the last dim: amax, sub, exp, sum, div.

    Args:
        logits: [..., V]; not modified.

    Returns:
        [..., V], each row positive and with sum 1.
    """
    shifted = logits - logits.amax(dim=-1, keepdim=True)  # now at most 0
    exps = shifted.exp()
    return exps / exps.sum(dim=-1, keepdim=True)


def library_softmax(logits: torch.Tensor) -> torch.Tensor:
    """Compute softmax over the last dim with PyTorch's one operator for it.

    Args:
        logits: [..., V]; not modified.

    Returns:
        [..., V], each row positive and with sum 1.
    """
    return torch.softmax(logits, dim=-1)


def head_with(
    softmax: Callable[[torch.Tensor], torch.Tensor], *, device: str = "cpu"
) -> Callable[[torch.Tensor], torch.Tensor]:
    """Make MiniGPT's last step: its head, `Linear(64, 600)`, and then a softmax.

    Each function has a code object of its own, so that two of them share no compiled version.

    Args:
        softmax: [R, V] to [R, V], over the last dim.
        device: where the parameters lie.

    Returns:
        A function of [R, D] hidden states that returns [R, V] probabilities.
    """
    head: nn.Linear = MiniGPT().head.to(device).requires_grad_(False)

    def probabilities(hidden: torch.Tensor) -> torch.Tensor:
        return softmax(head(hidden))

    return isolated(probabilities)
