"""Layer 1. Oracle: all coordinates, enumerated by itertools in the order of the ranks."""

from itertools import product

import pytest

from fuseshard.distributed.layouts.records import Layout

LAYOUTS = [Layout(), Layout(tp=5), Layout(pp=2, tp=3), Layout(pp=2, dp=3, fsdp=2, tp=2)]


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_ranks_count_through_all_coordinates_the_innermost_axis_first(layout):
    everywhere = list(product(*(range(degree) for degree in layout.degrees.values())))
    found = [tuple(layout.coordinate(rank).values()) for rank in range(layout.world_size)]
    assert found == everywhere
    assert found != everywhere[::-1] or layout.world_size == 1


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_a_group_has_those_that_differ_in_one_coordinate(layout):
    for rank, axis in product(range(layout.world_size), layout.degrees):
        group = layout.group(rank, axis)
        assert rank in group
        assert list(group) == sorted(group)
        assert [layout.coordinate(one)[axis] for one in group] == list(range(layout.degrees[axis]))
        for other in set(layout.degrees) - {axis}:
            assert len({layout.coordinate(one)[other] for one in group}) == 1


def test_ranks_that_share_matrices_or_stages_have_the_same_part_of_the_batch():
    layout = LAYOUTS[-1]
    for rank in range(layout.world_size):
        for axis in ("pp", "tp"):
            assert len({layout.share(one) for one in layout.group(rank, axis)}) == 1
        for axis in ("dp", "fsdp"):
            assert len({layout.share(one) for one in layout.group(rank, axis)}) > 1
    assert {layout.share(rank) for rank in range(24)} == set(range(6))


def test_axes_of_one_rank_are_left_out():
    assert Layout(pp=2, tp=3).name == "pp 2 × tp 3"
    assert Layout().degrees == {"dp": 1}


@pytest.mark.parametrize("degree", [0, -2, 1.0, True, "2"])
def test_a_degree_that_is_no_count_is_refused(degree):
    with pytest.raises(ValueError, match=r"Layout: tp is .*, required is a whole number"):
        Layout(tp=degree)


def test_what_the_layout_does_not_have_is_refused():
    with pytest.raises(ValueError, match="rank is 6, required is 0 to 5"):
        Layout(pp=2, tp=3).coordinate(6)
    with pytest.raises(ValueError, match=r"axis is 'dp', required is one of \['pp', 'tp'\]"):
        Layout(pp=2, tp=3).group(0, "dp")
