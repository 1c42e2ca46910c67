"""How far apart two float32 programs for the residual MLP may be: a bound, element by element.

u = 2^-24; gamma(k) = k u / (1 - k u), what k roundings in a row can do; x = input, h = up(x),
g = gelu(h), y = x + down(g).
"""

import torch
from torch.nn import functional

from fuseshard.compiler.rounding import FLOAT32_ROUNDOFF
from fuseshard.models.small import ResidualMLP

GELU_SLOPE = 1.13
"""steepest slope of GELU, near h = 1.4"""

GELU_ROUNDOFFS = 16.0
"""u |h|, for evaluating GELU: an erf that is good to 16 u, a sum, and four products"""


def mlp_bound(model: ResidualMLP, x: torch.Tensor) -> torch.Tensor:
    """Bound the difference of two float32 results of the same residual MLP.

    A sum of K products and a bias carries at most K + 1 roundings, in whatever order and whether
    or not products are fused into sums. What that makes of h is steepened by GELU and passed on
    through |down|; the second sum adds its own.
        dh <= gamma(K + 1) (|up| |x| + |b|)
        dg <= 1.13 dh + 16 u |h|
        dy <= |down| dg + gamma(K' + 2) (|down| |g| + |b'| + |x|)
    Both programs may be off by dy, in opposite directions: 2 dy.

    Args:
        model: its parameters.
        x: [B, D]; not modified.

    Returns:
        [B, D], float64: the largest difference that rounding explains.

    Source:
        Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, sections 3.1 and 3.5.
    """
    x = x.double()
    up, down = model.up.weight.double(), model.down.weight.double()
    up_bias, down_bias = model.up.bias.double(), model.down.bias.double()
    h = functional.linear(x, up, up_bias)
    g = functional.gelu(h)
    h_off = _gamma(up.shape[1] + 1) * functional.linear(x.abs(), up.abs(), up_bias.abs())
    g_off = GELU_SLOPE * h_off + GELU_ROUNDOFFS * FLOAT32_ROUNDOFF * h.abs()
    sums = functional.linear(g.abs(), down.abs(), down_bias.abs()) + x.abs()
    y_off = functional.linear(g_off, down.abs()) + _gamma(down.shape[1] + 2) * sums
    return 2 * y_off


def share_of_bound(actual: torch.Tensor, expected: torch.Tensor, bound: torch.Tensor) -> float:
    """Return the largest difference of two results, as a share of its bound.

    Args:
        actual: what to judge.
        expected: of the same shape.
        bound: of the same shape, positive.

    Returns:
        max |actual - expected| / bound; up to 1 it is rounding.
    """
    return float(((actual.double() - expected.double()).abs() / bound).max())


def _gamma(roundings: int) -> float:
    return roundings * FLOAT32_ROUNDOFF / (1 - roundings * FLOAT32_ROUNDOFF)
