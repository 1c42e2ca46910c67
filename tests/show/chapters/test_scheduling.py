"""What is drawn of schedules. Oracle: schedules made up by hand; no compile."""

from dataclasses import replace

import pytest

from fuseshard import palette
from fuseshard.compiler.scheduling.records import (
    OTHER_RANGES,
    Access,
    Agreement,
    Decision,
    Exhibit,
    Kind,
    Node,
    Schedule,
)
from fuseshard.show.chapters.scheduling import boxes, tables, terms


def access(buffer: str) -> Access:
    return Access(buffer=buffer, index="c0", sizes=(8,), num_bytes=32)


def node(name: str, kind: Kind, reads: str, writes: str) -> Node:
    return Node(
        name=name,
        kind=kind,
        ops=("exp",),
        ranges=(8,),
        reduced=(4,) if kind == "reduction" else (),
        shape=(8,),
        reads=(access(reads),),
        writes=(access(writes),),
    )


def refusal(first: str, second: str, reason: str) -> Decision:
    return Decision(
        first=(first,),
        second=(second,),
        relation="vertical",
        score_bytes=32,
        verdict="refused",
        reason=reason,
    )


SCHEDULE = Schedule(
    nodes=(
        node("op0", "pointwise", "x", "a"),
        node("op1", "extern", "a", "b"),
        node("op2", "pointwise", "b", "c"),
        node("op3", "reduction", "c", "d"),
        node("op4", "nop", "d", "e"),
    ),
    groups=(("op0",), ("op1",), ("op2", "op3"), ("op4",)),
    decisions=(refusal("op0", "op2", "no shared data"), refusal("op0", "op2", OTHER_RANGES)),
    bytes_before=320,
    bytes_after=256,
    source="",
)


def test_each_pair_of_groups_gets_the_schedulers_last_word_or_why_it_never_looked() -> None:
    assert boxes.refusals(SCHEDULE) == [
        boxes.Refusal(0, 1, terms.NOT_ASKED),
        boxes.Refusal(0, 2, OTHER_RANGES),
        boxes.Refusal(1, 2, terms.NOT_ASKED),
    ]


def test_two_lone_loops_have_nothing_shared() -> None:
    nodes = (node("op0", "pointwise", "x", "a"), node("op1", "pointwise", "y", "b"))
    alone = replace(SCHEDULE, nodes=nodes, groups=(("op0",), ("op1",)), decisions=())
    assert boxes.refusals(alone) == [boxes.Refusal(0, 1, terms.NOTHING_SHARED)]


def test_a_refusal_inside_a_group_is_history() -> None:
    inside = replace(SCHEDULE, decisions=(refusal("op2", "op3", "no shared data"),))
    assert boxes.refusals(inside) == [
        boxes.Refusal(0, 1, terms.NOT_ASKED),
        boxes.Refusal(1, 2, terms.NOT_ASKED),
    ]


def test_frames_hold_what_is_fused_and_a_call_has_no_fill() -> None:
    figure = boxes.boxes("softmax", Exhibit(code="def softmax(x):", schedule=SCHEDULE))
    shapes = figure.figure["layout"]["shapes"]
    frames = [s for s in shapes if s["type"] == "rect" and s["line"]["width"] == 2]
    fills = [s["fillcolor"] for s in frames]
    band = palette.COMPILED.band
    assert fills == [band, palette.CLEAR, band]
    heights = [s["y1"] - s["y0"] for s in frames]
    assert heights[2] > heights[0] == heights[1]  # two nodes against one
    assert len([s for s in shapes if s["type"] == "path"]) == 3
    assert "Nodes: 4; after fusion: 3." in str(figure.caption)


def test_a_reason_that_no_edition_knows_is_an_error() -> None:
    with pytest.raises(KeyError, match="phase of the moon"):
        terms.short_reason("phase of the moon")


def test_torchs_words_stand_only_where_torch_has_some() -> None:
    assert str(terms.torch_reason(SCHEDULE.decisions[0])) == "no shared data"
    assert "none" in str(terms.torch_reason(SCHEDULE.decisions[1]))


def test_a_schedule_without_pairs_says_so() -> None:
    table = tables.pairs_table("pairs", replace(SCHEDULE, decisions=()))
    assert "no pair" in str(table.rows[0][0])


def test_the_programs_that_differ_are_named() -> None:
    agreements = [
        Agreement(rules="all", equal=(True, True)),
        Agreement(rules="cycles", equal=(True, False)),
    ]
    table = tables.agreement_table(agreements, ["softmax", "cycle"])
    assert [str(row[1]) for row in table.rows] == ["2 of 2", "1 of 2"]
    assert "cycle" in str(table.rows[1][2])
    assert "softmax" not in str(table.rows[1][2])
