"""Three ways to compile a stack. Oracles: the stack in eager mode, and in float64."""

import pytest
import torch

from fuseshard.compiler.caches import regions
from fuseshard.compiler.caches.errors import allowed_error, error_of, errors_of
from fuseshard.compiler.caches.records import RegionPoint
from fuseshard.compiler.graphs import graphs_captured
from fuseshard.models.stack import Stack, rows


@pytest.fixture(scope="module")
def point() -> RegionPoint:
    torch.compiler.reset()
    budget_s, regions.TIMING_S = regions.TIMING_S, 0.2
    made = regions.region_point(Stack(3), 7)
    regions.TIMING_S = budget_s
    return made


def test_every_way_captures_one_graph_and_rounds_as_eager_mode_does(point: RegionPoint) -> None:
    assert {way: call.graphs for way, call in point.first_calls.items()} == {
        "whole": 1,
        "regional": 1,
        "nested": 1,
    }
    assert set(point.errors) == {"eager", "whole", "regional", "nested"}
    assert max(point.errors.values()) <= allowed_error(point.errors["eager"])


def test_untimed_first_calls_have_no_parts_and_ratios_name_the_other_ways(
    point: RegionPoint,
) -> None:
    assert not any(call.parts_s for call in point.first_calls.values())
    assert set(point.to_whole) == {"regional", "nested"}
    assert (point.num_layers, point.width, point.num_rows) == (3, 10, 7)


def test_a_stack_of_another_depth_finds_the_layer_in_memory(point: RegionPoint) -> None:
    call = regions.regional(Stack(5))
    assert graphs_captured(lambda: call(rows(7))) == 0
    # Positive control: another number of rows is another graph.
    assert graphs_captured(lambda: call(rows(12))) == 1


def test_a_transposed_weight_is_no_rounding() -> None:
    stack, x = Stack(3), rows(7)
    exact_enough = error_of(stack(x), stack, x)
    broken = Stack(3)
    broken.layers[1].first.weight.t_()
    assert error_of(broken(x), stack, x) > 100 * allowed_error(exact_enough)


def test_results_that_came_as_a_list_are_compared_in_their_shape() -> None:
    results = Stack(2)(rows(10)).flatten().tolist()
    errors = errors_of({"eager": results, "turned": results[::-1]}, num_layers=2)
    assert errors["eager"] <= allowed_error(errors["eager"]) < errors["turned"]
