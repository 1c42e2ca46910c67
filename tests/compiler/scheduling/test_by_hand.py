"""The scheduler by hand. Oracle: Inductor's own groups, for each program and for a whole model.

Twins: with a rule left out, groups differ where that rule matters.
"""

from dataclasses import replace

import pytest
import torch

from fuseshard.compiler.scheduling import by_hand, programs
from fuseshard.compiler.scheduling.decisions import decisions
from fuseshard.compiler.scheduling.records import Access, Exhibit, Node
from fuseshard.models.minigpt import MiniGPT

NAMES = [program.__name__ for program in programs.PROGRAMS]


@pytest.fixture(scope="module")
def gallery() -> dict[str, Exhibit]:
    return programs.gallery()


@pytest.mark.parametrize("name", NAMES)
def test_the_groups_are_inductors(gallery: dict[str, Exhibit], name: str) -> None:
    schedule = gallery[name].schedule
    assert programs.groups_by_hand(schedule) == programs.groups_of(schedule)


@pytest.mark.parametrize(
    ("rule", "programs_hurt"),
    [
        ({"cycles": True}, {"columns", "detour", "cycle"}),
        ({"ranges": False}, {"flattened", "costly"}),
    ],
)
def test_without_a_rule_the_groups_differ(
    gallery: dict[str, Exhibit], rule: dict[str, bool], programs_hurt: set[str]
) -> None:
    hurt = {
        name
        for name, exhibit in gallery.items()
        if programs.groups_by_hand(exhibit.schedule, **rule) != programs.groups_of(exhibit.schedule)
    }
    assert hurt == programs_hurt


def test_agreement_counts_what_the_tests_above_compare(gallery: dict[str, Exhibit]) -> None:
    every, cycles, ranges = programs.agreement([e.schedule for e in gallery.values()])
    assert (sum(every.equal), sum(cycles.equal), sum(ranges.equal)) == (14, 11, 12)


def test_a_whole_model_is_grouped_as_inductor_groups_it() -> None:
    model = decisions(MiniGPT().eval(), torch.zeros(1, 16, dtype=torch.int64))
    assert len(model.nodes) > 2 * len(programs.PROGRAMS)
    assert programs.groups_by_hand(model) == programs.groups_of(model)
    assert programs.groups_by_hand(model, ranges=False) != programs.groups_of(model)


def access(buffer: str, index: str = "c0", size: int = 8) -> Access:
    return Access(buffer=buffer, index=index, sizes=(size,), num_bytes=4 * size)


def node(name: str, reads: list[Access], *, size: int = 8) -> Node:
    return Node(
        name=name,
        kind="pointwise",
        ops=("relu",),
        ranges=(size,),
        reduced=(),
        shape=(size,),
        reads=tuple(reads),
        writes=(access(f"by {name}", size=size),),
    )


def names(groups: list[by_hand.Group]) -> list[set[str]]:
    return [{member.name for member in group.nodes} for group in groups]


def test_a_reader_of_the_neighbouring_element_waits_for_the_whole_loop() -> None:
    maker = node("a", [access("x")])
    same, neighbour = node("b", [access("by a")]), node("b", [access("by a", "c0 + 1")])
    # Both share x too, so that only the index decides.
    same, neighbour = (replace(n, reads=(*n.reads, access("x"))) for n in (same, neighbour))
    assert names(by_hand.schedule([maker, same])) == [{"a", "b"}]
    assert names(by_hand.schedule([maker, neighbour])) == [{"a"}, {"b"}]


def test_few_shared_bytes_are_no_reason_to_share_a_loop() -> None:
    enough, few = ([node(n, [access("x", size=size)]) for n in "ab"] for size in (3, 2))
    assert names(by_hand.schedule(enough)) == [{"a", "b"}]  # 12 bytes
    assert names(by_hand.schedule(few)) == [{"a"}, {"b"}]  # 8 bytes


def test_no_group_grows_beyond_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    readers = [node(f"n{i}", [access("x")]) for i in range(5)]
    assert [len(group.nodes) for group in by_hand.schedule(readers)] == [5]
    monkeypatch.setattr(by_hand, "MAX_NODES", 3)
    assert sorted(len(group.nodes) for group in by_hand.schedule(readers)) == [2, 3]


def test_side_by_side_a_group_ends_where_inductors_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    readers = decisions(lambda x: tuple(x * k for k in range(2, 20)), torch.ones(64))
    assert programs.groups_by_hand(readers) == programs.groups_of(readers)
    assert max(len(group) for group in readers.groups) == by_hand.MAX_HORIZONTAL_NODES
    monkeypatch.setattr(by_hand, "MAX_HORIZONTAL_NODES", by_hand.MAX_NODES)
    assert programs.groups_by_hand(readers) != programs.groups_of(readers)


def test_groups_come_in_an_order_in_which_they_can_run() -> None:
    exhibit = programs.cycle
    schedule = decisions(exhibit, *programs.example(exhibit))
    made: set[str] = {"arg0_1", "arg1_1", "arg2_1"}
    for group in by_hand.schedule(schedule.nodes):
        assert {read.buffer for read in group.reads} <= made
        made |= {write.buffer for write in group.writes}
