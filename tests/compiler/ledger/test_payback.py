"""When compiling has paid. Oracle: adding up the calls one by one."""

import pytest

from fuseshard.compiler.ledger.payback import calls_to_pay, run_needed


@pytest.mark.parametrize(
    ("first", "eager", "compiled"),
    [(3.0, 2.0, 1.0), (10.0, 1.0, 0.5), (1.0, 0.125, 0.0625), (0.5, 1.0, 0.25), (7.0, 3.0, 2.5)],
)
def test_the_count_is_the_first_at_which_the_bill_is_no_higher(first, eager, compiled) -> None:
    count = 1
    while first + (count - 1) * compiled > count * eager:
        count += 1
    assert calls_to_pay(first, eager, compiled) == count


@pytest.mark.parametrize("compiled", [1.0, 1.5])
def test_what_saves_nothing_never_pays(compiled) -> None:
    assert calls_to_pay(5.0, 1.0, compiled) is None


@pytest.mark.parametrize("speedup", [1.02, 1.1, 1.5, 2.0, 8.0])
def test_a_run_of_the_needed_length_breaks_even(speedup) -> None:
    first_s = 4.0
    run_s = run_needed(speedup) * first_s
    assert first_s + run_s / speedup == pytest.approx(run_s)


def test_ten_percent_need_eleven_first_calls() -> None:
    assert run_needed(1.1) == pytest.approx(11)


@pytest.mark.parametrize("speedup", [1.0, 0.9])
def test_no_run_is_long_enough_without_a_speedup(speedup) -> None:
    with pytest.raises(ValueError, match="must be above 1"):
        run_needed(speedup)
