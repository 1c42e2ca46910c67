"""Layer 1. Oracle: writing and reading again; torch's spelling of an action."""

import pytest
from torch.distributed.pipelining.schedules import _Action  # private, checked on 2.13

from fuseshard.distributed.scheduling.catalog import SCHEDULES, make_orders
from fuseshard.distributed.scheduling.records import Action, ScheduleError
from fuseshard.distributed.scheduling.text import format_orders, parse_orders


@pytest.mark.parametrize("name", SCHEDULES)
def test_what_is_written_is_read_again(name):
    orders, _ = make_orders(name, 3, 6)
    assert parse_orders(format_orders(orders)) == orders


@pytest.mark.parametrize("text", ["0F0", "12I3", "3W11", "7B2"])
def test_an_action_is_spelt_as_torch_does(text):
    ((action,),) = parse_orders(text)
    assert str(action) == text == str(_Action.from_str(text))


def test_a_stage_left_out_is_the_ranks_own():
    assert parse_orders("F0\nF0") == ((Action("F", 0, 0),), (Action("F", 1, 0),))


def test_comments_dots_and_blank_lines_dont_count():
    assert parse_orders("\n# head\nF0 . .. B0  # rank 0\n\n") == parse_orders("F0 B0")


@pytest.mark.parametrize("text", ["0X0", "F", "0F-1", "F0,B0", "f0", "0F0x", "F٣", "F" + "9" * 99])
def test_what_is_no_action_is_named(text):
    with pytest.raises(ScheduleError, match="rank 1 has") as caught:
        parse_orders(f"F0 B0\n{text}")
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize(("table", "rank"), [("F0 B0\n. .\nF0 B0", 1), ("...\nF0 B0", 0)])
def test_a_rank_that_only_waits_is_refused(table, rank):
    with pytest.raises(ScheduleError, match=f"rank {rank} has only dots"):
        parse_orders(table)


def test_what_is_no_text_is_refused():
    with pytest.raises(ScheduleError, match="the table is a NoneType, required is text"):
        parse_orders(None)


@pytest.mark.parametrize("table", ["", "\n\n", "# nothing", ". ."])
def test_a_table_without_actions_is_refused(table):
    with pytest.raises(ScheduleError, match="no line with an action"):
        parse_orders(table)
