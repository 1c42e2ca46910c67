"""A GPU that isn't there, described to torch and Triton well enough that they write code for it."""

import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass

from fuseshard.compiler.described import (
    attention_slot,
    cuda_calls,
    driver,
    factories,
    guard,
    hooks,
    memos,
)
from fuseshard.compiler.described.targets import Target


@dataclass(frozen=True, kw_only=True)
class Replacement:
    """One part of torch or Triton that answers for the GPU."""

    purpose: str
    """what it does, in a few words"""
    install: Callable[[Target], AbstractContextManager[None]]
    """puts it in place, and back"""


@contextmanager
def _device_guard(target: Target) -> Iterator[None]:
    guard.register_guard()
    yield


REPLACEMENTS = {
    "memos": Replacement(
        purpose="forgets what was remembered of another device", install=memos.memos
    ),
    "device guard": Replacement(
        purpose="lets C++ switch to the device: nothing happens", install=_device_guard
    ),
    "accelerator hooks": Replacement(
        purpose="tells the autograd engine that there is an accelerator",
        install=hooks.accelerator_hooks,
    ),
    "cuDNN hooks": Replacement(
        purpose="tells convolution and batch norm that cuDNN is there",
        install=hooks.cudnn_hooks,
    ),
    "factories": Replacement(
        purpose="makes Inductor's own small tensors on the CPU", install=factories.factories
    ),
    "attention choice": Replacement(
        purpose="chooses the implementation of attention as the card would",
        install=attention_slot.attention_choice,
    ),
    "tensor creation": Replacement(
        purpose="keeps fake tensors from touching the device",
        install=cuda_calls.tensor_creation,
    ),
    "version": Replacement(
        purpose="says whether torch was built for CUDA or for ROCm", install=cuda_calls.version
    ),
    "device queries": Replacement(
        purpose="says how many devices there are and what they are like",
        install=cuda_calls.device_queries,
    ),
    "device exchange": Replacement(
        purpose="lets Python code switch to the device and back",
        install=cuda_calls.device_exchange,
    ),
    "random state": Replacement(
        purpose="keeps a state of random numbers for the device",
        install=cuda_calls.random_state,
    ),
    "runtime calls": Replacement(
        purpose="accepts what a wrapper calls when it runs", install=cuda_calls.runtime_calls
    ),
    "memory size": Replacement(
        purpose="says how much memory is free", install=cuda_calls.memory_size
    ),
    "module moves": Replacement(
        purpose='lets a program call module.to("cuda")', install=cuda_calls.module_moves
    ),
    "Triton driver": Replacement(
        purpose="tells Triton what to compile for", install=driver.triton_driver
    ),
}
"""name -> replacement, in the order in which they are put in place"""


@contextmanager
def described_gpu(target: Target, *, without: Collection[str] = ()) -> Iterator[Target]:
    """Let torch and Triton believe that this GPU is there.

    Tensors on it have to be fake: make them under `FakeTensorMode`. Everything that was replaced
    is put back at the end, but for the device guard.

    The description is seen by the whole process. Other threads wait here for their turn, and
    should not compute meanwhile.

    Args:
        target: the GPU.
        without: names out of `REPLACEMENTS` to leave out, to see what they are for.

    Yields:
        `target`.

    Raises:
        ValueError: `without` holds an unknown name.
        RuntimeError: this thread describes a GPU already, Inductor was loaded for the other
            vendor, or this process sees a real GPU.
    """
    unknown = sorted(set(without) - set(REPLACEMENTS))
    if unknown:
        raise ValueError(
            f"described_gpu: without names {unknown}, must be among {list(REPLACEMENTS)}."
        )
    with _TURN, ExitStack() as stack:
        for name, replacement in REPLACEMENTS.items():
            if name not in without:
                stack.enter_context(replacement.install(target))
        yield target


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
