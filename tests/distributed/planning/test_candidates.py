"""All layouts: pure data. Oracle: brute force over every tuple of degrees."""

import itertools
from dataclasses import replace

import pytest

from fuseshard.distributed.planning.candidates import divisors, layouts, meshes, obstacle
from tests.distributed.planning.shapes import SMALL


@pytest.mark.parametrize("number", [1, 2, 12, 36, 97, 1536])
def test_divisors_are_those_found_by_trying(number: int) -> None:
    assert divisors(number) == [d for d in range(1, number + 1) if number % d == 0]


@pytest.mark.parametrize("num_gpus", [1, 6, 7, 12, 16])
def test_every_mesh_is_there_once(num_gpus: int) -> None:
    found = list(meshes(num_gpus))
    tried = itertools.product(range(1, num_gpus + 1), repeat=4)
    assert sorted(found) == sorted(m for m in tried if m[0] * m[1] * m[2] * m[3] == num_gpus)


@pytest.mark.parametrize(
    ("mesh", "reason"),
    [
        ((1, 1, 3, 1), None),
        ((1, 1, 4, 1), "num_heads"),
        ((1, 1, 6, 1), "num_kv_heads"),
        ((1, 1, 1, 4), "num_layers"),
        ((5, 1, 1, 1), "global_batch"),
        ((1, 8, 1, 1), "global_batch"),
        ((2, 6, 1, 6), None),
    ],
)
def test_what_doesnt_divide_is_named(mesh, reason) -> None:
    # TP 3 divides neither 160 nor 20: sizes that it does divide are needed first.
    model = replace(SMALL, feed_forward_width=162, sequence=21)
    assert obstacle(model, mesh) == reason


@pytest.mark.parametrize("field", ["feed_forward_width", "sequence"])
def test_tp_divides_what_lies_between_heads_too(field: str) -> None:
    even = replace(SMALL, feed_forward_width=162, sequence=21)
    assert obstacle(even, (1, 1, 3, 1)) is None
    assert obstacle(replace(even, **{field: 160}), (1, 1, 3, 1)) == field


def test_micro_batches_divide_a_replicas_share() -> None:
    found = list(layouts(SMALL, (2, 1, 1, 1)))
    assert [d.num_micro_batches for d in found if d.recomputes] == [1, 2, 3, 6]
    assert len(found) == 8
