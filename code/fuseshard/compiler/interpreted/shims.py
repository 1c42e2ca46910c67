"""Every replacement without which a GPU's wrapper wouldn't run here, or would run wrongly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass

from fuseshard.compiler.interpreted import (
    assembly,
    devices,
    launches,
    libdevice,
    libraries,
    reductions,
    rounding,
)


@dataclass(frozen=True)
class Shim:
    """One group of replaced names."""

    reason: str
    """why it is needed, and what goes wrong without it"""
    in_force: Callable[[], AbstractContextManager[None]]
    """makes a context in which the replacements hold"""


SHIMS: dict[str, Shim] = {
    "driver": Shim(
        "Each kernel's module looks for a GPU's driver when it loads; there is none, and it stops.",
        devices.no_driver,
    ),
    "steering": Shim(
        "The wrapper chooses a device and asks for its stream; a CPU build has neither call.",
        devices.no_steering,
    ),
    "memory": Shim(
        "The wrapper allocates its buffers on the GPU; a CPU build refuses.",
        devices.cpu_memory,
    ),
    "layout": Shim(
        "CPU libraries answer in other strides than a GPU's. The wrapper's check stops at that; "
        "without check and repair, kernels read right numbers in the wrong order.",
        devices.gpu_layouts,
    ),
    "kernels": Shim(
        "Inductor itself can hand a kernel to the interpreter, in its own small tiles and without "
        "a record of it: the same values up to a hundred times slower.",
        launches.interpreted_kernels,
    ),
    "language": Shim(
        "The interpreter takes over Triton's language anew at each call of a function inside a "
        "kernel: the same values in twice the time.",
        launches.language_once,
    ),
    "libdevice": Shim(
        "exp, erf, tanh and the rest have empty bodies in the interpreter; they return None.",
        libdevice.library_functions,
    ),
    "reductions": Shim(
        "Inductor's own maximum, Welford and prefix sums are called once an element: the same "
        "values a thousand times slower. And sums of bfloat16 would add bit patterns.",
        reductions.whole_tiles,
    ),
    "rounding": Shim(
        "float32 to bfloat16 cuts bits off where hardware rounds to nearest even: up to twice as "
        "far off, always towards zero, and subnormal numbers become others. Arithmetic on "
        "bfloat16 would use bit patterns.",
        rounding.numbers_not_patterns,
    ),
    "assembly": Shim(
        "The interpreter refuses inline assembly, which Inductor writes for atan.",
        assembly.inline_assembly,
    ),
    "attention": Shim(
        "Fused attention has operators of its own on CUDA; a CPU build has no code for them.",
        libraries.attention_operators,
    ),
}
"""name -> reason and replacements"""


class Installed:
    """The shims that are in force in this process."""

    def __init__(self) -> None:
        """Install all of them."""
        self._stacks = {name: ExitStack() for name in SHIMS}
        for name in SHIMS:
            self._install(name)

    @contextmanager
    def without(self, name: str) -> Iterator[None]:
        """Take one shim out while the block runs, to see what goes wrong.

        Args:
            name: a key of SHIMS.
        """
        self._stacks[name].close()
        try:
            yield
        finally:
            self._install(name)

    def _install(self, name: str) -> None:
        self._stacks[name].enter_context(SHIMS[name].in_force())
