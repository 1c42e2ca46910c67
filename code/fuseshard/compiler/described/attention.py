"""Which implementation of scaled_dot_product_attention a card would choose, and where it says so.

B = sequences, H = heads, L = queries, S = keys, D = features of a query or key, E = of a value.
"""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch.backends import cuda as switches

# Private, checked on torch 2.11 and 2.13: a condition on a size that may be a symbol.
from torch.fx.experimental.symbolic_shapes import guard_or_false

from fuseshard.compiler.described.targets import Target

Backend = Literal["math", "flash", "efficient", "cudnn"]

NUMBERS: dict[Backend, int] = {"math": 0, "flash": 1, "efficient": 2, "cudnn": 3}
"""as torch.nn.attention.SDPBackend numbers them"""
_NONE_FITS = -1
_HALF = (torch.float16, torch.bfloat16)

_SLOTS = "_ZN2at6native22_fused_sdp_choice_stubE"  # at::native::_fused_sdp_choice_stub
_WRAP = "_Z16THPVariable_WrapRKN2at10TensorBaseE"  # THPVariable_Wrap(const at::TensorBase&)


class _OptionalTensor(ctypes.Structure):
    """std::optional<at::Tensor>; a tensor in C++ is one address."""

    _fields_ = (("tensor", ctypes.c_void_p), ("has_value", ctypes.c_bool))


class _OptionalDouble(ctypes.Structure):
    """std::optional<double>."""

    _fields_ = (("value", ctypes.c_double), ("has_value", ctypes.c_bool))


