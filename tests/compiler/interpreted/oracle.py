"""What torch computes on this CPU, and how far a result may be from it.

Truth is the program in float64. How much rounding alone does is told by the program in float32:
sums in another order round otherwise, but not more.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from fuseshard.compiler.gpu_code.worker.travel import pack
from fuseshard.compiler.interpreted.records import Interpreted
from fuseshard.compiler.rounding import FLOAT32_ROUNDOFF

TIMES_TORCH = 4
"""how many times as far as torch's float32 a result may be from float64's"""
FLOOR = 8 * FLOAT32_ROUNDOFF
"""of the largest number: where torch's float32 is exact by luck, as a single number may be"""


def seeded(*shape: int, grad: bool = False, seed: int = 0) -> torch.Tensor:
    source = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(shape, generator=source).requires_grad_(grad)


def tokens(*shape: int, vocabulary: int) -> torch.Tensor:
    source = torch.Generator().manual_seed(vocabulary)
    return torch.randint(vocabulary, shape, generator=source)


def numbers(fn: Any, args: Sequence[Any]) -> list[torch.Tensor]:
    """The tensors that travel with a program."""
    return [x.detach() for x in pack(fn, tuple(args)).tensors]


def tangents(outputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Gradients that break symmetry: ones would make nothing but zeros of softmax."""
    return [seeded(*x.shape, seed=9) for x in outputs if x.is_floating_point()]


def results(
    fn: Any, args: Sequence[torch.Tensor], dtype: torch.dtype = torch.float64
) -> list[torch.Tensor]:
    """Outputs, then gradients of all that require one, computed by torch in a given type."""
    own = copy.deepcopy(fn).to(dtype) if isinstance(fn, nn.Module) else fn
    given = [
        x.detach().to(dtype).requires_grad_(x.requires_grad) if x.is_floating_point() else x
        for x in args
    ]
    found = own(*given)
    outputs = list(found) if isinstance(found, tuple) else [found]
    leaves = [x for x in pack(own, tuple(given)).tensors if x.requires_grad]
    upstream = [x.to(outputs[0].dtype) for x in tangents(outputs)]
    gradients = torch.autograd.grad(outputs, leaves, upstream) if leaves else ()
    return [*(x.detach() for x in outputs), *gradients]


def flattened(found: Interpreted, fn: Any, args: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """The same of a run on a GPU's code."""
    tensors = pack(fn, tuple(args)).tensors
    pairs = zip(found.gradients, tensors, strict=True) if found.gradients else ()
    wanted = [*found.outputs, *(gradient for gradient, x in pairs if x.requires_grad)]
    return [x for x in wanted if x is not None]


def distance(actual: torch.Tensor, exact: torch.Tensor) -> float:
    """Largest difference, relative to the largest number."""
    scale = exact.double().abs().max()
    return float((actual.double() - exact.double()).abs().max() / scale)


def limits(fn: Any, args: Sequence[torch.Tensor]) -> list[float]:
    """How far each result may be from the truth."""
    pairs = zip(results(fn, args, torch.float32), results(fn, args), strict=True)
    return [max(TIMES_TORCH * distance(x, exact), FLOOR) for x, exact in pairs]


def excesses(
    found: Interpreted, fn: Any, args: Sequence[torch.Tensor], *, oracle: Any = None
) -> list[float]:
    """Each result's distance from the truth over what it may be; above 1 is more than rounding."""
    actual, exact = flattened(found, fn, args), results(oracle or fn, args)
    assert [x.shape for x in actual] == [x.shape for x in exact]
    pairs = zip(actual, exact, limits(fn, args), strict=True)
    return [distance(x, y) / limit for x, y, limit in pairs]
