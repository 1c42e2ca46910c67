"""Every replacement without which a GPU's wrapper wouldn't run here, or would run wrongly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
from fuseshard.compiler.interpreted.patches import put_in


@dataclass(frozen=True)
class Shim:
    """One group of replaced names."""

    reason: str
    """why it is needed, and what goes wrong without it"""
    install: Callable[[], Callable[[], None]]
    """puts it in force, and returns what takes it out again"""


SHIMS: dict[str, Shim] = {
    "driver": Shim(
        "Each kernel's module looks for a GPU's driver when it loads; there is none, and it stops.",
        lambda: put_in(devices.driver_patches()),
    ),
    "steering": Shim(
        "The wrapper chooses a device and asks for its stream; a CPU build has neither call.",
        lambda: put_in(devices.steering_patches()),
    ),
    "memory": Shim(
        "The wrapper allocates its buffers on the GPU; a CPU build refuses.",
        lambda: put_in(devices.memory_patches()),
    ),
    "layout": Shim(
        "CPU libraries answer in other strides than a GPU's. The wrapper's check stops at that; "
        "without check and repair, kernels read right numbers in the wrong order.",
        lambda: put_in(devices.layout_patches()),
    ),
    "kernels": Shim(
        "The wrapper has its kernels compiled and launches the binaries; here their Python runs.",
        lambda: put_in(launches.patches()),
    ),
    "language": Shim(
        "The interpreter takes over Triton's language anew at each call of a function inside a "
        "kernel: the same values in twice the time.",
        lambda: put_in(launches.language_patches()),
    ),
    "libdevice": Shim(
        "exp, erf, tanh and the rest have empty bodies in the interpreter; they return None.",
        lambda: put_in(libdevice.patches()),
    ),
    "reductions": Shim(
        "Inductor's own maximum, Welford and prefix sums are called once an element: the same "
        "values a thousand times slower. And sums of bfloat16 would add bit patterns.",
        lambda: put_in(reductions.patches()),
    ),
    "rounding": Shim(
        "float32 to bfloat16 cuts bits off where hardware rounds to nearest even: wrong by up to "
        "twice as much, always towards zero. Arithmetic on bfloat16 would use bit patterns.",
        lambda: put_in(rounding.patches()),
    ),
    "assembly": Shim(
        "The interpreter refuses inline assembly, which Inductor writes for atan.",
        lambda: put_in(assembly.patches()),
    ),
    "attention": Shim(
        "Fused attention has operators of its own on CUDA; a CPU build has no code for them.",
        libraries.install,
    ),
}
"""name -> reason and replacements"""


class Installed:
    """The shims that are in force in this process."""

    def __init__(self) -> None:
        """Install all of them."""
        self._undo = {name: shim.install() for name, shim in SHIMS.items()}

    @contextmanager
    def without(self, name: str) -> Iterator[None]:
        """Take one shim out while the block runs, to see what goes wrong.

        Args:
            name: a key of SHIMS.
        """
        self._undo[name]()
        try:
            yield
        finally:
            self._undo[name] = SHIMS[name].install()
