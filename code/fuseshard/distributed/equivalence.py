"""How far two computations of the same tensors are apart, and whether rounding explains it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import nn


@dataclass(frozen=True, kw_only=True)
class Difference:
    """The largest difference between two sets of tensors."""

    name: str
    "the tensor in which it is"
    absolute: float
    "largest |left - right|"
    scale: float
    "largest magnitude in that tensor, left or right"
    epsilon: float
    "spacing of the dtype's numbers at 1"

    @property
    def in_epsilons(self) -> float:
        """The difference in units of what the dtype can tell apart at the tensor's scale."""
        if self.absolute == 0:
            return 0.0
        return self.absolute / (self.scale * self.epsilon)

    def is_rounding(self, num_terms: int) -> bool:
        """Whether adding that many terms in another order may explain it.

        Each of the n - 1 additions of a sum errs by at most half an epsilon of the running sum,
        and both sides err; hence n epsilons bound the difference of two orders as long as the
        running sums don't exceed the tensor's scale. A bug is usually larger by orders of
        magnitude.
        """
        return self.in_epsilons <= num_terms


def gradients(module: nn.Module) -> dict[str, torch.Tensor]:
    """Copy a module's gradients, by the parameter's name.

    Args:
        module: after backward; names lose the prefix `module.` that DDP adds.

    Returns:
        one tensor a parameter; zeros where there is no gradient.
    """
    return {
        name.removeprefix("module."): (
            torch.zeros_like(param) if param.grad is None else param.grad
        )
        .detach()
        .clone()
        for name, param in module.named_parameters()
    }


def largest_difference(
    left: Mapping[str, torch.Tensor], right: Mapping[str, torch.Tensor]
) -> Difference:
    """Find where two sets of tensors differ most, relative to each tensor's scale.

    NaN counts as an infinite difference, also where both sides have it.

    Args:
        left: tensors by name.
        right: the same names, shapes and dtypes.

    Returns:
        the difference that is largest in epsilons; the first of equals.

    Raises:
        ValueError: no tensors, or names, shapes or dtypes differ.
    """
    if not left or left.keys() != right.keys():
        odd = sorted(left.keys() ^ right.keys()) or "nothing"
        raise ValueError(
            f"largest_difference: only one side has {odd}, required are the same names on both "
            "(a missing tensor would pass unseen); compare the same model twice"
        )
    found = [_difference(name, tensor, right[name]) for name, tensor in left.items()]
    return max(found, key=lambda difference: difference.in_epsilons)


def _difference(name: str, left: torch.Tensor, right: torch.Tensor) -> Difference:
    if left.shape != right.shape or left.dtype != right.dtype:
        raise ValueError(
            f"largest_difference: {name} is {tuple(left.shape)} {left.dtype} and "
            f"{tuple(right.shape)} {right.dtype}, required are equal shapes and dtypes "
            "(broadcasting would hide a bug); reshape or convert before comparing"
        )
    is_rounded = left.dtype.is_floating_point or left.dtype.is_complex
    epsilon = torch.finfo(left.dtype).eps if is_rounded else 1.0
    if not is_rounded:  # small integers would wrap round, truth values can't be subtracted
        left, right = left.long(), right.long()
    apart = (left - right).abs()
    absolute = float(apart.max()) if apart.numel() else 0.0
    scale = max(float(side.abs().max()) if side.numel() else 0.0 for side in (left, right))
    if not math.isfinite(absolute):
        absolute, scale = float("inf"), 1.0
    return Difference(name=name, absolute=absolute, scale=scale, epsilon=epsilon)
