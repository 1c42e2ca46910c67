"""The machinery of exercise checks: right answers pass, listed wrong ones don't (pure data)."""

import numpy as np
import pytest

from fuseshard.checks.common import (
    as_number,
    check_function,
    check_number,
    is_close,
    open_question,
    right,
    wrong,
)
from fuseshard.show.words import word

BUBBLE = word("The bubble")


def number_check(answer, **settings):
    return check_number("bubble", answer, 3 / 11, what=BUBBLE, **settings)


@pytest.mark.parametrize("answer", [3 / 11, 0.273, 0.272, np.float32(0.2727), np.array(0.2727)])
def test_a_right_number_is_right(answer):
    assert number_check(answer).state == "right"


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (0.3, "a little too large"),
        (0.25, "a little too small"),
        (27.3, "far too large. Check the units"),
        (0.0, "far too small"),
        (-0.273, "the sign is off"),
        ("0.273", "got a str, needs one number"),
        ([0.273], "got a list"),
        (True, "got a bool"),
        (float("nan"), "got a float"),
        (None, "got a NoneType"),
    ],
)
def test_a_wrong_number_gets_a_hint_and_not_the_answer(answer, hint):
    check = number_check(answer)
    assert check.state == "wrong"
    assert hint in str(check.message)
    assert "0.27" not in str(check.message)


def test_three_dots_are_no_answer_yet():
    assert number_check(...).state == "open"
    assert check_function("f", ..., [(1,)], abs).state == "open"
    assert check_function("f", lambda x: ..., [(1,)], abs).state == "open"


def test_a_known_slip_gets_its_own_hint():
    hint = word("That is relative to the ideal time; the question asks for the total.")
    assert number_check(3 / 8, slips={3 / 8: hint}).message == hint
    assert number_check(3 / 11, slips={3 / 8: hint}).state == "right"


def test_a_count_must_be_met_exactly():
    for answer, state in [(1500, "right"), (1500.0, "right"), (1501, "wrong")]:
        check = check_number("sent", answer, 1500, what=word("Bytes"), relative_tolerance=0)
        assert check.state == state


def test_the_tolerance_is_relative_and_zero_is_exact():
    assert is_close(101.0, 100.0, 0.01)
    assert not is_close(101.1, 100.0, 0.01)
    assert is_close(0.1 + 0.2, 0.3, 0)  # one rounding is forgiven
    assert is_close(0.0, 0.0)
    assert not is_close(1e-9, 0.0)


CASES = [(4, 1), (4, 3)]


def half_of_first(a, b):
    return a / b


def test_a_right_function_is_right():
    assert check_function("f", lambda a, b: a * (1 / b), CASES, half_of_first).state == "right"


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda a, b: a, "With (4, 3) the result isn't right yet."),
        (lambda a, b: a / (b - 1), "With (4, 1) it raises ZeroDivisionError: division by zero."),
        (lambda a: a, "With (4, 1) it raises TypeError"),
        (3, "needs a function, got a int"),
    ],
)
def test_a_wrong_function_is_told_with_which_input(answer, hint):
    check = check_function("f", answer, CASES, half_of_first)
    assert check.state == "wrong"
    assert hint in str(check.message)


def test_functions_may_return_sequences_or_bring_their_own_comparison():
    def pair(a, b):
        return [a / b, "x"]

    assert check_function("f", lambda a, b: (a / b, "x"), CASES, pair).state == "right"
    assert check_function("f", lambda a, b: [a / b], CASES, pair).state == "wrong"
    assert check_function("f", lambda a, b: [a / b, "y"], CASES, pair).state == "wrong"
    settings = {"is_same": lambda got, expected: len(got) == len(expected)}
    assert check_function("f", lambda a, b: [0, 0], CASES, pair, **settings).state == "right"


def test_numbers_are_read_from_whatever_holds_one():
    assert as_number(np.int64(3)) == 3.0
    assert as_number(np.array([3])) is None
    assert as_number("3") is None
    assert as_number(float("inf")) is None


def test_the_three_states_can_be_made_by_hand():
    assert open_question("q").state == "open"
    assert str(right("q").message) == "Right."
    assert wrong("q", word("Too long.")).state == "wrong"
