"""Layer 1. Oracles: the book's layouts and formulas. Each right answer has wrong ones that fail."""

import re
from itertools import permutations
from pathlib import Path

import pytest

from fuseshard.checks.distributed import composing
from fuseshard.checks.distributed.composing import (
    check_bytes,
    check_order,
    check_peers,
    check_share,
    peers,
    share,
)
from fuseshard.distributed.layouts.records import Layout

NAMES = [composing.PEERS, composing.SHARE, composing.BYTES, composing.ORDER]
RIGHT_ORDER = ["parallelize", "compile", "checkpoint", "fully_shard"]
LAYOUTS = [Layout(pp=2, dp=3, fsdp=2, tp=2), Layout(pp=3, tp=2), Layout(fsdp=5)]


@pytest.mark.parametrize("check", [check_peers, check_share, check_bytes, check_order])
def test_three_dots_are_no_answer_yet(check):
    assert check(...).state == "open"


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_the_right_functions_agree_with_the_layouts(layout):
    degrees = tuple(layout.degrees.values())
    for rank in range(layout.world_size):
        assert share(rank, layout.pp, layout.dp, layout.fsdp, layout.tp) == layout.share(rank)
        for index, axis in enumerate(layout.degrees):
            assert tuple(peers(rank, degrees, index)) == layout.group(rank, axis)


def test_the_right_functions_are_right():
    assert check_peers(peers).state == "right"
    assert check_share(share).state == "right"


@pytest.mark.parametrize(
    "answer",
    [
        lambda rank, degrees, axis: list(range(degrees[axis])),
        lambda rank, degrees, axis: [rank],
        lambda rank, degrees, axis: peers(rank, degrees, len(degrees) - 1),
        lambda rank, degrees, axis: peers(rank, degrees[::-1], axis),
        lambda rank, degrees, axis: [one for one in peers(rank, degrees, axis) if one != rank],
        lambda rank, degrees, axis: [rank + step for step in range(degrees[axis])],
    ],
)
def test_wrong_groups_are_rejected(answer):
    assert check_peers(answer).state == "wrong"


@pytest.mark.parametrize(
    "answer",
    [
        lambda rank, pp, dp, fsdp, tp: rank,
        lambda rank, pp, dp, fsdp, tp: rank % (dp * fsdp),
        lambda rank, pp, dp, fsdp, tp: rank // tp,
        lambda rank, pp, dp, fsdp, tp: rank // (tp * pp) % (dp * fsdp),
        lambda rank, pp, dp, fsdp, tp: rank // tp % fsdp,
        lambda rank, pp, dp, fsdp, tp: rank // (tp * fsdp) % dp,
    ],
)
def test_wrong_parts_of_the_batch_are_rejected(answer):
    assert check_share(answer).state == "wrong"


@pytest.mark.parametrize("answer", [104736, 104736.0])
def test_the_bytes_of_eight_blocks_are_right(answer):
    # 34 all-reduces of 48 tokens of 32 float32, three of 48 float32, one of two stages
    assert answer == (34 * 48 * 32 * 4 + 3 * 48 * 4) / 2
    assert check_bytes(answer).state == "right"


@pytest.mark.parametrize("answer", [55584, 2 * 55584, 209472, 98304, 104736.5, "104736"])
def test_other_bytes_are_rejected(answer):
    assert check_bytes(answer).state == "wrong"


def test_only_one_order_is_right():
    found = {order: check_order(list(order)).state for order in permutations(RIGHT_ORDER)}
    assert [order for order, state in found.items() if state == "right"] == [tuple(RIGHT_ORDER)]
    assert set(found.values()) == {"right", "wrong"}


@pytest.mark.parametrize(
    "answer", [RIGHT_ORDER[:3], [*RIGHT_ORDER, "compile"], "compile", 3, [1, 2, 3, 4], None]
)
def test_what_is_no_order_of_the_four_is_rejected(answer):
    assert check_order(answer).state == "wrong"


def test_the_page_has_these_exercises():
    page = Path(__file__).parents[3] / "book" / "distributed" / "composing.md"
    assert re.findall(r"^:name: (composing-.+)$", page.read_text(), re.MULTILINE) == NAMES
