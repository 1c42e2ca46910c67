"""What the checks of all exercises share: open, right, or wrong with a hint.

A chapter's cell holds `answer = ...` and then a check; the page is built with the dots in place,
so every check takes them as "no answer yet". A wrong answer's message says what is off (too
large, another unit, another length) and never what would be right.

    def check_bubble(answer: object) -> Check:
        return check_number("bubble", answer, 3 / 11, what=word("the bubble"))
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from fuseshard.show.records import Check
from fuseshard.show.words import Word, word

Value = TypeVar("Value")

RELATIVE_TOLERANCE = 0.01
"""an answer worked out on paper has two or three digits"""
_NEAR_FACTOR = 2.0
"""within this factor a wrong number is close: the reader is told so"""


def is_open(answer: object) -> bool:
    """Tell whether an exercise still has `...` in place of an answer."""
    return answer is ...


def open_question(name: str) -> Check:
    """Say that there is no answer yet.

    Args:
        name: label of the exercise, lower-case words joined by hyphens.
    """
    message = word("No answer yet: replace the three dots by yours and run the cell again.")
    return Check(name, "open", message)


def right(name: str, message: Word | None = None) -> Check:
    """Say that the answer is right.

    Args:
        name: label of the exercise.
        message: why it is, or what follows from it; a plain "Right." if there is nothing to add.
    """
    return Check(name, "right", message or word("Right."))


def wrong(name: str, hint: Word) -> Check:
    """Say what is off.

    Args:
        name: label of the exercise.
        hint: what doesn't fit, without the answer.
    """
    return Check(name, "wrong", hint)


def check_number(
    name: str,
    answer: object,
    expected: float,
    *,
    what: Word,
    relative_tolerance: float = RELATIVE_TOLERANCE,
    slips: Mapping[float, Word] | None = None,
) -> Check:
    """Compare a number with what it should be.

    Args:
        name: label of the exercise.
        answer: what the reader wrote; `...` means nothing yet.
        expected: the right value; never shown.
        what: the quantity, with its unit, as the start of a sentence.
        relative_tolerance: of `expected`; 0 for a count.
        slips: value that a known slip leads to -> the hint for it.
    """
    if is_open(answer):
        return open_question(name)
    value = as_number(answer)
    if value is None:
        kind = type(answer).__name__
        return wrong(name, word("{what}: got a {kind}, needs one number.", what=what, kind=kind))
    if is_close(value, expected, relative_tolerance):
        return right(name)
    for slip, hint in (slips or {}).items():
        if is_close(value, slip, relative_tolerance):
            return wrong(name, hint)
    return wrong(name, _direction(value, expected, what))


def check_function(
    name: str,
    answer: object,
    cases: Sequence[tuple[Any, ...]],
    expected: Callable[..., Value],
    *,
    is_same: Callable[[Any, Value], bool] | None = None,
) -> Check:
    """Compare a function with the right one on several inputs; errors in it become hints.

    Args:
        name: label of the exercise.
        answer: the reader's function; `...` itself, or a function that returns it, is open.
        cases: arguments of each call, simplest first.
        expected: the right function.
        is_same: compares the results; by default numbers within the tolerance, else `==`.
    """
    if is_open(answer):
        return open_question(name)
    if not callable(answer):
        return wrong(name, word("This needs a function, got a {kind}.", kind=_kind(answer)))
    same = is_same or _is_same
    for arguments in cases:
        call = f"({', '.join(repr(argument) for argument in arguments)})"
        try:
            got = answer(*arguments)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
            return wrong(name, word("With {call} it raises {problem}.", call=call, problem=problem))
        if is_open(got):
            return open_question(name)
        if not same(got, expected(*arguments)):
            return wrong(name, word("With {call} the result isn't right yet.", call=call))
    return right(name)


def as_number(answer: object) -> float | None:
    """Read a finite number from an answer (Python, NumPy, zero-dimensional tensor), else None."""
    scalar = answer.item() if hasattr(answer, "item") and not _dimensions(answer) else answer
    if isinstance(scalar, bool) or not isinstance(scalar, (int, float)):
        return None
    return float(scalar) if math.isfinite(scalar) else None


def is_close(value: float, expected: float, relative_tolerance: float = RELATIVE_TOLERANCE) -> bool:
    """Tell whether two numbers agree within a tolerance relative to the expected one.

    Args:
        value: what was given.
        expected: what it should be; 0 must be met exactly.
        relative_tolerance: allowed |value - expected| / |expected|.
    """
    # The last term forgives the rounding of one floating-point operation, for tolerance 0.
    return abs(value - expected) <= (relative_tolerance + 1e-12) * abs(expected)


def _direction(value: float, expected: float, what: Word) -> Word:
    """Say on which side of the right value an answer lies, and whether it is near."""
    if value * expected < 0:
        return word("{what}: the sign is off.", what=what)
    near = abs(expected) / _NEAR_FACTOR <= abs(value) <= abs(expected) * _NEAR_FACTOR
    if abs(value) > abs(expected):
        return (
            word("{what}: a little too large.", what=what)
            if near
            else word("{what}: far too large. Check the units, too.", what=what)
        )
    return (
        word("{what}: a little too small.", what=what)
        if near
        else word("{what}: far too small. Check the units, too.", what=what)
    )


def _is_same(got: object, expected: object) -> bool:
    numbers = as_number(got), as_number(expected)
    if numbers[0] is not None and numbers[1] is not None:
        return is_close(numbers[0], numbers[1])
    if isinstance(got, (list, tuple)) and isinstance(expected, (list, tuple)):
        pairs = zip(got, expected, strict=False)
        return len(got) == len(expected) and all(_is_same(a, b) for a, b in pairs)
    return bool(got == expected)


def _dimensions(answer: object) -> int:
    return int(getattr(answer, "ndim", 0))


def _kind(answer: object) -> str:
    return type(answer).__name__
