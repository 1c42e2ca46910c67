"""Triton's driver for a GPU that isn't there: it says for what to compile, and launches nothing."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import torch
from triton import runtime
from triton.backends import backends
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase

from fuseshard.compiler.described import replace
from fuseshard.compiler.described.targets import Target


@contextmanager
def triton_driver(target: Target) -> Iterator[None]:
    """Give Triton a driver that names the target.

    Triton asks its driver what to compile for. NVIDIA's own driver loads libcuda and AMD's
    libamdhip64, which come with a GPU. Without this replacement no kernel is written: "libcuda.so
    cannot found!".
    """
    described = dataclasses.replace(backends[target.vendor], driver=driver_class(target))
    # Private, checked on triton 3.6 and 3.9: the driver in use is chosen once and kept.
    chosen_anew = replace.attributes(runtime.driver, _active=None, _default=None)
    with replace.entry(backends, target.vendor, described), chosen_anew:
        yield


def gpu_target(target: Target) -> GPUTarget:
    """Name the target in Triton's own words."""
    if target.vendor == "amd":
        return GPUTarget("hip", target.architecture, target.warp_size)
    return GPUTarget("cuda", int(target.architecture), target.warp_size)


def driver_class(target: Target) -> type[DriverBase]:
    """Make the class of the driver that names a target."""
    named = gpu_target(target)

    class DescribedDriver(DriverBase):
        """Knows what to compile for; has nothing to run it on."""

        @classmethod
        def is_active(cls) -> bool:
            return True

        def get_current_target(self) -> GPUTarget:
            return named

        def get_current_device(self) -> int:
            return 0

        def set_current_device(self, device: int) -> None:
            pass

        def get_current_stream(self, device: int = 0) -> int:
            return 0

        def get_active_torch_device(self) -> torch.device:
            return torch.device("cuda", 0)

        def get_device_interface(self) -> Any:
            return torch.cuda

        def map_python_to_cpp_type(self, ty: str) -> str:
            return ty

        def get_benchmarker(self) -> NoReturn:
            raise RuntimeError(
                f"Triton was asked to time a kernel on {target.name}, which is only described "
                "(there is nothing to run it on); give the autotuner one configuration."
            )

        get_empty_cache_for_benchmark = clear_cache = get_benchmarker

    # Later releases of Triton may ask drivers for more; what isn't called needn't be there.
    DescribedDriver.__abstractmethods__ = frozenset()
    return DescribedDriver
