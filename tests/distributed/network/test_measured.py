"""Links, races and support on real ranks. Oracles: physics, and results checked in one process.

2 ranks, one run each.
"""

import pytest
import torch

from fuseshard.distributed.network import support, trials
from fuseshard.distributed.network.ping_pong import measure_link
from fuseshard.distributed.network.race import time_all_reduces
from fuseshard.distributed.network.records import ALGORITHMS
from fuseshard.distributed.network.support import collective_support, uneven_all_gather

pytestmark = pytest.mark.ranks

SIZES = (1 << 20, 4, 1 << 16)


@pytest.fixture(scope="module")
def link():
    return measure_link(sizes_bytes=SIZES, num_rounds=8, repeats=4)


@pytest.fixture(scope="module")
def tried():
    found = collective_support()
    return {(t.collective, t.reduce_op, t.dtype): t for t in found}


def test_a_link_has_a_row_a_round_and_a_time_a_size(link):
    times, fitted = link
    assert times.sizes_bytes == tuple(sorted(SIZES))
    for rows in (times.rounds_s, times.adding_rounds_s):
        assert [len(row) for row in rows] == [3] * 8
        assert min(map(min, rows)) > 0
    assert fitted.confidence > 0.99


def test_a_large_message_takes_longer_than_a_small_one(link):
    """A mebibyte in less than 10 us would be 100 GB/s through sockets; 4 bytes need no 10 ms."""
    small, _, large = (min(column) for column in zip(*link[0].rounds_s, strict=True))
    assert large > 10e-6 and large > small
    assert small < 10e-3


def test_both_ways_are_timed_as_well():
    times, _ = measure_link("both ways", SIZES, num_rounds=8, repeats=2)
    assert times.pattern == "both ways" and len(times.rounds_s) == 8


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"pattern": "three ways"}, "pattern is 'three ways'"),
        ({"sizes_bytes": (4, 8)}, "at least 3 different sizes"),
        ({"sizes_bytes": (0, 8, 16)}, "of at least 1 byte"),
        ({"sizes_bytes": (4.0, 8, 16)}, "of at least 1 byte"),
        ({"num_rounds": 7}, "num_rounds is 7"),
        ({"repeats": 0}, "repeats 0"),
    ],
)
def test_a_link_that_cant_be_measured_is_refused(change, complaint):
    with pytest.raises(ValueError, match=complaint):
        measure_link(**change)


def test_a_race_times_every_algorithm_at_every_size():
    found = time_all_reduces([1 << 20, 4], 2, num_rounds=3, repeats=2)
    assert [(t.algorithm, t.payload_bytes) for t in found] == [
        (algorithm, size) for algorithm in ALGORITHMS for size in (4, 1 << 20)
    ]
    assert all(len(t.rounds_s) == 3 and 0 < t.median_s < 1 for t in found)


@pytest.mark.parametrize(
    ("sizes", "world_size", "rounds", "complaint"),
    [
        ([6], 2, 1, "multiples of 4"),
        ([0], 2, 1, "from 4 on"),
        ([], 2, 1, "sizes_bytes is"),
        ([8.0], 2, 1, "multiples of 4"),
        ([4], 1, 1, "world_size is 1"),
        ([4], 2, 0, "num_rounds 0"),
    ],
)
def test_a_race_that_cant_be_is_refused(sizes, world_size, rounds, complaint):
    with pytest.raises(ValueError, match=complaint):
        time_all_reduces(sizes, world_size, num_rounds=rounds)


def test_every_collective_is_tried_once_with_every_operation_and_dtype(tried):
    num_ops = len(trials.REDUCING) * len(support.REDUCE_OPS) + len(trials.MOVING)
    assert len(tried) == num_ops * len(support.DTYPES)


def test_what_the_book_says_of_gloo_holds(tried):
    for dtype in ("float32", "bfloat16"):
        assert tried["all_reduce", "AVG", dtype].outcome == "works"
        assert tried[trials.SCATTER_FROM_ONE, "SUM", dtype].outcome == "works"
        assert tried["all_to_all", "", dtype].outcome == "works"
    refused = {
        ("all_reduce", "AVG", "int64"): "result type Float can't be cast",
        ("all_reduce", "PREMUL_SUM", "float32"): "PREMUL_SUM with Gloo",
        ("all_reduce", "BAND", "float32"): "non-integral dtype",
        ("broadcast", "", "int16"): "Invalid scalar type",
    }
    for key, reason in refused.items():
        assert tried[key].outcome == "refused" and reason in tried[key].reason
    assert "expected (1), got (2)" in uneven_all_gather()


def test_nothing_that_runs_gives_another_result(tried):
    assert {t.outcome for t in tried.values()} == {"works", "refused"}
    assert all(t.reason.isprintable() for t in tried.values())


def test_a_result_that_differs_on_any_rank_is_called_wrong():
    """Twin: the comparison that all trials go through, given another result."""
    right, other = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 3.0])

    def judged(got, expected):
        said = support._error_of(lambda: support._run_and_compare(lambda: (got, expected)))
        return support._judge([("broadcast", "", "float32", s) for s in (None, said)])

    assert judged(right, right).outcome == "works"
    assert judged(None, right).outcome == "works"  # a rank that gets nothing
    wrong = judged(other, right)
    assert wrong.outcome == "wrong" and wrong.reason.endswith("[1.0, 3.0]")
    assert judged(right, None).outcome == "wrong"  # it ran though it means nothing


@pytest.mark.parametrize(("world_size", "ops"), [(1, ["SUM"]), (5, ["SUM"]), (2, ["MEAN"])])
def test_trials_without_an_oracle_are_refused(world_size, ops):
    with pytest.raises(ValueError, match="required are 2 to 4 ranks and names among SUM"):
        collective_support(world_size, reduce_ops=ops)


def test_the_oracle_reduces_by_hand():
    rows = [torch.tensor([1, 2]), torch.tensor([3, 6])]
    by_hand = {"SUM": [4, 8], "PRODUCT": [3, 12], "MIN": [1, 2], "MAX": [3, 6]}
    by_hand |= {"BAND": [1, 2], "BOR": [3, 6], "BXOR": [2, 4], "AVG": [2, 4]}
    assert {op: trials.reduced(rows, op).tolist() for op in by_hand} == by_hand
    assert trials.reduced([torch.tensor([1.0])], "BAND") is None
    assert trials.reduced([torch.tensor([1j])], "MAX") is None
