"""Numbers as text: significant digits, and a unit that suits them.

The package computes in seconds and bytes; only here do they become µs or KiB.
Digits are grouped by narrow spaces and the decimal sign is a point in every edition, so that a
number reads the same in a figure, a table and a cell.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal

SIGNIFICANT = 3
"""digits that a timing on a shared machine can carry"""
NARROW_SPACE = "\u202f"
TIMES_SIGN = "\u00d7"

_SMALLEST_PLAIN, _SMALLEST_POWER = Decimal("0.0001"), Decimal(10**7)
_ORDINARY = (1e-3, 1e3)
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

_TIMES = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))
_SIZES = (("GiB", 2.0**30), ("MiB", 2.0**20), ("KiB", 2.0**10), ("B", 1.0))


def number(value: float, significant: int = SIGNIFICANT) -> str:
    """Return a number with so many significant digits; integers keep all of theirs.

    Args:
        value: int, printed exactly, or float, rounded; a power of ten is written out
            below 0.0001 and from 10 000 000 on.
        significant: digits kept of a float, at least 1.

    Raises:
        ValueError: `value` is NaN or infinite, or `significant` is below 1.
    """
    if not math.isfinite(value):
        raise ValueError(
            f"number: got {value}, must be finite (a page can't print it as a measurement); "
            "leave the value out or say why it is missing"
        )
    if significant < 1:
        raise ValueError(f"number: significant is {significant}, must be 1 or more; use 3")
    if isinstance(value, int):
        return f"{value:,}".replace(",", NARROW_SPACE)
    rounded = _rounded(value, significant)
    if rounded and not _SMALLEST_PLAIN <= abs(rounded) < _SMALLEST_POWER:
        return _power(rounded, significant)
    return f"{rounded:,f}".replace(",", NARROW_SPACE)


def magnitude(value: float, significant: int = 2) -> str:
    """Return a number whose size is the point: a power of ten below 0.001 and from 1000 on.

    Args:
        value: finite, of either sign.
        significant: digits kept, at least 1.

    Raises:
        ValueError: `value` is NaN or infinite, or `significant` is below 1.
    """
    if value and not _ORDINARY[0] <= abs(value) < _ORDINARY[1]:
        return _power(_rounded(value, significant), significant)
    return number(float(value), significant)


def _power(rounded: Decimal, significant: int) -> str:
    """Write a rounded number as a mantissa times a power of ten."""
    exponent = rounded.adjusted()
    mantissa = f"{rounded.scaleb(-exponent):.{significant - 1}f}"
    return f"{mantissa}{TIMES_SIGN}10{str(exponent).translate(_SUPERSCRIPT)}"


def _rounded(value: float, significant: int) -> Decimal:
    """Round to significant digits; 999.6 becomes 1000, which has no digit after the point."""
    if value == 0:
        return Decimal(0)
    exact = Decimal(repr(float(value)))
    once = round(exact, significant - 1 - exact.adjusted())
    return round(exact, significant - 1 - once.adjusted()) + Decimal(0)


def time_unit(seconds: Iterable[float]) -> tuple[str, float]:
    """Choose the unit in which times read well together.

    Args:
        seconds: times that will stand in one column or on one axis.

    Returns:
        The unit's symbol and its length in seconds, e.g. ("ms", 0.001), such that the smallest
        time other than 0 is at least 1 of it where there is such a unit.
    """
    return _unit(seconds, _TIMES) or _TIMES[0]


def size_unit(num_bytes: Iterable[float]) -> tuple[str, float]:
    """Choose the unit in which sizes read well together, e.g. ("KiB", 1024.0)."""
    return _unit(num_bytes, _SIZES) or _SIZES[-1]


def _unit(
    values: Iterable[float], units: tuple[tuple[str, float], ...]
) -> tuple[str, float] | None:
    smallest = min((abs(value) for value in values if value), default=None)
    if smallest is None:
        return None
    # A value that prints as 1000 of a unit already belongs to the next one.
    rounded = float(_rounded(smallest, SIGNIFICANT))
    return next((unit for unit in units if unit[1] <= rounded), units[-1])


def unit_value(symbol: str) -> tuple[str, float] | None:
    """Return what a unit of time or size is worth, e.g. ("time", 0.001) for "ms".

    Args:
        symbol: as `time_unit` and `size_unit` return it.

    Returns:
        The kind of unit, and its length in seconds or bytes; None for any other symbol.
    """
    for kind, units in (("time", _TIMES), ("size", _SIZES)):
        if symbol in dict(units):
            return kind, dict(units)[symbol]
    return None


def duration(seconds: float, significant: int = SIGNIFICANT) -> str:
    """Return a time with its unit: 0.00123 is "1.23 ms"."""
    symbol, length_s = time_unit([seconds])
    return f"{number(seconds / length_s, significant)} {symbol}"


def size(num_bytes: float, significant: int = SIGNIFICANT) -> str:
    """Return a size with its unit: 1536 is "1.50 KiB", and 100 is "100 B"."""
    symbol, unit_bytes = size_unit([num_bytes])
    value = num_bytes / unit_bytes
    is_count = symbol == "B" and value == int(value)
    return f"{number(int(value) if is_count else value, significant)} {symbol}"


def factor(ratio: float, significant: int = SIGNIFICANT) -> str:
    """Return a ratio with its sign: 2.0 is "2.00" and a multiplication sign."""
    return number(float(ratio), significant) + TIMES_SIGN
