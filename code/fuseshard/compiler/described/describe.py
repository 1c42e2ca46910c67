"""A GPU that isn't there, described to torch and Triton well enough that they write code for it."""

import importlib
import sys
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass

import torch
from torch._subclasses.fake_tensor import FakeTensorMode  # Private, checked on torch 2.11 and 2.13.

from fuseshard.compiler.described import (
    attention,
    cuda_calls,
    driver,
    factories,
    guard,
    hooks,
    memos,
)
from fuseshard.compiler.described.targets import Target, Vendor

_SETTINGS = "torch._inductor.config"
_COMPILER = (
    _SETTINGS,
    "torch._inductor.compile_fx",
    "torch._inductor.choices",
    "torch._inductor.select_algorithm",
    "torch._inductor.runtime.triton_heuristics",
)


@dataclass(frozen=True, kw_only=True)
class Replacement:
    """One part of torch or Triton that answers for the GPU."""

    purpose: str
    """what it does, in a few words"""
    install: Callable[[Target], AbstractContextManager[None]]
    """puts it in place and back; its docstring says what goes wrong without it"""


REPLACEMENTS = {
    "memos": Replacement(
        purpose="forgets what was remembered of another device",
        install=memos.memos,
    ),
    "device guard": Replacement(
        purpose="lets C++ switch to the device, which does nothing",
        install=guard.device_guard,
    ),
    "accelerator hooks": Replacement(
        purpose="tells the autograd engine that there is an accelerator",
        install=hooks.accelerator_hooks,
    ),
    "library hooks": Replacement(
        purpose="tells convolution and batch norm that cuDNN or MIOpen is there",
        install=hooks.library_hooks,
    ),
    "factories": Replacement(
        purpose="makes the small tensors of Inductor's own arithmetic on the CPU",
        install=factories.factories,
    ),
    "attention choice": Replacement(
        purpose="chooses the implementation of attention as the card would",
        install=attention.attention_choice,
    ),
    "tensor creation": Replacement(
        purpose="makes fake tensors without touching the device",
        install=cuda_calls.tensor_creation,
    ),
    "version": Replacement(
        purpose="says whether torch was built for CUDA or for ROCm",
        install=cuda_calls.version,
    ),
    "device queries": Replacement(
        purpose="says how many devices there are and what they are like",
        install=cuda_calls.device_queries,
    ),
    "device exchange": Replacement(
        purpose="lets Python switch to the device and back",
        install=cuda_calls.device_exchange,
    ),
    "random state": Replacement(
        purpose="keeps a state of random numbers for the device",
        install=cuda_calls.random_state,
    ),
    "running calls": Replacement(
        purpose="accepts what a compiled program calls when it runs",
        install=cuda_calls.running_calls,
    ),
    "memory size": Replacement(
        purpose="says how much memory is free",
        install=cuda_calls.memory_size,
    ),
    "module moves": Replacement(
        purpose='lets a program call module.to("cuda")',
        install=cuda_calls.module_moves,
    ),
    "Triton driver": Replacement(
        purpose="tells Triton what to compile for",
        install=driver.triton_driver,
    ),
}
"""name -> replacement, in the order in which they are put in place"""


@contextmanager
def described_gpu(target: Target, *, without: Collection[str] = ()) -> Iterator[Target]:
    """Let torch and Triton believe that this GPU is there.

    Tensors on it have to be fake: make them under `FakeTensorMode`. At the end everything is put
    back but two things, which can't be: the device guard, and a note in C++ that CUDA has been
    started. A tensor on the GPU is refused afterwards as before, but in other words.

    The whole process sees the description. Another thread that describes a GPU waits for its
    turn; one that computes should wait as well.

    Args:
        target: the GPU.
        without: names out of `REPLACEMENTS` to leave out, to see what they are for.

    Yields:
        `target`.

    Raises:
        ValueError: `without` holds an unknown name.
        RuntimeError: this thread describes a GPU already, the process has a real one or ran a
            `backward()` before `register_guard`, Inductor was loaded for the other vendor, or
            `without` holds the device guard and it is there.
    """
    _require_known(without)
    with _TURN, ExitStack() as stack:
        _require_suitable(target, without)
        for name, replacement in REPLACEMENTS.items():
            if name not in without:
                stack.enter_context(replacement.install(target))
        if not without:
            _require_a_gradient()
        yield target


def load_inductor(target: Target) -> None:
    """Import Inductor while a GPU is described, for what it decides when it is imported.

    Among it are how convolutions are laid out, from how many spilled registers on a kernel is
    dropped, and which templates max-autotune tries. These differ between the vendors, so that a
    process describes NVIDIA's GPUs or AMD's, not both. A process for AMD has to call this before
    it imports anything that imports torch._dynamo; one for NVIDIA needn't.

    Raises:
        RuntimeError: Inductor was loaded for the other vendor already.
    """
    with described_gpu(target):
        for name in _COMPILER:
            importlib.import_module(name)


def inductor_vendor() -> Vendor | None:
    """Tell for which vendor Inductor was loaded in this process; None if it wasn't."""
    settings = sys.modules.get(_SETTINGS)
    if settings is None:
        return None
    # Private, checked on torch 2.11 and 2.13: the first of its settings that depends on ROCm.
    return "nvidia" if settings.layout_opt_default == "1" else "amd"


def _require_known(without: Collection[str]) -> None:
    unknown = sorted(set(without) - set(REPLACEMENTS))
    if unknown:
        raise ValueError(
            f"described_gpu: without holds {unknown}, must be among {list(REPLACEMENTS)}."
        )


def _require_suitable(target: Target, without: Collection[str]) -> None:
    """Refuse a process in which the description would be wrong or dangerous."""
    if torch.cuda.is_available():
        raise RuntimeError(
            f"described_gpu: torch finds a real GPU, {torch.cuda.get_device_name()}, must find "
            "none (code would be written for one and run on the other); start the process with "
            "CUDA_VISIBLE_DEVICES set to nothing."
        )
    loaded = inductor_vendor()
    if loaded not in {None, target.vendor}:
        raise RuntimeError(
            f"described_gpu: Inductor was loaded for {loaded} in this process, must be for "
            f"{target.vendor} (it decides some things when it is imported); call "
            "load_inductor(target) in a fresh process before anything imports torch._dynamo."
        )
    if "device guard" in without and guard.guard_is_registered():
        raise RuntimeError(
            "described_gpu: the device guard is registered in this process, must not be to leave "
            "it out (it can't be taken away); do it in a fresh process."
        )


def _require_a_gradient() -> None:
    """Refuse a process whose autograd engine counted its devices without this one."""
    with FakeTensorMode(), torch.inference_mode(False), torch.enable_grad():
        weight = torch.empty(1, device="cuda", requires_grad=True)
        try:
            weight.sum().backward()
        except RuntimeError as error:
            raise RuntimeError(
                "described_gpu: the autograd engine refuses a tensor on the GPU, must take it (it "
                "counts devices at a process's first backward()); call guard.register_guard() "
                "before anything trains in the process."
            ) from error


class _Turn:
    """Lets one thread at a time through, and no thread twice."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holder: int | None = None

    def __enter__(self) -> None:
        if self._holder == threading.get_ident():
            raise RuntimeError(
                "described_gpu: this thread describes a GPU already, must describe one at a time "
                "(the description is the whole process's); leave the first block before."
            )
        self._lock.acquire()
        self._holder = threading.get_ident()

    def __exit__(self, *_: object) -> None:
        self._holder = None
        self._lock.release()


_TURN = _Turn()
