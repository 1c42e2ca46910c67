"""libdevice, NVIDIA's library of elementary functions, answered by NumPy and torch.

Under Triton's interpreter the functions of `triton.language.extra.libdevice` have empty bodies and
return None. Here they are NVIDIA's declarations, which choose a symbol such as `__nv_expf` by the
types of the arguments, and the symbol is answered.

Answers are computed in float64 and rounded once. So they are the float32 nearest to the truth in
all but a few of a hundred million cases, and nearer than libdevice's own (1 to 2 units in the last
place). Nor do they depend on where in a tile a number stands: vectorised float32 functions may
compute the last few numbers of an array by other code than the rest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import torch
import triton.language as tl
from triton.language.extra import libdevice as common
from triton.language.extra.cuda import libdevice as nvidia
from triton.language.extra.hip import libdevice as amd

# Triton's own, checked on 3.6 and 3.9: the CPU's answers to what a kernel asks a GPU for.
from triton.runtime.interpreter import (
    InterpreterBuilder,
    TensorHandle,
    _get_np_dtype,
    interpreter_semantic,
)

from fuseshard.compiler.described.replace import attributes
from fuseshard.compiler.interpreted.assembly import fused_multiply_add
from fuseshard.compiler.interpreted.records import NoAnswerError


def _torch(fn: Callable[..., torch.Tensor]) -> Callable[..., np.ndarray]:
    """Make a function of arrays from one of tensors, for what NumPy hasn't got."""

    def call(*arrays: np.ndarray) -> np.ndarray:
        return fn(*(torch.from_numpy(np.array(array)) for array in arrays)).numpy()

    return call


def _half_away(x: np.ndarray) -> np.ndarray:
    """Round to whole numbers, halves away from zero (NumPy's go to the even one)."""
    return np.copysign(np.trunc(np.abs(x) + 0.5), x)


ARITHMETIC: dict[str, Callable[..., np.ndarray]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "sqrt": np.sqrt,
    "rcp": lambda x: 1 / x,
    "rsqrt": lambda x: 1 / np.sqrt(x),
}
"""operations that C names by type and rounding: fadd_rn is float32's sum to nearest, ddiv_rn
float64's quotient"""
NUMPY_NAMES = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "hypot"),
    *("sin", "cos", "tan", "sinh", "cosh", "tanh", "floor", "ceil", "trunc", "rint"),
    *("fabs", "fmod", "copysign", "ldexp", "isnan", "isinf", "signbit"),
)
"""functions that have the same name in C"""
FLOAT_FUNCTIONS: dict[str, Callable[..., np.ndarray]] = {
    **{name: getattr(np, name) for name in NUMPY_NAMES},
    **{name: _torch(getattr(torch.special, name)) for name in ("erf", "erfc", "erfcx", "erfinv")},
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "exp10": lambda x: np.power(10.0, x),
    "pow": np.power,
    "powi": np.power,
    "fdivide": np.divide,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "nearbyint": np.rint,
    "llrint": np.rint,
    "round": _half_away,
    "llround": _half_away,
    "ilogb": lambda x: np.frexp(x)[1] - 1,
    "finite": np.isfinite,
    "isnand": np.isnan,
    "isinfd": np.isinf,
    "isfinited": np.isfinite,
    "signbitd": np.signbit,
    "lgamma": _torch(torch.lgamma),
    "normcdf": _torch(torch.special.ndtr),
    "normcdfinv": _torch(torch.special.ndtri),
    "cyl_bessel_i0": _torch(torch.special.i0),
    "cyl_bessel_i1": _torch(torch.special.i1),
    "j0": _torch(torch.special.bessel_j0),
    "j1": _torch(torch.special.bessel_j1),
    "y0": _torch(torch.special.bessel_y0),
    "y1": _torch(torch.special.bessel_y1),
    **{f"{width}{name}_rn": f for width in "fd" for name, f in ARITHMETIC.items()},
}
"""functions by C's name for float64, in which they are computed; for one operation on float32,
rounding to float64 in between changes nothing, for that has more than twice the bits"""
OWN_WIDTH: dict[str, Callable[..., np.ndarray]] = {
    "abs": np.abs,
    "llabs": np.abs,
    "nextafter": np.nextafter,
    "fma": lambda a, b, c: fused_multiply_add(a, b, c) if a.itemsize == 4 else a * b + c,
    "fmaf_rn": fused_multiply_add,
    "fma_rn": lambda a, b, c: a * b + c,
}
"""functions whose answer hangs on the width of their arguments: of integers, of neighbours, of two
operations with one rounding (float64 gets two)"""
_SYMBOL = re.compile(r"__(?:nv|triton_hip)_(?:fast_)?(\w+)")


@contextmanager
def library_functions() -> Iterator[None]:
    """Give libdevice's functions bodies while the block runs."""
    answered = {
        name: partial(function, _semantic=interpreter_semantic)
        for name, function in {**_declared(amd), **_declared(nvidia)}.items()
    }
    with (
        attributes(InterpreterBuilder, create_extern_elementwise=_answer),
        attributes(common, **answered),
        attributes(nvidia, **answered),  # some kernels import NVIDIA's module itself
    ):
        yield


def _declared(module: ModuleType) -> dict[str, Any]:
    return {name: f for name, f in vars(module).items() if tl.core.is_builtin(f)}


def function_of(symbol: str) -> tuple[str, Callable[..., np.ndarray]] | None:
    """Find the answer to a symbol.

    Args:
        symbol: such as "__nv_exp", or "__nv_expf" for its float32 version.

    Returns:
        The function's name in FLOAT_FUNCTIONS or OWN_WIDTH, and the function; None where there is
        no answer.
    """
    found = _SYMBOL.fullmatch(symbol)
    name = found[1] if found else ""
    for candidate in (name, name.removesuffix("f")):
        for table in (OWN_WIDTH, FLOAT_FUNCTIONS):
            if candidate in table:
                return candidate, table[candidate]
    return None


def _answer(
    self: Any, lib_name: str, lib_path: str, symbol: str, operands: list[Any], *rest: Any
) -> Any:
    """Compute a library function of whole tiles."""
    result_type = rest[0]
    answer = function_of(symbol)
    if answer is None:
        raise NoAnswerError(
            f"run_graphs: a kernel calls {symbol}, must be a function that has an answer here (a "
            "CPU doesn't have that library); add it to fuseshard.compiler.interpreted.libdevice."
        )
    name, function = answer
    wide = [x.data if name in OWN_WIDTH else _widened(x.data) for x in operands]
    result = np.asarray(function(*wide)).astype(_get_np_dtype(result_type.scalar))
    return TensorHandle(result, result_type.scalar)


def _widened(numbers: np.ndarray) -> np.ndarray:
    return numbers.astype(np.float64) if numbers.dtype.kind == "f" else numbers
