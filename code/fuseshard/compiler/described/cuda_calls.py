"""What Python code asks of torch.cuda, answered for the target: one function a group of questions.

Only the lowest layer is replaced. With it `torch.cuda.is_available()`, `get_device_capability()`
and Inductor's own view of a device work as they are.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode  # Private, checked on torch 2.11 and 2.13.

from fuseshard.compiler.described import replace
from fuseshard.compiler.described.targets import Target

_REPORTED_REGISTERS = 65536
"""registers of a multiprocessor, as ROCm gives them"""
CUDA_VERSION = "13.0"
"""the toolkit that torch 2.11 and 2.13 are built with by default"""


@contextmanager
def version(target: Target) -> Iterator[None]:
    """Say whether torch was built for CUDA or for ROCm.

    Inductor writes other code where `torch.version.hip` is set, at about a hundred places, and
    Triton's drivers tell by it whose GPU is there. Without it NVIDIA's driver claims an AMD target
    as well: "2 active drivers".
    """
    cuda = CUDA_VERSION if target.vendor == "nvidia" else None
    with replace.attributes(torch.version, cuda=cuda, hip=target.hip):
        yield


@contextmanager
def device_queries(target: Target) -> Iterator[None]:
    """Answer how many devices there are, which one is current, and what it is like.

    Without it the first question ends with "Torch not compiled with CUDA enabled".
    """
    properties = device_properties(target)
    # Private, checked on torch 2.11 and 2.13: the calls of C++ that torch.cuda's questions end in.
    with (
        replace.attributes(torch._C, _cuda_getDeviceCount=lambda: 1, _cuda_getDevice=lambda: 0),
        replace.attributes(
            torch.cuda,
            _initialized=True,
            _cached_device_count=1,
            _get_device_properties=lambda device: properties,
        ),
    ):
        yield


@contextmanager
def device_exchange(target: Target) -> Iterator[None]:
    """Let code switch to the one device and back.

    They are two functions, although they do the same: Dynamo finds its handler of a function by
    the function itself.
    """
    # Private, checked on torch 2.11 and 2.13: what `with torch.cuda.device(0)` calls.
    with replace.attributes(
        torch.cuda,
        _exchange_device=_exchange,
        _maybe_exchange_device=_exchange_back,
    ):
        yield


@contextmanager
def random_state(target: Target) -> Iterator[None]:
    """Keep a state of random numbers for the device.

    Dynamo saves the state before it traces and puts it back. Without it the first trace fails.
    """
    with replace.attributes(torch.cuda, default_generators=(_Generator(),)):
        yield


@contextmanager
def tensor_creation(target: Target) -> Iterator[None]:
    """Have fake tensors made without touching the device.

    FakeTensorMode asks whether CUDA is available, and hears yes. Without this replacement nothing
    fails, but `torch.tensor(2.5, device="cuda")` becomes a constant of the CPU.
    """
    with replace.attributes(FakeTensorMode, avoid_device_init=property(lambda mode: True)):
        yield


@contextmanager
def running_calls(target: Target) -> Iterator[None]:
    """Accept what a compiled program calls when it runs: current device, stream and allocator.

    Dynamo imports one of these calls with its first import, which fails without them where it
    happens while the GPU is described. Where it happened before, the modes with CUDA graphs fail,
    and what a compiled program calls can't be followed.
    """
    # Private, checked on torch 2.11 and 2.13.
    with (
        replace.attributes(
            torch._C,
            _cuda_setDevice=_nothing,
            _cuda_synchronize=_nothing,
            _cuda_getCurrentRawStream=_stream,
            _cuda_cudaCachingAllocator_is_enabled=_yes,
            _cuda_getArchFlags=lambda: _architecture_flag(target),
        ),
        # Dynamo asks for this from torch 2.14 on.
        replace.attributes(torch.cuda, is_current_stream_capturing=_no),
    ):
        yield


@contextmanager
def memory_size(target: Target) -> Iterator[None]:
    """Answer how much memory is free: all of it.

    Only for programs that ask.
    """
    sizes = (target.memory_bytes, target.memory_bytes)
    with replace.attributes(torch.cuda, mem_get_info=lambda device=None: sizes):
        yield


@contextmanager
def module_moves(target: Target) -> Iterator[None]:
    """Let `module.to("cuda")` put new parameters in the place of the old ones.

    Torch moves a fake parameter by exchanging the insides of two tensors, which it refuses where
    something keeps track of one of them, as the fake mode does. Only for programs that move a
    module themselves.
    """
    # Private, checked on torch 2.11 and 2.13: what `to`, `cuda`, `half` and the like end in.
    with replace.attributes(torch.nn.Module, _apply=_apply):
        yield


def device_properties(target: Target) -> SimpleNamespace:
    """Describe the device as `torch.cuda.get_device_properties` does."""
    major, minor = target.capability
    return SimpleNamespace(
        name=target.name,
        major=major,
        minor=minor,
        multi_processor_count=target.num_multiprocessors,
        warp_size=target.warp_size,
        # Of an MI300X's, ROCm reports half.
        regs_per_multiprocessor=min(target.registers_per_multiprocessor, _REPORTED_REGISTERS),
        max_threads_per_multi_processor=target.max_threads_per_multiprocessor,
        max_threads_per_block=target.max_threads_per_block,
        shared_memory_per_block=target.shared_bytes_per_block,
        shared_memory_per_block_optin=target.shared_bytes_per_block_optin,
        shared_memory_per_multiprocessor=target.shared_bytes_per_multiprocessor,
        L2_cache_size=target.l2_bytes,
        total_memory=target.memory_bytes,
        gcnArchName=target.architecture if target.vendor == "amd" else "",
        is_integrated=0,
        is_multi_gpu_board=0,
        uuid="0",
        pci_bus_id=0,
        pci_device_id=0,
        pci_domain_id=0,
        clock_rate=0,
        memory_clock_rate=0,
        memory_bus_width=0,
    )


def _architecture_flag(target: Target) -> str:
    return target.architecture if target.vendor == "amd" else f"sm_{target.architecture}"


# Functions of the module, not made anew for each target: Dynamo remembers functions by identity.


def _exchange(device: int) -> int:
    return 0


def _exchange_back(device: int) -> int:
    return 0


def _stream(device: int) -> int:
    return 0


def _yes() -> bool:
    return True


def _no() -> bool:
    return False


def _nothing(*args: object) -> None:
    """Do nothing, whatever is asked."""


class _Generator:
    """A state of random numbers that nothing draws from."""

    def get_state(self) -> torch.Tensor:
        return torch.zeros(16, dtype=torch.uint8)

    def set_state(self, state: torch.Tensor) -> None:
        pass

    def manual_seed(self, seed: int) -> "_Generator":
        return self

    def seed(self) -> int:
        return 0

    def initial_seed(self) -> int:
        return 0


def _apply(
    self: torch.nn.Module, fn: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True
) -> torch.nn.Module:
    """Stand in for `nn.Module._apply`: replace each parameter and buffer by what `fn` returns."""
    once = fn if isinstance(fn, _Once) else _Once(fn)
    if recurse:
        for child in self.children():
            child._apply(once)
    tables: tuple[dict[str, Any], ...] = (self._parameters, self._buffers)
    for table in tables:
        table.update({name: once(held) for name, held in table.items() if held is not None})
    return self


class _Once:
    """Converts a tensor once: modules that share a parameter go on sharing it."""

    def __init__(self, fn: Callable[[torch.Tensor], torch.Tensor]) -> None:
        self._fn = fn
        self._done: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        """id -> tensor, kept so that its id stays its own, and what it became"""

    def __call__(self, tensor: torch.Tensor) -> torch.Tensor:
        if id(tensor) not in self._done:
            self._done[id(tensor)] = (tensor, self._converted(tensor))
        return self._done[id(tensor)][1]

    def _converted(self, tensor: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            moved = self._fn(tensor)
        if moved is tensor or not isinstance(tensor, torch.nn.Parameter):
            return moved
        moved = torch.nn.Parameter(moved, requires_grad=tensor.requires_grad)
        if tensor.grad is not None:
            moved.grad = self._fn(tensor.grad)
        return moved
