"""How far results are from exact ones, and how far rounding may carry them.

u = 2^-24, the largest relative error of one float32 operation.
"""

import copy
from collections.abc import Mapping, Sequence

import torch
from torch import nn

from fuseshard.compiler.caches.plain import model_and_input
from fuseshard.compiler.rounding import FLOAT32_ROUNDOFF

TIMES_EAGER = 3.0
ROUNDOFFS = 8


def errors_of(outputs: Mapping[str, Sequence[float]], num_layers: int) -> dict[str, float]:
    """Compare results of the stack that all starts run with the same stack in float64.

    Args:
        outputs: way -> results, row by row.
        num_layers: of the stack.

    Returns:
        way -> largest error, relative to the largest exact value.
    """
    stack, x = model_and_input(num_layers, "cpu")
    return {
        way: error_of(torch.tensor(row).reshape(x.shape), stack, x) for way, row in outputs.items()
    }


def error_of(result: torch.Tensor, model: nn.Module, x: torch.Tensor) -> float:
    """Compare a result with what the model makes of its input in float64.

    Args:
        result: in float32; not modified.
        model: not modified.
        x: its input, in float32.

    Returns:
        Largest error, relative to the largest exact value.
    """
    exact = copy.deepcopy(model).double()(x.double())
    return float((result.double() - exact).abs().max() / exact.abs().max())


def allowed_error(eager_error: float) -> float:
    """Return the error up to which another order of the same operations explains a result.

    Args:
        eager_error: of eager mode, against the same exact values.

    Returns:
        3 times eager mode's, and 8 u in case eager mode met the exact values by luck.

    Source:
        torch/_dynamo/utils.py, `same`: torch's own tests allow compiled code 2 or 3 times eager
        mode's error against float64, and a tolerance. Checked on torch 2.13.
    """
    return TIMES_EAGER * eager_error + ROUNDOFFS * FLOAT32_ROUNDOFF
