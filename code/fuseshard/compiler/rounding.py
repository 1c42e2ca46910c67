"""Telling rounding from bugs when two programs should compute the same.

u = 2^-24, the largest relative error of one float32 operation; V = terms in a sum.
"""

import torch

FLOAT32_ROUNDOFF = 2.0**-24
"""u: half the distance from 1 to the next float32"""

EXP_ROUNDOFFS = 4
"""u per exponential: vectorised versions promise about 1 to 2 units in the last place, 2 u each"""


def softmax_bound(vocabulary: int) -> float:
    """Bound how far apart two float32 softmaxes of the same logits may be, relatively.

    Every exponential carries at most 4 u, a sum of V positive terms (V - 1) u in any order, the
    division 1 u. Numerator and denominator together, and two programs: 2 (2 * 4 + V) u. Both
    subtract the same maximum from the same logits, which is one rounding and cancels. So the
    logits must be equal bit for bit: the bound knows nothing of the matmul before.

    Args:
        vocabulary: V, terms in each sum.

    Returns:
        Largest relative difference that rounding explains.

    Raises:
        ValueError: fewer than one term.

    Source:
        Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, section 4.2.
    """
    if vocabulary < 1:
        raise ValueError(
            f"softmax_bound: vocabulary is {vocabulary}, must be at least 1 (a sum of no terms "
            "has no softmax); pass the size of the last dim."
        )
    return 2 * (2 * EXP_ROUNDOFFS + vocabulary) * FLOAT32_ROUNDOFF


def relative_difference(actual: torch.Tensor, expected: torch.Tensor) -> float:
    """Return the largest difference of two tensors, relative to `expected`, element by element.

    Args:
        actual: what to judge.
        expected: of the same shape, without zeros.

    Returns:
        max |actual - expected| / |expected|, computed in float64.

    Raises:
        ValueError: the shapes differ.
    """
    if actual.shape != expected.shape:
        raise ValueError(
            f"relative_difference: shapes are {tuple(actual.shape)} and {tuple(expected.shape)}, "
            "must be equal (element is compared with element); reshape one of them."
        )
    exact = expected.detach().double()
    return float(((actual.detach().double() - exact).abs() / exact.abs()).max())
