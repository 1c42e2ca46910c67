"""Room 4: calls into other libraries, of Python and beyond."""

import copy
import functools
import itertools
import json
import math
import os
import random
import time
import zlib
from pathlib import Path

import numpy as np
import torch

from fuseshard.compiler.breaks.exhibit import Exhibit


def numpy_call(x: torch.Tensor) -> torch.Tensor:
    """Leave for NumPy and come back."""
    y = x + 1
    array = np.tanh(y.numpy()) * 2
    return torch.from_numpy(array) + 1


def numpy_random(x: torch.Tensor) -> torch.Tensor:
    """Draw random numbers with NumPy, seeded."""
    np.random.seed(0)
    noise = torch.from_numpy(np.random.rand(4))
    return (x + noise) * 2


def standard_library(x: torch.Tensor) -> torch.Tensor:
    """Use math, itertools and functools."""
    y = x * math.sqrt(2)
    for left, right in itertools.product([1, 2], [3, 4]):
        y = y + left * right
    return functools.reduce(torch.add, [y, y, y])


def random_float(x: torch.Tensor) -> torch.Tensor:
    """Draw a number with `random.random`."""
    y = x + 1
    return y * random.random() - 1


def random_float_fixed(x: torch.Tensor) -> torch.Tensor:
    """Draw the same number with `random.uniform`."""
    y = x + 1
    return y * random.uniform(0, 1) - 1


def random_integer(x: torch.Tensor) -> torch.Tensor:
    """Draw a number with `random.randint`."""
    y = x + 1
    return y * random.randint(1, 6) - 1


def clock(x: torch.Tensor) -> torch.Tensor:
    """Read the clock inside the function."""
    begin = time.perf_counter()
    y = x + 1
    elapsed = time.perf_counter() - begin
    return y * 2 if elapsed >= 0 else y


def clock_fixed(x: torch.Tensor) -> torch.Tensor:
    """Leave the clock to the caller."""
    y = x + 1
    return y * 2


def read_file(x: torch.Tensor) -> torch.Tensor:
    """Read a setting from a file."""
    y = x + 1
    with open(os.devnull) as file:  # noqa: PTH123 - open is the exhibit
        text = file.read()
    return y * (2 + len(text))


def read_file_fixed(x: torch.Tensor) -> torch.Tensor:
    """Read it once, while compiling."""
    y = x + 1
    return y * (2 + length_of_setting())


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def length_of_setting() -> int:
    """Read the file."""
    return len(Path(os.devnull).read_text())


def parse_json(x: torch.Tensor) -> torch.Tensor:
    """Parse a setting."""
    y = x + 1
    return y * json.loads('{"scale": 2}')["scale"]


def parse_json_fixed(x: torch.Tensor) -> torch.Tensor:
    """Parse it once, while compiling."""
    y = x + 1
    return y * parsed_scale()


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def parsed_scale() -> int:
    """Parse the text."""
    scale: int = json.loads('{"scale": 2}')["scale"]
    return scale


def deepcopy_tensor(x: torch.Tensor) -> torch.Tensor:
    """Copy a tensor with `copy.deepcopy`."""
    y = x + 1
    return copy.deepcopy(y) * 2


def deepcopy_tensor_fixed(x: torch.Tensor) -> torch.Tensor:
    """Copy it with its own method."""
    y = x + 1
    return y.clone() * 2


def deepcopy_list(x: torch.Tensor) -> torch.Tensor:
    """Copy a list of numbers with `copy.deepcopy`."""
    y = x + 1
    return y * copy.deepcopy([1, 2, 3])[1]


def c_extension(x: torch.Tensor) -> torch.Tensor:
    """Call a function written in C that torch doesn't know."""
    y = x + 1
    return y * (zlib.crc32(b"seed") % 3)


def c_extension_fixed(x: torch.Tensor) -> torch.Tensor:
    """Call it once, while compiling."""
    y = x + 1
    return y * (checksum() % 3)


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def checksum() -> int:
    """Compute the number."""
    return zlib.crc32(b"seed")


_CONSTANT = "torch.compiler.assume_constant_result"

EXHIBITS = (
    Exhibit(title="np.tanh(y.numpy())", code=numpy_call, cause="library"),
    Exhibit(title="np.random.rand(4)", code=numpy_random, cause="library"),
    Exhibit(title="itertools.product(...)", code=standard_library, cause="library"),
    Exhibit(
        title="random.random()",
        code=random_float,
        fixed=random_float_fixed,
        remedy="random.uniform(0, 1)",
        cause="library",
    ),
    Exhibit(title="random.randint(1, 6)", code=random_integer, cause="library"),
    Exhibit(
        title="time.perf_counter()",
        code=clock,
        fixed=clock_fixed,
        remedy="# outside",
        cause="library",
    ),
    Exhibit(
        title="open(...)",
        code=read_file,
        fixed=read_file_fixed,
        remedy=_CONSTANT,
        fixed_helpers=(length_of_setting,),
        cause="library",
    ),
    Exhibit(
        title="json.loads(...)",
        code=parse_json,
        fixed=parse_json_fixed,
        remedy=_CONSTANT,
        fixed_helpers=(parsed_scale,),
        cause="library",
    ),
    Exhibit(
        title="copy.deepcopy(y)",
        code=deepcopy_tensor,
        fixed=deepcopy_tensor_fixed,
        remedy="y.clone()",
        cause="library",
    ),
    Exhibit(title="copy.deepcopy([1, 2, 3])", code=deepcopy_list, cause="library"),
    Exhibit(
        title='zlib.crc32(b"seed")',
        code=c_extension,
        fixed=c_extension_fixed,
        remedy=_CONSTANT,
        fixed_helpers=(checksum,),
        cause="library",
    ),
)
