"""Put the choice of an implementation of attention where a CUDA build has its own."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from fuseshard.compiler.described.attention import Attention, backend
from fuseshard.compiler.described.targets import Target

NUMBERS = {"math": 0, "flash": 1, "efficient": 2, "cudnn": 3}
"""as at::SDPBackend numbers them, and torch.nn.attention.SDPBackend too"""
_NONE_FITS = -1

_SLOTS = "_ZN2at6native22_fused_sdp_choice_stubE"  # at::native::_fused_sdp_choice_stub
_WRAP = "_Z16THPVariable_WrapRKN2at10TensorBaseE"  # THPVariable_Wrap(const at::TensorBase&)


class _OptionalTensor(ctypes.Structure):
    """std::optional<at::Tensor>; a tensor in C++ is one address."""

    _fields_ = (("tensor", ctypes.c_void_p), ("has_value", ctypes.c_bool))


class _OptionalDouble(ctypes.Structure):
    """std::optional<double>."""

    _fields_ = (("value", ctypes.c_double), ("has_value", ctypes.c_bool))


_CHOICE = ctypes.CFUNCTYPE(
    ctypes.c_int64,
    ctypes.c_void_p,  # query
    ctypes.c_void_p,  # key
    ctypes.c_void_p,  # value
    ctypes.POINTER(_OptionalTensor),  # mask
    ctypes.c_double,  # probability of dropout
    ctypes.c_bool,  # is it causal
    _OptionalDouble,  # scale
    ctypes.c_bool,  # are heads grouped
)
"""The type of torch's function that chooses, in ATen/native/transformers/attention.h."""


@contextmanager
def attention_choice(target: Target) -> Iterator[None]:
    """Choose the implementation of attention that the card would choose.

    Torch keeps one function that chooses for each type of device; in a CPU build CUDA's place is
    empty. What follows the choice is the same in each build. Without a choice nothing fails, but
    attention is written out as two matrix products and a softmax.
    """
    failures: list[Exception] = []

    def choose(*arguments: Any) -> int:
        try:
            return NUMBERS[backend(target, _call(*arguments))]
        except Exception as failure:
            # C++ can't carry it on: it hears that none fits, raises, and the block below tells.
            failures.append(failure)
            return _NONE_FITS

    function = _CHOICE(choose)
    slots = _slots()
    before = slots[1]
    slots[1] = ctypes.cast(function, ctypes.c_void_p).value
    try:
        yield
    except Exception as error:
        if failures:
            raise failures[0] from error
        raise
    finally:
        slots[1] = before


def _call(*arguments: Any) -> Attention:
    query, key, value, mask, dropout, is_causal, _scale, enable_gqa = arguments
    return Attention(
        query=_tensor(query),
        key=_tensor(key),
        value=_tensor(value),
        mask=_tensor(ctypes.addressof(mask.contents)) if mask.contents.has_value else None,
        dropout=dropout,
        is_causal=is_causal,
        enable_gqa=enable_gqa,
    )


def _tensor(address: int) -> torch.Tensor:
    """Make Python's tensor of a C++ one, as torch does when C++ calls Python."""
    library = ctypes.PyDLL(str(_libraries() / "libtorch_python.so"))
    wrap = getattr(library, _WRAP)
    wrap.argtypes, wrap.restype = [ctypes.c_void_p], ctypes.py_object
    tensor = wrap(address)
    assert isinstance(tensor, torch.Tensor)
    return tensor


def _slots() -> "ctypes.Array[ctypes.c_void_p]":
    """Find torch's functions that choose: the CPU's is the first, CUDA's the second."""
    return (ctypes.c_void_p * 2).in_dll(ctypes.CDLL(str(_libraries() / "libtorch_cpu.so")), _SLOTS)


def _libraries() -> Path:
    return Path(torch.__file__).parent / "lib"
