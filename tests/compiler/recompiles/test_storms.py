"""Storms, scenarios and ways. Oracle: counts that the chapter states, measured anew."""

import pytest
import torch

from fuseshard.compiler.recompiles.records import History
from fuseshard.compiler.recompiles.scenarios import (
    PADDED_LENGTHS,
    SMALL_LENGTHS,
    SQUARE_FIRST,
    all_scenarios,
    all_ways,
    record,
)
from fuseshard.compiler.recompiles.storms import NUM_CALLS, STORMS, cure_of


@pytest.mark.parametrize("name", ["module-int", "string"])
def test_a_storm_reaches_the_limit_and_its_cure_needs_one_graph(name: str) -> None:
    cure = cure_of(name)
    assert len(cure.before.calls) == len(cure.after.calls) == NUM_CALLS
    assert (len(cure.before.graphs), cure.before.count("eager")) == (8, NUM_CALLS - 8)
    assert (len(cure.after.graphs), cure.after.count("eager")) == (1, 0)


def test_a_float_rate_costs_one_graph_more_than_a_tensor() -> None:
    cure = cure_of("learning-rate")
    assert (len(cure.before.graphs), len(cure.after.graphs)) == (2, 1)
    assert cure.before.calls[1].failures[0].subject == "self.param_groups[0]['lr']"


def test_a_listing_shows_the_program_and_its_calls() -> None:
    cure = cure_of("layout")
    assert "def double(" in cure.before_source and "rows(6).t()" in cure.before_source
    assert ".contiguous()" in cure.after_source


def test_before_and_after_make_the_same_number_of_calls() -> None:
    for name, storm in STORMS.items():
        counts = [len(list(make()[1])) for make in (storm.before, storm.after)]
        assert counts == [NUM_CALLS] * 2, name


@pytest.mark.parametrize(
    ("name", "graphs"),
    [("zero-one", 3), ("unbacked", 1), ("equal-sizes", 2), ("branch", 2), ("number", 3)],
)
def test_a_scenario_makes_its_graphs(name: str, graphs: int) -> None:
    assert len(record(all_scenarios()[name]).graphs) == graphs


def test_a_scenario_leaves_the_gradient_mode_alone() -> None:
    history = record(all_scenarios()["gradient"])
    assert torch.is_grad_enabled()
    assert [call.inputs for call in history.calls][:2] == ["on", "off"]
    assert history.calls[1].failures[0].subject == "grad_mode"


def graphs_of(way: str, lengths: tuple[int, ...]) -> int:
    return len(all_ways()[way](lengths).graphs)


def test_ways_differ_where_the_chapter_says_so() -> None:
    assert graphs_of("mark_unbacked", SMALL_LENGTHS) == 1
    assert graphs_of("mark_dynamic", SMALL_LENGTHS) == 3
    assert [graphs_of(way, SQUARE_FIRST) for way in ("mark_dynamic", "True")] == [1, 2]
    assert graphs_of("padding", (3, 7, 9, 16, 23)) == len(PADDED_LENGTHS)


def test_a_first_eager_call_saves_the_static_graph() -> None:
    history: History = all_ways()["eager_then_compile"]((5, 7, 9))
    assert [call.state for call in history.calls] == ["eager", "compile", "hit"]
