"""What torch remembers of a device after asking once, and forgets here."""

import functools
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

# Private, checked on torch 2.11 and 2.13: it remembers the layout of an operator's result.
from torch._subclasses.fake_tensor import FakeTensorMode

from fuseshard.compiler.described.targets import Target

MODULES = (
    "torch._dynamo.debug_utils",
    "torch._dynamo.device_interface",
    "torch._dynamo.variables.torch",
    "torch._inductor.analysis.device_info",
    "torch._inductor.choices",
    "torch._inductor.codecache",
    "torch._inductor.codegen.cuda.cuda_env",
    "torch._inductor.comm_analysis",
    "torch._inductor.runtime.hints",
    "torch._inductor.template_heuristics.triton",
    "torch._inductor.utils",
    "torch.cuda",
    "torch.utils._triton",
)
"""Modules with functions that remember what they found out about a device. Not all of Inductor's
caches: some mean "the patterns are registered", which may not happen twice."""

_TABLES = ("caching_worker_device_properties", "caching_worker_current_devices")
"""dictionaries of torch._dynamo.device_interface with the same purpose"""


@contextmanager
def memos(target: Target) -> Iterator[None]:
    """Forget before and after what torch remembers of devices.

    In a fresh process nothing is remembered yet. Without this a second target gets answers that
    belong to the first.
    """
    forget()
    try:
        yield
    finally:
        forget()


def forget() -> None:
    """Empty the memos of those modules that are loaded."""
    for name in MODULES:
        module = sys.modules.get(name)
        if module is not None:
            for function in _remembering(module):
                function.cache_clear()
    interface = sys.modules.get("torch._dynamo.device_interface")
    for table in _TABLES:
        getattr(interface, table, {}).clear()
    FakeTensorMode.cache_clear()


def _remembering(module: ModuleType) -> Iterator["functools._lru_cache_wrapper[object]"]:
    """Find the functions and methods of a module that keep their results."""
    for value in list(vars(module).values()):
        held = [value]
        if isinstance(value, type) and value.__module__ == module.__name__:
            held += list(vars(value).values())
        for function in held:
            is_bound_late = isinstance(function, staticmethod | classmethod)
            plain = function.__func__ if is_bound_late else function
            if isinstance(plain, functools._lru_cache_wrapper):
                yield plain
