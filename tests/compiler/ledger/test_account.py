"""Shares of a speed-up. Oracle: all orders, one by one; pure arithmetic."""

import math
from itertools import permutations

import pytest

from fuseshard.compiler.ledger import account

SWITCHES = ("a", "b", "c")
# Powers of two, and no two steps alike: a switch is worth another factor in each order.
SECONDS = {
    "": 64.0,
    "a": 16.0,
    "b": 32.0,
    "c": 128.0,
    "ab": 2.0,
    "ac": 64.0,
    "bc": 16.0,
    "abc": 4.0,
}
TIMES = {frozenset(name): seconds for name, seconds in SECONDS.items()}


def product(shares) -> float:
    return math.prod(share.factor for share in shares)


def factor_of(shares, switch: str) -> float:
    return next(share.factor for share in shares if share.switch == switch)


@pytest.mark.parametrize("order", list(permutations(SWITCHES)))
def test_the_steps_of_every_order_multiply_to_the_whole(order) -> None:
    assert product(account.cumulative(TIMES, order)) == account.whole(TIMES, SWITCHES) == 1 / 16


def test_the_steps_depend_on_the_order() -> None:
    first = factor_of(account.cumulative(TIMES, ("a", "b", "c")), "b")
    second = factor_of(account.cumulative(TIMES, ("b", "a", "c")), "b")
    assert (first, second) == (1 / 8, 1 / 2)


def test_the_mean_over_all_orders_is_what_enumerating_them_gives() -> None:
    orders = list(permutations(SWITCHES))
    for share in account.shapley(TIMES, SWITCHES):
        steps = [factor_of(account.cumulative(TIMES, order), share.switch) for order in orders]
        assert math.isclose(share.factor, math.prod(steps) ** (1 / len(orders)))


def test_the_mean_shares_multiply_to_the_whole() -> None:
    assert math.isclose(product(account.shapley(TIMES, SWITCHES)), 1 / 16)


def test_switching_off_alone_leaves_a_rest_where_switches_interact() -> None:
    alone = account.one_at_a_time(TIMES, SWITCHES)
    assert [share.factor for share in alone] == [4 / 16, 4 / 64, 4 / 2]
    assert account.interaction(TIMES, SWITCHES) == (1 / 16) / product(alone) != 1


def test_switches_that_do_not_interact_leave_no_rest() -> None:
    """Must-fail twin of the one before: the same rule, on times that are products."""
    worth = {"a": 0.5, "b": 0.25, "c": 2.0}
    times = {on: math.prod(worth[s] for s in on) for on in account.sets_of(SWITCHES)}
    assert account.interaction(times, SWITCHES) == 1
    for rule in (account.one_at_a_time, account.shapley, account.cumulative):
        assert {s.switch: pytest.approx(s.factor) for s in rule(times, SWITCHES)} == worth


def test_a_combination_without_a_time_is_named() -> None:
    times = {on: 1.0 for on in account.sets_of(SWITCHES) if on != {"a", "c"}}
    with pytest.raises(ValueError, match=r"no time for \['a \+ c'\]"):
        account.shapley(times, SWITCHES)


def test_a_combination_has_one_name_whatever_the_order() -> None:
    assert account.name_of(("b", "a")) == account.name_of(["a", "b"]) == "a + b"
    assert account.name_of(()) == "none"
