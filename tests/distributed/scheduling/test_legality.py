"""Layer 1. Oracle: complete schedules that are made wrong in one place; each fault has its name."""

import pytest

from fuseshard.distributed.scheduling.catalog import SCHEDULES, make_orders
from fuseshard.distributed.scheduling.legality import check_orders
from fuseshard.distributed.scheduling.records import Action, ScheduleError
from fuseshard.distributed.scheduling.text import parse_orders


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize(("p", "m"), [(1, 2), (2, 4), (3, 9), (4, 8)])
def test_every_named_schedule_is_complete(name, p, m):
    orders, chunks = make_orders(name, p, m)
    assert check_orders(orders) == (p * chunks, m)


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ("F0 B0\nF0", "1B0, or its halves I and W, is missing"),
        ("F0 B0\nF0 I0", "1B0, or its halves I and W, is missing"),
        ("F0 B0 F1\nF0 B0 F1 B1", "0B1, or its halves"),
        ("F0 B0\nF0 B0 F1 B1", "0F1 is missing"),
        ("F0 B0\nB0 F0", "rank 1, action 1, 1B0: required is 1F0 before it"),
        ("F0 W0 I0", "rank 0, action 2, 0W0: required is 0I0 before it"),
        ("F0 F0 B0", "action 2, 0F0: it stands here a second time"),
        ("F0 I0 W0 B0", "0B0: required is either B or I and W"),
        ("F0 B0 I0", "0I0: required is either B or I and W"),
        ("F0 B0 0F1 0B1\nF0 B0 0F1", "0F1 stands on rank 1, but stage 0 is on rank 0"),
        ("F0 B0\n2F0 2B0", r"stage indices are \[0, 2\], required are 0 to 1"),
        ("F1 B1", r"micro-batch indices are \[1\], required are 0 to 0"),
    ],
)
def test_a_fault_is_named(table, complaint):
    with pytest.raises(ScheduleError, match=complaint):
        check_orders(parse_orders(table))


@pytest.mark.parametrize("orders", [(), ((),), (parse_orders("F0 B0")[0], ())])
def test_a_rank_without_work_is_refused(orders):
    with pytest.raises(ScheduleError, match="at least one action on each"):
        check_orders(orders)


@pytest.mark.parametrize("stranger", ["F0", ("F", 0, 0), Action("X", 0, 0), Action("F", 0, 0.0)])
def test_what_is_no_action_is_refused(stranger):
    backward = Action("B", 0, 0)
    check_orders(((Action("F", 0, 0), backward),))  # the control
    with pytest.raises(ScheduleError, match=r"rank 0 has .* required is an Action"):
        check_orders(((stranger, backward),))
