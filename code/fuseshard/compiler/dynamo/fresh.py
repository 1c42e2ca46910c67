"""A copy of a function about which Dynamo remembers nothing."""

import itertools
from collections.abc import Callable
from types import FunctionType
from typing import Any

from fuseshard.compiler.isolate import isolated

_numbers = itertools.count(1)


def fresh(fn: Callable[..., Any]) -> FunctionType:
    """Copy a function under a name of its own.

    Dynamo remembers which sizes and numbers changed between calls, and makes them symbolic at
    the next compilation. It does so by file, line and name of a function, so that a second copy
    would start with what the first one has taught it. Checked on torch 2.13 (`_dynamo/pgo.py`).

    Args:
        fn: a function, not a bound method; not modified.

    Returns:
        A function that does the same.

    Raises:
        ValueError: `fn` was made by torch.compile.
    """
    copy = isolated(fn)
    assert isinstance(copy, FunctionType)
    name = f"{copy.__code__.co_name}_{next(_numbers)}"
    copy.__code__ = copy.__code__.replace(co_name=name)
    return copy
