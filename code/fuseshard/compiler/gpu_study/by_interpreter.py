"""A hand-written kernel on the CPU, in Triton's interpreter as it comes and as we correct it.

The interpreter as it comes cuts bfloat16 off where a GPU rounds to nearest. To show that, the
kernel runs once more in a process with nothing corrected.
"""

import json
from collections.abc import Callable
from typing import get_args

import torch

from fuseshard.compiler.child import run_script
from fuseshard.compiler.gpu import interpret_triton
from fuseshard.compiler.gpu_study.records import Distances, Dtype

Launcher = Callable[[torch.Tensor], torch.Tensor]

TYPES: tuple[Dtype, ...] = get_args(Dtype)
ROWS, COLUMNS = 37, 100

_SCRIPT = """
import json
from fuseshard.compiler.gpu_study import by_interpreter
from {module} import {name}
print(json.dumps([by_interpreter.bits({name}(x)).tolist() for x in by_interpreter.inputs()]))
"""


def inputs() -> list[torch.Tensor]:
    """Draw the same [37, 100] numbers in each type of `TYPES`."""
    drawn = torch.randn(ROWS, COLUMNS, generator=torch.Generator().manual_seed(0))
    return [drawn.to(getattr(torch, dtype)) for dtype in TYPES]


def hand_distances(launcher: Launcher, reference: Launcher) -> tuple[Distances, ...]:
    """Run a hand-written kernel in each type, and count how far it is from exact results.

    Args:
        launcher: function of a module that starts the kernel on a tensor.
        reference: torch's function for the same; its results aren't negative.

    Returns:
        For each type torch, the kernel in our interpreter, and in the plain one.
    """
    plain = plain_interpreter(launcher)
    found = []
    for dtype, given, without in zip(TYPES, inputs(), plain, strict=True):
        exact = reference(given.double())
        ways = {
            "torch": reference(given),
            "our interpreter": interpret_triton(launcher, given),
            "plain interpreter": without,
        }
        found += [distances(way, dtype, got, exact) for way, got in ways.items()]
    return tuple(found)


def distances(way: str, dtype: Dtype, got: torch.Tensor, exact: torch.Tensor) -> Distances:
    """Count the representable numbers between results and exact ones.

    Args:
        way: who computed.
        dtype: of `got`.
        got: what to judge; not negative, so that bit patterns are in the order of the numbers.
        exact: float64; rounded to the type of `got` first.
    """
    off = (bits(got) - bits(exact.to(got.dtype))).double()
    return Distances(
        way=way,
        dtype=dtype,
        numbers=off.numel(),
        off=int((off != 0).sum()),
        largest=int(off.abs().max()),
        mean=float(off.mean()),
    )


def plain_interpreter(launcher: Launcher) -> tuple[torch.Tensor, ...]:
    """Run a launcher on `inputs()` in a process with Triton's interpreter as it comes.

    Args:
        launcher: function that a fresh process can import.

    Raises:
        ValueError: the launcher can't be imported by its name, or the process failed.
    """
    module, name = launcher.__module__, launcher.__qualname__
    if module == "__main__" or not name.isidentifier():
        raise ValueError(
            f"plain_interpreter: launcher is {module}.{name}, must be a function of a module "
            "(another process imports it); take one of fuseshard.kernels."
        )
    script = _SCRIPT.format(module=module, name=name)
    result = run_script(script, variables={"TRITON_INTERPRET": "1"})
    if result.exit_code:
        raise ValueError(f"plain_interpreter: {name} failed in the interpreter: {result.error}.")
    patterns = json.loads(result.output)
    return tuple(_number(found, x) for found, x in zip(patterns, inputs(), strict=True))


def bits(x: torch.Tensor) -> torch.Tensor:
    """Return floating-point numbers as the integers that have the same bits."""
    return x.view(_whole(x.dtype)).to(torch.int64)


def _number(patterns: list[list[int]], like: torch.Tensor) -> torch.Tensor:
    return torch.tensor(patterns, dtype=_whole(like.dtype)).view(like.dtype)


def _whole(dtype: torch.dtype) -> torch.dtype:
    return {2: torch.int16, 4: torch.int32}[dtype.itemsize]
