"""Layer 1. Oracles: the simulator, and formulas worked out by hand. Each right answer has wrong
ones that must fail."""

import re
from pathlib import Path

import pytest

from fuseshard.checks.distributed.pipeline import (
    check_bubble,
    check_memory,
    check_order,
    check_own,
    order_of,
)
from fuseshard.distributed.schedules import format_orders, make_orders, simulate

BOOK = Path(__file__).parents[3] / "book"
OWN = """
F0 F1 I0 W0 F2 I1 W1 I2 W2
F0 I0 F1 I1 W0 F2 I2 W1 W2
"""


@pytest.mark.parametrize("check", [check_bubble, check_memory, check_order, check_own])
def test_three_dots_are_no_answer_yet(check):
    assert check(...).state == "open"


def test_a_function_that_returns_dots_is_no_answer_yet():
    assert check_order(lambda *_: ...).state == "open"


def test_the_right_number_of_micro_batches_is_the_least():
    assert check_bubble(63).state == "right"
    assert (
        simulate("1f1b", 8, 63).bubble_over_total <= 0.1 < simulate("1f1b", 8, 62).bubble_over_total
    )


@pytest.mark.parametrize("answer", [62, 64, 70, 71, 72, 80, 7, 0.1, -63, "63", None, True])
def test_other_numbers_of_micro_batches_are_wrong(answer):
    assert check_bubble(answer).state == "wrong"


def test_the_other_base_gets_its_own_hint():
    assert "ideal time" in str(check_bubble(70).message)


def test_the_memory_that_1f1b_saves_is_the_simulators():
    held = [simulate(name, 16, 64).peak_activations[4] for name in ("gpipe", "1f1b")]
    assert check_memory((held[0] - held[1]) * 0.5).state == "right"


@pytest.mark.parametrize("answer", [32, 6, 24, 25.5, 26.5, 52, 0, "26 GB"])
def test_other_amounts_of_memory_are_wrong(answer):
    assert check_memory(answer).state == "wrong"


def test_the_order_of_the_package_is_right():
    assert check_order(order_of).state == "right"


def too_eager(rank, num_ranks, num_micro_batches):
    """Runs as many ahead as GPipe."""
    forwards = [f"F{i}" for i in range(num_micro_batches)]
    return forwards + [f"B{i}" for i in range(num_micro_batches)]


def one_ahead_more(rank, num_ranks, num_micro_batches):
    return order_of(rank - 1, num_ranks, num_micro_batches)


def backward_first(rank, num_ranks, num_micro_batches):
    """Alternates the other way round."""
    ahead = min(num_ranks - rank, num_micro_batches)
    order = [f"F{i}" for i in range(ahead)]
    for i in range(num_micro_batches):
        order.append(f"B{i}")
        order.append(f"F{ahead + i}")
    return order


def raises(rank, num_ranks, num_micro_batches):
    return [f"F{i}" for i in range(num_micro_batches)][num_ranks:][0]


@pytest.mark.parametrize("answer", [too_eager, one_ahead_more, backward_first, raises, 3, None])
def test_other_orders_are_wrong(answer):
    assert check_order(answer).state == "wrong"


def test_a_schedule_that_beats_1f1b_is_right():
    assert check_own(OWN).state == "right"
    assert check_own(format_orders(make_orders("zb_h1", 2, 3)[0])).state == "right"


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (format_orders(make_orders("1f1b", 2, 3)[0]), "takes 12.0 units"),
        (format_orders(make_orders("zb_h1", 2, 4)[0]), "4 micro-batches: not the task"),
        (format_orders(make_orders("zb_h1", 3, 3)[0]), "It has 3 ranks"),
        (format_orders(make_orders("zbv", 2, 3)[0]), "4 stages"),
        ("F0 F1 F2 I0 W0 I1 W1 I2 W2\nF0 I0 F1 I1 F2 I2 W0 W1 W2", "a rank holds 3"),
        (OWN.replace("W2", "", 1), "is missing"),
        (OWN.replace("F0 I0 F1 I1 W0", "F0 F1 F2 I1 I0 W0"), "The simulator says"),
        ("F0 B0 F1 B1 F2 B2\nF0 F1 F2 B0 B1 B2", "deadlocks"),
        ("zb_h1", "has 'zb_h1'"),
        (12, "needs a table as text"),
    ],
)
def test_other_schedules_are_wrong(answer, hint):
    check = check_own(answer)
    assert check.state == "wrong"
    assert hint in str(check.message)


@pytest.mark.parametrize("page", ["distributed/pipeline.md", "es/distributed/pipeline.md"])
def test_the_solutions_of_the_page_pass(page):
    text = (BOOK / page).read_text(encoding="utf-8")
    codes = re.findall(r"````\{solution\}.*?```python\n(.*?)```", text, re.DOTALL)
    scope: dict = {}
    for code in codes:
        exec(code, scope)
    assert check_order(scope["order_of"]).state == "right"
    assert check_own(scope["answer"]).state == "right"
