"""What can't be planned: pure data. Oracle: each field with a value that it can't have."""

from dataclasses import fields, replace

import pytest

from fuseshard.distributed.planning.records import Cluster, ModelShape
from tests.distributed.planning.shapes import LAB, SMALL

MAY_BE_ZERO = ("num_positions", "optimizer_bytes")
COUNTS = [f.name for f in fields(ModelShape) if f.type == "int"]
FLAGS = [f.name for f in fields(ModelShape) if f.type == "bool"]
QUANTITIES = [f.name for f in fields(Cluster) if f.type == "float"]


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("value", [-1, 2.0, True, "8", None, 2**25])
def test_a_count_must_be_whole_and_positive(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=rf"ModelShape: {name} is .*, must be a whole number"):
        replace(SMALL, **{name: value})


@pytest.mark.parametrize("name", COUNTS)
def test_zero_is_right_where_there_can_be_none(name: str) -> None:
    if name in MAY_BE_ZERO:
        assert getattr(replace(SMALL, **{name: 0}), name) == 0
    else:
        with pytest.raises(ValueError, match=f"{name} is 0"):
            replace(SMALL, **{name: 0})


@pytest.mark.parametrize("name", FLAGS)
def test_a_flag_must_be_true_or_false(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} is 1, must be True or False"):
        replace(SMALL, **{name: 1})


def test_heads_must_divide_and_the_way_out_is_right() -> None:
    with pytest.raises(ValueError, match="width is 96, must be a multiple of num_heads 7") as e:
        replace(SMALL, num_heads=7)
    assert "use num_heads=6" in str(e.value)
    with pytest.raises(ValueError, match="num_heads is 6, must be a multiple of num_kv_heads 4"):
        replace(SMALL, num_kv_heads=4)
    assert replace(SMALL, num_heads=6, num_kv_heads=3) == SMALL


@pytest.mark.parametrize("name", QUANTITIES)
@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf"), "1e9", True, None])
def test_a_quantity_must_be_finite_and_not_negative(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=rf"Cluster: {name} is .*, must be a finite number"):
        replace(LAB, **{name: value})


@pytest.mark.parametrize("name", ["gpus_per_node", "num_nodes"])
def test_gpus_and_nodes_are_counted(name: str) -> None:
    with pytest.raises(ValueError, match=f"Cluster: {name} is 0, must be a whole number"):
        replace(LAB, **{name: 0})


@pytest.mark.parametrize("name", ["usable_memory", "efficiency"])
def test_a_share_is_at_most_one(name: str) -> None:
    with pytest.raises(ValueError, match=rf"{name} is 1\.5, must be .* at most 1"):
        replace(LAB, **{name: 1.5})
    assert getattr(replace(LAB, **{name: 1.0}), name) == 1.0


def test_a_link_without_latency_is_right_and_one_without_a_rate_isnt() -> None:
    assert replace(LAB, inside_latency_s=0.0).inside_latency_s == 0
    with pytest.raises(ValueError, match="inside_bytes_per_s is 0"):
        replace(LAB, inside_bytes_per_s=0.0)


def test_more_gpus_than_can_be_tried_are_refused() -> None:
    assert replace(LAB, gpus_per_node=8, num_nodes=2**14).num_gpus == 2**17
    with pytest.raises(ValueError, match="num_nodes is 16385, which makes 131080 GPUs"):
        replace(LAB, gpus_per_node=8, num_nodes=2**14 + 1)


def test_sizes_of_a_cluster_multiply() -> None:
    assert LAB.num_gpus == 6
    assert LAB.usable_bytes == 0.9 * 9e6
