"""What torch's C++ code asks its CUDA part, answered in a build that has none.

The CPU part of torch calls the CUDA part through one object of virtual functions, the hooks. In a
CPU build it is an object of the base class, which says no to everything or raises. Here the
object's table of functions is swapped for a copy in which a few functions answer yes.
"""

import ctypes
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from fuseshard.compiler.described.targets import Target

CUDNN_VERSION = 92000
"""cuDNN 9.20 as its own version function gives it; torch 2.13 for CUDA 13 comes with it"""
MIOPEN_VERSION = 30400
"""MIOpen 3.4.0, as ROCm 6.4 has it"""

BUILT = ("isBuilt", "hasPrimaryContext")
CUDNN = (
    "compiledWithCuDNN",
    "hasCuDNN",
    "supportsDilatedConvolutionWithCuDNN",
    "supportsDepthwiseConvolutionWithCuDNN",
    "supportsBFloat16ConvolutionWithCuDNNv8",
)

_POINTER_BYTES = ctypes.sizeof(ctypes.c_void_p)
_BEFORE_TABLE = 2
"""entries in front of the functions: the offset to the top of the object, and its type"""
_DESTRUCTORS = 2
"""functions in front of the named ones: C++ keeps two destructors, one of which frees memory"""
_HOOKS = "_ZN2at6detail12getCUDAHooksEv"  # at::detail::getCUDAHooks()


@contextmanager
def accelerator_hooks(target: Target) -> Iterator[None]:
    """Say that torch was built for this accelerator and that it has been started.

    The autograd engine asks for the accelerator of a node that holds a CUDA tensor. Without an
    answer every backward pass fails: "Cannot access accelerator device when none is available".

    Raises:
        RuntimeError: the answer doesn't arrive.
    """
    with _answering(dict.fromkeys(BUILT, _yes())):
        found = torch.accelerator.current_accelerator()
        if found is None or found.type != "cuda":
            raise RuntimeError(
                f"accelerator_hooks: torch finds {found} as its accelerator, must find cuda (the "
                f"hooks of torch {torch.__version__} lie elsewhere than its headers say); use "
                "torch 2.11 or 2.13, on which this was checked."
            )
        yield


@contextmanager
def library_hooks(target: Target) -> Iterator[None]:
    """Say that the vendor's library of neural network operators is there: cuDNN or MIOpen.

    Convolution and batch norm ask which layout and which operator it would like. Without an
    answer nothing fails, but they are those of a build without the library.
    """
    answers = _cudnn_answers() if target.vendor == "nvidia" else _miopen_answers()
    with _answering(answers):
        yield


def _cudnn_answers() -> dict[str, Any]:
    answers: dict[str, Any] = dict.fromkeys(CUDNN, _yes())
    version = _constant(ctypes.c_long, CUDNN_VERSION)
    smallest_epsilon = _constant(ctypes.c_double, 0.0)
    answers |= {"versionCuDNN": version, "versionRuntimeCuDNN": version}
    return answers | {"batchnormMinEpsilonCuDNN": smallest_epsilon}


def _miopen_answers() -> dict[str, Any]:
    version = _constant(ctypes.c_long, MIOPEN_VERSION)
    return {"compiledWithMIOpen": _yes(), "versionMIOpen": version}


def slots(base: str, derived: str) -> dict[str, int]:
    """Number the hooks' functions as a C++ compiler does.

    A class's table holds its base's functions first, in the order of their declarations, then its
    own new ones.

    Args:
        base: text of AcceleratorHooksInterface.h.
        derived: text of CUDAHooksInterface.h.

    Returns:
        function -> place in the table.
    """
    inherited = _virtual_functions(base, "AcceleratorHooksInterface")
    own = _virtual_functions(derived, "CUDAHooksInterface")
    names = inherited + [name for name in own if name not in inherited]
    return {name: place for place, name in enumerate(names, _DESTRUCTORS)}


def _virtual_functions(header: str, name: str) -> list[str]:
    """List the virtual functions that a class declares, its destructor left out."""
    found = re.search(rf"struct TORCH_API {name}\b.*?\n}};", header, re.DOTALL)
    body = re.sub(r"#ifdef USE_ROCM.*?#endif", "", found[0] if found else "", flags=re.DOTALL)
    return re.findall(r"\n  virtual [^~(]*?(\w+)\(", body)


def _installed_slots() -> dict[str, int]:
    """Number the functions of the installed torch, whose package holds its headers."""
    folder = Path(torch.__file__).parent / "include" / "ATen" / "detail"
    return slots(
        (folder / "AcceleratorHooksInterface.h").read_text(),
        (folder / "CUDAHooksInterface.h").read_text(),
    )


@contextmanager
def _answering(answers: Mapping[str, Any]) -> Iterator[None]:
    """Swap the hooks' table for a copy with some functions replaced.

    Args:
        answers: function -> what C++ calls in its place.
    """
    places = _installed_slots()
    functions = ctypes.c_void_p * (_BEFORE_TABLE + _DESTRUCTORS + len(places))
    table = ctypes.c_void_p.from_address(_hooks())
    before = table.value
    assert before is not None
    copy = functions.from_buffer_copy(
        functions.from_address(before - _BEFORE_TABLE * _POINTER_BYTES)
    )
    # A release that doesn't ask a question needs no answer: not all have all of these functions.
    for name in places.keys() & answers.keys():
        copy[_BEFORE_TABLE + places[name]] = ctypes.cast(answers[name], ctypes.c_void_p)
    # From here on C++ reads the copy, and calls `answers`: both live until the block ends.
    table.value = ctypes.addressof(copy) + _BEFORE_TABLE * _POINTER_BYTES
    try:
        yield
    finally:
        table.value = before


def _hooks() -> int:
    """Find the one object of hooks; its first word is the address of its table."""
    library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
    find = getattr(library, _HOOKS)
    find.restype = ctypes.c_void_p
    address = find()
    assert isinstance(address, int)
    return address


def _yes() -> Any:
    """Find a C function that returns 1, and that any thread may call: Python's own."""
    return ctypes.pythonapi.Py_IsInitialized


def _constant(kind: type[Any], value: float) -> Any:
    """Make a C function that returns a number, whichever object it is called on."""
    return ctypes.CFUNCTYPE(kind, ctypes.c_void_p)(lambda hooks: value)
