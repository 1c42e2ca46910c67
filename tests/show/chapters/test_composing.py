"""Layer 1: what the chapter on composing draws, from records made by hand.

Oracle: the numbers that went in.
"""

from dataclasses import replace

import pytest

from fuseshard.distributed.layouts.records import AxisBytes, Layout, OrderTrial, Outcome
from fuseshard.show.chapters.composing.mesh import mesh_choice, mesh_figure, mesh_table
from fuseshard.show.chapters.composing.tables import (
    axis_table,
    order_table,
    outcome_table,
    outermost_table,
)
from fuseshard.show.records import Code, Number

SIX = Layout(pp=2, tp=3)
CUBE = Layout(pp=2, fsdp=2, tp=2)
OUTCOME = Outcome(
    layout=CUBE,
    spoiled="",
    loss=4.25,
    loss_apart={"float32": 0.5, "float64": 0.25},
    gradient_apart={"float32": 2e-8, "float64": 3e-17},
    in_epsilons={"float32": 7.0, "float64": 8.0},
    is_rounding=True,
    axes=tuple(
        AxisBytes(axis=axis, counted=counted, formula=counted + 1, num_calls=calls)
        for axis, counted, calls in (("pp", 60, 4), ("fsdp", 600, 6), ("tp", 500, 36))
    ),
)
TRIAL = OrderTrial(
    name="fsdp_inside",
    code="shard(compile(block))",
    refused="",
    num_graphs=3,
    later_graphs=0,
    num_operations=34,
    is_fullgraph=True,
    is_equal=True,
)


def numbers(table, row=0):
    return [cell.number for cell in table.rows[row] if isinstance(cell, Number)]


def texts(table, row=0):
    return [str(cell) for cell in table.rows[row] if not isinstance(cell, Number | Code)]


@pytest.mark.parametrize("layout", [SIX, CUBE, Layout(dp=4), Layout(pp=2, dp=2, fsdp=2, tp=2)])
def test_each_rank_has_a_place_of_its_own_on_the_drawing(layout):
    *axes, ranks = mesh_figure(layout).figure["data"]
    places = list(zip(ranks["x"], ranks["y"], strict=True))
    assert len(set(places)) == len(places) == layout.world_size
    assert ranks["text"] == [str(rank) for rank in range(layout.world_size)]
    assert [axis["name"] for axis in axes] == [f"along {axis}" for axis in layout.degrees]


@pytest.mark.parametrize("axis", ["pp", "tp"])
def test_lines_join_the_ranks_of_a_group(axis):
    *axes, ranks = mesh_figure(SIX).figure["data"]
    rank_at = {place: r for r, place in enumerate(zip(ranks["x"], ranks["y"], strict=True))}
    (line,) = [trace for trace in axes if trace["name"] == f"along {axis}"]
    groups, group = [], []
    for place in zip(line["x"], line["y"], strict=True):
        if place == (None, None):
            groups.append(tuple(group))
            group = []
        else:
            group.append(rank_at[place])
    assert set(groups) == {SIX.group(rank, axis) for rank in range(6)}


def test_the_table_of_a_mesh_lists_coordinates_and_groups():
    table = mesh_table(CUBE)
    codes = [cell.code for cell in table.rows[5] if isinstance(cell, Code)]
    assert codes == ["pp 1, fsdp 0, tp 1", "1, 5", "5, 7", "4, 5"]
    assert numbers(table, 5) == [5, 0]


def test_a_reader_picks_among_layouts():
    labels = [str(label) for label, _ in mesh_choice([SIX, CUBE]).options]
    assert labels == ["pp 2 × tp 3", "pp 2 × fsdp 2 × tp 2"]


def test_a_layout_within_the_rule_is_rounding_and_others_are_bugs():
    bad = replace(OUTCOME, spoiled="summed", is_rounding=False)
    table = outcome_table([OUTCOME, bad], 256)
    assert numbers(table) == [4.25, 0.5, 2e-8, 7.0, 0.25, 3e-17, 8.0]
    assert texts(table) == ["pp 2 × fsdp 2 × tp 2", "—", "rounding"]
    assert texts(table, 1)[1:] == ["gradients summed", "bug"]


def test_bytes_stand_beside_their_formula():
    table = axis_table([OUTCOME])
    assert [numbers(table, row) for row in range(3)] == [[4, 60, 61], [6, 600, 601], [36, 500, 501]]


def test_the_outermost_axis_is_what_crosses():
    table = outermost_table(OUTCOME)
    assert [numbers(table, row) for row in range(3)] == [[60, 4], [600, 6], [500, 36]]
    with pytest.raises(ValueError, match="the layout is pp 2 × tp 3, required is one whose axes"):
        outermost_table(replace(OUTCOME, layout=SIX))


def test_an_order_that_failed_has_no_counts():
    broken = replace(TRIAL, name="tp_inside", refused="ValueError: no")
    partly = replace(TRIAL, is_fullgraph=False)
    table = order_table([TRIAL, partly, broken], 40)
    assert [numbers(table, row) for row in range(3)] == [[3, 34], [3, 34], []]
    assert [texts(table, row)[-1] for row in range(3)] == [
        "runs",
        "raises an exception",
        "fails in either case",
    ]
    assert [texts(table, row)[0] for row in range(3)] == ["FSDP2", "FSDP2", "tensor parallelism"]
