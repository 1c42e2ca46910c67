"""Which implementation of scaled_dot_product_attention a card would choose.

B = sequences, H = heads, L = queries, S = keys, D = features of a query or key, E = of a value.
"""

from dataclasses import dataclass
from typing import Literal

import torch

# Private, checked on torch 2.11 and 2.13: a condition on a size that may be a symbol.
from torch.fx.experimental.symbolic_shapes import guard_or_false

from fuseshard.compiler.described.targets import Target

Backend = Literal["math", "flash", "efficient", "cudnn"]

_HALF = (torch.float16, torch.bfloat16)


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
    """broadcastable to [B, H, L, S]"""
    dropout: float = 0.0
    is_causal: bool = False
    enable_gqa: bool = False

    @property
    def tensors(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Query, key and value."""
        return self.query, self.key, self.value

    @property
    def needs_gradient(self) -> bool:
        """Whether a backward pass may follow."""
        return torch.is_grad_enabled() and any(t.requires_grad for t in self.tensors)


def backend(target: Target, call: Attention) -> Backend:
    """Choose the implementation that a card would choose for a call.

    Torch goes through a list and takes the first that can do the call and isn't switched off.
    cuDNN comes first on Hopper and on data centre Blackwell, and last elsewhere.

    Args:
        target: the card.
        call: the arguments.

    Raises:
        RuntimeError: every implementation that can do the call is switched off.

    Source:
        ATen/native/transformers/cuda/sdp_utils.cpp, select_sdp_backend; torch 2.13.
    """
    enabled = torch.backends.cuda
    fits = {
        "cudnn": enabled.cudnn_sdp_enabled() and _fits_cudnn(target, call),
        "flash": enabled.flash_sdp_enabled() and _fits_flash(target, call),
        "efficient": enabled.mem_efficient_sdp_enabled() and _fits_efficient(target, call),
        "math": enabled.math_sdp_enabled(),
    }
    order: tuple[Backend, ...] = ("flash", "efficient", "math", "cudnn")
    if _prefers_cudnn(target):
        order = ("cudnn", "flash", "efficient", "math")
    for name in order:
        if fits[name]:
            return name
    raise RuntimeError(
        "scaled_dot_product_attention: no implementation is left for this call on "
        f"{target.name}, must be one; allow another one in sdpa_kernel."
    )


def _prefers_cudnn(target: Target) -> bool:
    return target.vendor == "nvidia" and target.capability[0] in {9, 10}


def _fits_cudnn(target: Target, call: Attention) -> bool:
    return (
        target.vendor == "nvidia"
        and _fits_any(call, supports_grouped_heads=True)
        and call.query.dtype in _HALF
        and _has_plain_mask(call)
        and _last_strides_are_1(call)
        and _fits_cudnn_sizes(target, call)
        # cuDNN knows probabilities in steps of 1/16.
        and (call.dropout * 16).is_integer()
    )


def _fits_cudnn_sizes(target: Target, call: Attention) -> bool:
    width, value_width = call.query.size(-1), call.value.size(-1)
    widest = 256 if target.capability == (9, 0) else 128
    if target.capability[0] == 10 and guard_or_false(width == 192):
        widest = 192 if guard_or_false(value_width == 128) else 128
    fits = all(
        guard_or_false(size <= widest) and guard_or_false(size % 8 == 0)
        for size in (width, value_width)
    )
    queries, keys = call.query.size(-2), call.key.size(-2)
    too_short = guard_or_false(keys == 1) or (call.dropout > 0 and guard_or_false(queries == 1))
    return fits and not too_short


def _fits_flash(target: Target, call: Attention) -> bool:
    width = call.query.size(-1)
    widest = 512 if target.vendor == "amd" else 256
    return (
        call.mask is None
        and _fits_any(call, supports_grouped_heads=True)
        and call.query.dtype in _HALF
        and _has_one_width(call)
        and guard_or_false(width <= widest)
        and _last_strides_are_1(call)
        and _fits_flash_training(target, call)
        # Flash attention would align the mask of a rectangle to its other corner.
        and not (call.is_causal and not guard_or_false(call.query.size(-2) == call.key.size(-2)))
    )


def _fits_flash_training(target: Target, call: Attention) -> bool:
    """Tell whether the backward pass exists: consumer Ampere and Ada lack some widths."""
    if not call.needs_gradient or not (8, 6) <= target.capability <= (8, 9):
        return True
    width = call.query.size(-1)
    return guard_or_false(width <= 192) or (call.dropout == 0 and guard_or_false(width > 224))


def _fits_efficient(target: Target, call: Attention) -> bool:
    aligned_to = 8 if call.query.dtype in _HALF else 4
    widths = (call.query.size(-1), call.value.size(-1))
    return (
        _fits_any(call, supports_grouped_heads=False)
        and call.query.dtype in (*_HALF, torch.float32)
        and all(guard_or_false(width % aligned_to == 0) for width in widths)
        and (target.vendor == "nvidia" or _has_one_width(call))
        and _last_strides_are_1(call)
    )


def _fits_any(call: Attention, *, supports_grouped_heads: bool) -> bool:
    """Check what all implementations but the plain one want."""
    query, key, value = call.tensors
    if any(tensor.dim() != 4 or tensor.dtype != query.dtype for tensor in call.tensors):
        return False
    if any(guard_or_false(tensor.size(-2) == 0) for tensor in call.tensors):
        return False
    if not (_same(query, key, 0) and _same(query, value, 0)):
        return False
    if call.enable_gqa and supports_grouped_heads:
        return _same(key, value, 1) and guard_or_false(query.size(1) % key.size(1) == 0)
    return _same(query, key, 1) and _same(query, value, 1)


def _same(one: torch.Tensor, other: torch.Tensor, dim: int) -> bool:
    return guard_or_false(one.size(dim) == other.size(dim))


def _has_one_width(call: Attention) -> bool:
    return _same(call.query, call.key, 3) and _same(call.query, call.value, 3)


def _last_strides_are_1(call: Attention) -> bool:
    tensors = call.tensors if call.mask is None else (*call.tensors, call.mask)
    return all(guard_or_false(tensor.stride(-1) == 1) for tensor in tensors)


def _has_plain_mask(call: Attention) -> bool:
    return call.mask is None or (call.mask.dim() in {2, 4} and not call.mask.requires_grad)
