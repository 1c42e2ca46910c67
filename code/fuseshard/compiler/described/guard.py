"""A device guard for CUDA that does nothing, where there is no CUDA to switch devices of.

C++ wraps an operator of a CUDA tensor, fake or not, in a guard that makes the tensor's device
the current one. Torch finds the guard in a table with one place for each type of device; in a CPU
build CUDA's place is empty.
"""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from fuseshard.compiler.described.targets import Target

_TABLE = "_ZN3c104impl26device_guard_impl_registryE"  # c10::impl::device_guard_impl_registry
_REGISTER = (  # c10::impl::registerDeviceGuard(DeviceType, const DeviceGuardImplInterface*)
    "_ZN3c104impl19registerDeviceGuardENS_10DeviceTypeEPKNS0_24DeviceGuardImplInterfaceE"
)


def register_guard() -> None:
    """Give CUDA torch's own guard that does nothing, for the rest of this process.

    Call it before anything trains in the process: the autograd engine counts devices at the
    first `backward()` and never again, so that a guard which comes later isn't counted.

    Torch puts its guard that does nothing only where some guard already is that counts zero
    devices, as a CUDA build has without a GPU. A CPU build gets one that counts zero first: that
    of the device type "lazy".

    It can't be undone, and harms nothing: without a GPU no real CUDA tensor exists to be guarded.

    Raises:
        RuntimeError: this build of torch keeps its guards in another way.
    """
    if not guard_is_registered():
        _register(_table()[_lazy()])
    # Private, checked on torch 2.11 and 2.13: FakeTensorMode calls it as well, "in the case of
    # CPU-only build", where it finds no guard and does nothing.
    torch._C._ensureCUDADeviceGuardSet()
    if _table()[_cuda()] in {None, _table()[_lazy()]}:
        raise RuntimeError(
            "register_guard: CUDA has no device guard of its own after registering, must have one "
            f"(otherwise nothing that needs a gradient works); torch {torch.__version__} differs "
            "from 2.11 and 2.13, on which this was checked: use one of those."
        )


@contextmanager
def device_guard(target: Target) -> Iterator[None]:
    """Have a guard, now and from now on.

    Without it, a program whose tensors need gradients ends the whole process, or fails with
    "PyTorch is not linked with support for cuda devices".
    """
    register_guard()
    yield


def guard_is_registered() -> bool:
    """Tell whether CUDA has a device guard in this process."""
    return _table()[_cuda()] is not None


def _register(guard: int | None) -> None:
    """Put a guard, given by its address, into CUDA's place."""
    register = getattr(_library(), _REGISTER)
    register.argtypes = [ctypes.c_int8, ctypes.c_void_p]
    register.restype = None
    register(_cuda(), guard)


def _table() -> "ctypes.Array[ctypes.c_void_p]":
    """Look at torch's guards: one address for each type of device, None where there is none."""
    return (ctypes.c_void_p * (_lazy() + 1)).in_dll(_library(), _TABLE)


def _library() -> ctypes.CDLL:
    return ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libc10.so"))


def _cuda() -> int:
    return _device_type("CUDA")


def _lazy() -> int:
    return _device_type("Lazy")


def _device_type(name: str) -> int:
    """Look up C++'s number of a type of device."""
    # Private, checked on torch 2.11 and 2.13; its declared type lacks numbers and most names.
    types: Any = torch._C._autograd.DeviceType
    return int(getattr(types, name))