_CHOICE = ctypes.CFUNCTYPE(  # fused_sdp_choice_fn in ATen/native/transformers/attention.h
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


@dataclass(frozen=True, kw_only=True, eq=False)
class Attention:
    """The arguments of one call."""

    query: torch.Tensor
    """[B, H, L, D]"""
    key: torch.Tensor
    """[B, H, S, D]; fewer heads with `enable_gqa`"""
    value: torch.Tensor
    """[B, H, S, E]; as many heads as `key`"""
    mask: torch.Tensor | None = None
    """[L, S] or [B, H, L, S], or 1 in place of any of them"""
    dropout: float = 0.0
    """probability"""
    is_causal: bool = False
    enable_gqa: bool = False
    """groups of heads of the query share a head of key and value"""

    @property
    def tensors(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Query, key and value."""
        return self.query, self.key, self.value

    @property
    def needs_gradient(self) -> bool:
        """Whether a backward pass may follow."""
        return torch.is_grad_enabled() and any(t.requires_grad for t in self.tensors)


@contextmanager
def attention_choice(target: Target) -> Iterator[None]:
    """Choose the implementation of attention that the card would choose.

    Torch keeps one function that chooses for each type of device; in a CPU build CUDA's place is
    empty. What follows the choice (padding, masks) is the same in each build. Without a choice
    nothing fails, but attention is written out as two matrix products and a softmax.
    """
    failures: list[Exception] = []

    def choose(*arguments: Any) -> int:
        try:
            chosen = backend(target, _call(*arguments))
        except Exception as failure:
            # C++ can't carry it on: it hears that none fits, raises, and the block below tells.
            failures.append(failure)
            return _NONE_FITS
        return _NONE_FITS if chosen is None else NUMBERS[chosen]

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


def backend(target: Target, call: Attention) -> Backend | None:
    """Choose the implementation that a card would choose for a call.

    Torch goes through a list and takes the first that can do the call and isn't switched off.
    cuDNN comes first on Hopper and on data centre Blackwell, and last elsewhere.

    Args:
        target: the card.
        call: the arguments.

    Returns:
        Its name; None where each one that fits is switched off, which torch makes an error.

    Source:
        ATen/native/transformers/cuda/sdp_utils.cpp, select_sdp_backend; nested tensors and FP8
        are left out. On NVIDIA's cards it is, call by call, what the compiled function of torch
        2.13 for CUDA answers (17 499 calls a card). That of torch 2.11 differs in one rule: it
        lets cuDNN have any probability of dropout. For AMD it is only read.
    """
    order: tuple[Backend, ...] = ("flash", "efficient", "math", "cudnn")
    if target.vendor == "nvidia" and target.capability[0] in {9, 10}:
        order = ("cudnn", "flash", "efficient", "math")
    fits = {
        "cudnn": switches.cudnn_sdp_enabled() and _fits_cudnn(target, call),
        "flash": switches.flash_sdp_enabled() and _fits_flash(target, call),
        "efficient": switches.mem_efficient_sdp_enabled() and _fits_efficient(target, call),
        "math": switches.math_sdp_enabled(),
    }
    return next((name for name in order if fits[name]), None)


def _fits_cudnn(target: Target, call: Attention) -> bool:
    return (
        target.vendor == "nvidia"
        and call.query.dtype in _HALF
        and _fits_any_fused(call, groups_heads=True)
        and _fits_cudnn_sizes(target, call)
        and _fits_cudnn_mask(call)
        # cuDNN knows probabilities in steps of 1/16.
        and (call.dropout * 16).is_integer()
        and not _must_be_deterministic()
    )


def _fits_cudnn_sizes(target: Target, call: Attention) -> bool:
    width, value_width = call.query.size(-1), call.value.size(-1)
    widest = 256 if target.capability == (9, 0) else 128
    is_latent = guard_or_false(width == 192) and guard_or_false(value_width == 128)
    if target.capability[0] == 10 and is_latent:
        widest = 192
    fits = all(
        guard_or_false(size <= widest) and guard_or_false(size % 8 == 0)
        for size in (width, value_width)
    )
    is_one_key = guard_or_false(call.key.size(-2) == 1)
    is_one_query = guard_or_false(call.query.size(-2) == 1)
    return fits and not is_one_key and not (call.dropout > 0 and is_one_query)


def _fits_cudnn_mask(call: Attention) -> bool:
    mask = call.mask
    if mask is None:
        return True
    batch, heads, queries, _ = call.query.shape
    shape = (batch, heads, queries, call.key.size(-2))
    return (
        not mask.requires_grad
        and mask.dim() in {2, 4}
        and all(
            guard_or_false(size == 1) or guard_or_false(size == full)
            for size, full in zip(mask.shape[::-1], shape[::-1], strict=False)
        )
    )


def _must_be_deterministic() -> bool:
    warns_only = torch.is_deterministic_algorithms_warn_only_enabled()
    return torch.are_deterministic_algorithms_enabled() and not warns_only


def _fits_flash(target: Target, call: Attention) -> bool:
    widest = 512 if target.vendor == "amd" else 256
    is_square = _same(call.query, call.key, -2)
    return (
        call.mask is None
        and call.query.dtype in _HALF
        and _fits_any_fused(call, groups_heads=True)
        and _has_one_width(call)
        and guard_or_false(call.query.size(-1) <= widest)
        and _has_flash_backward(target, call)
        # Flash attention would align the triangle with the rectangle's other corner.
        and (is_square or not call.is_causal)
    )


def _has_flash_backward(target: Target, call: Attention) -> bool:
    """Tell whether a backward pass exists, where one may follow: Ada lacks some widths."""
    if not call.needs_gradient or not (8, 6) <= target.capability <= (8, 9):
        return True
    width = call.query.size(-1)
    return guard_or_false(width <= 192) or (call.dropout == 0 and guard_or_false(width > 224))


def _fits_efficient(target: Target, call: Attention) -> bool:
    aligned_to = 8 if call.query.dtype in _HALF else 4
    widths = (call.query.size(-1), call.value.size(-1))
    return (
        call.query.dtype in (*_HALF, torch.float32)
        and _fits_any_fused(call, groups_heads=False)
        and all(guard_or_false(width % aligned_to == 0) for width in widths)
        # On AMD it is flash attention's own kernel under another name.
        and (target.vendor == "nvidia" or _has_one_width(call))
    )


def _fits_any_fused(call: Attention, *, groups_heads: bool) -> bool:
    """Check what every implementation but the plain one wants."""
    query, key, value = call.tensors
    strided = call.tensors if call.mask is None else (*call.tensors, call.mask)
    alike = all(t.dim() == query.dim() == 4 and t.dtype == query.dtype for t in call.tensors)
    if not alike or any(guard_or_false(tensor.size(-2) == 0) for tensor in call.tensors):
        return False
    if any(not guard_or_false(tensor.stride(-1) == 1) for tensor in strided):
        return False
    if not (_same(query, key, 0) and _same(query, value, 0) and _same(key, value, 1)):
        return False
    if call.enable_gqa and groups_heads:
        return guard_or_false(query.size(1) % key.size(1) == 0)
    return _same(query, key, 1)


def _has_one_width(call: Attention) -> bool:
    return _same(call.query, call.key, -1) and _same(call.query, call.value, -1)


def _same(one: torch.Tensor, other: torch.Tensor, dim: int) -> bool:
    return guard_or_false(one.size(dim) == other.size(dim))


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
