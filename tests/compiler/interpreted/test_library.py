"""Elementary functions. Oracle: torch in float64, rounded once, and exact fractions."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
import torch

from fuseshard.compiler.gpu_code.worker.parent import Worker
from fuseshard.compiler.interpreted.assembly import fused_multiply_add
from fuseshard.compiler.interpreted.libdevice import function_of
from tests.compiler.interpreted.oracle import seeded

SIZE = 2048
ANY = 4 * seeded(SIZE)
POSITIVE = ANY.abs() + 2.0**-20
UNIT = torch.tanh(seeded(SIZE))
FUNCTIONS: dict[str, tuple[Callable[..., torch.Tensor], tuple[torch.Tensor, ...]]] = {
    **{name: (getattr(torch, name), (ANY,)) for name in ("exp", "exp2", "expm1", "sin", "cos")},
    **{name: (getattr(torch, name), (ANY,)) for name in ("tan", "sinh", "cosh", "tanh", "asinh")},
    **{name: (getattr(torch, name), (ANY,)) for name in ("atan", "erf", "erfc", "floor", "ceil")},
    **{name: (getattr(torch, name), (POSITIVE,)) for name in ("log", "log2", "log10", "log1p")},
    **{name: (getattr(torch, name), (POSITIVE,)) for name in ("sqrt", "rsqrt", "lgamma")},
    **{name: (getattr(torch, name), (UNIT,)) for name in ("asin", "acos", "atanh", "erfinv")},
    "trunc": (torch.trunc, (ANY,)),
    "rint": (torch.round, (ANY,)),
    "fast_tanhf": (torch.tanh, (ANY,)),
    "acosh": (torch.acosh, (1 + POSITIVE,)),
    "normcdf": (torch.special.ndtr, (ANY,)),
    "cyl_bessel_i0": (torch.special.i0, (ANY,)),
    "pow": (torch.pow, (POSITIVE, UNIT)),
    "atan2": (torch.atan2, (ANY, UNIT)),
    "hypot": (torch.hypot, (ANY, UNIT)),
    "fmod": (torch.fmod, (ANY, UNIT)),
    "copysign": (torch.copysign, (ANY, UNIT)),
    "div_rn": (torch.div, (ANY, UNIT)),
    "mul_rn": (torch.mul, (ANY, UNIT)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_answer_is_the_float32_nearest_to_the_truth(child: Worker, name: str) -> None:
    function, operands = FUNCTIONS[name]
    actual = child.ask("library_call", name, *operands)
    assert torch.equal(actual, function(*(x.double() for x in operands)).float())


def test_float32_functions_are_not_always_that_near() -> None:
    """Must-fail twin: one rounding in the end is what makes them equal."""
    assert not torch.equal(ANY.tan(), ANY.double().tan().float())


def test_neighbours_are_those_of_float32(child: Worker) -> None:
    actual = child.ask("library_call", "nextafter", ANY, ANY + 1)
    assert torch.equal(actual, torch.nextafter(ANY, ANY + 1))
    assert not torch.equal(actual, torch.nextafter(ANY.double(), ANY.double() + 1).float())


@pytest.mark.parametrize("symbol", ["__nv_rhypot", "__nv_logbf", "__nv_hadd", "__nv_rcbrtf"])
def test_a_symbol_that_only_resembles_one_has_no_answer(symbol: str) -> None:
    assert function_of("__nv_hypotf") == ("hypot", np.hypot)
    assert function_of(symbol) is None


def nearest_float32(exact: Fraction) -> np.float32:
    """Compare a fraction with the float32 numbers around it, the even one of two equally near."""
    guess = np.float32(float(exact))
    around = [np.nextafter(guess, np.float32(side)) for side in (-math.inf, math.inf)]
    order = [(abs(Fraction(float(x)) - exact), int(x.view(np.int32)) & 1, x) for x in around]
    order.append((abs(Fraction(float(guess)) - exact), int(guess.view(np.int32)) & 1, guess))
    return min(order)[2]


def test_a_fused_multiply_add_rounds_once() -> None:
    # 1 + 2^-23 + 2^-24 - 2^-54: float64 can't hold the end, and what is left is a tie of float32.
    tie = [(2**-12 * (1 + 2**-15), 2**-12 * (1 - 2**-15), 1 + 2**-23)]
    others = seeded(300, 3).double().tolist()
    a, b, c = np.array([*tie, *others], dtype=np.float32).T
    exact = [
        Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        for x, y, z in zip(a, b, c, strict=True)
    ]
    expected = np.array([nearest_float32(x) for x in exact])
    assert np.array_equal(fused_multiply_add(a, b, c), expected)
    twice = (a.astype(np.float64) * b + c).astype(np.float32)
    assert twice[0] != expected[0]
