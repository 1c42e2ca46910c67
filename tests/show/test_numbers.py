"""Number formatting, against a table of cases worked out by hand (pure data)."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuseshard.show.numbers import duration, factor, magnitude, number, size, size_unit, time_unit


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.0, "1.00"),
        (1.5, "1.50"),
        (0.00123, "0.00123"),
        (99.96, "100"),
        (999.6, "1\u202f000"),
        (0.9996, "1.00"),
        (12345.6, "12\u202f300"),
        (-3.14159, "-3.14"),
        (2.675, "2.68"),
        (1e-7, "1.00×10⁻⁷"),
        (9999999.0, "1.00×10⁷"),
        (1e9, "1.00×10⁹"),
        (7, "7"),
        (0, "0"),
        (1234567, "1\u202f234\u202f567"),
        (-1000, "-1\u202f000"),
    ],
)
def test_numbers(value, text):
    assert number(value) == text


def test_more_digits_on_request():
    assert number(2 / 3, 6) == "0.666667"
    assert number(1234.5, 1) == "1\u202f000"


@given(st.floats(min_value=1e-4, max_value=9e6))
def test_a_printed_number_is_within_half_a_digit(value):
    printed = float(number(value).replace("\u202f", "").replace("×10⁷", "e7"))
    assert math.isclose(printed, value, rel_tol=0.005001)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5.6e-17, "5.6×10⁻¹⁷"),
        (0.00099, "9.9×10⁻⁴"),
        (0.021, "0.021"),
        (0.0, "0"),
        (-0.5, "-0.50"),
        (999, "1\u202f000"),
        (1000, "1.0×10³"),
        (-1.14e6, "-1.1×10⁶"),
    ],
)
def test_magnitudes(value, text):
    assert magnitude(value) == text


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_not_finite_is_refused(value):
    with pytest.raises(ValueError, match="must be finite"):
        number(value)


def test_no_digits_are_refused():
    with pytest.raises(ValueError, match="significant is 0"):
        number(1.0, 0)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 s"),
        (0.00123, "1.23 ms"),
        (0.0009996, "1.00 ms"),
        (1.5, "1.50 s"),
        (90.0, "90.0 s"),
        (2e-9, "2.00 ns"),
        (3e-10, "0.300 ns"),
        (4.56e-5, "45.6 µs"),
    ],
)
def test_durations(seconds, text):
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("num_bytes", "text"),
    [
        (0, "0 B"),
        (100, "100 B"),
        (1023, "1\u202f023 B"),
        (1536, "1.50 KiB"),
        (1048575, "1.00 MiB"),
        (2**20, "1.00 MiB"),
        (5 * 2**30, "5.00 GiB"),
        (2.5, "2.50 B"),
    ],
)
def test_sizes(num_bytes, text):
    assert size(num_bytes) == text


def test_a_column_takes_the_unit_of_its_smallest_value():
    assert time_unit([0.5, 2e-3, 0.0]) == ("ms", 1e-3)
    assert size_unit([2**21, 2**11]) == ("KiB", 1024.0)
    assert time_unit([]) == ("s", 1.0)
    assert size_unit([]) == ("B", 1.0)


def test_factors_carry_their_sign():
    assert factor(2) == "2.00×"
