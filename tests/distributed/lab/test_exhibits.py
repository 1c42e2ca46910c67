"""Every exhibit on 2 or 3 gloo ranks. Oracle: values and messages worked out by hand."""

import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from fuseshard.distributed.lab.exhibit import Exhibit, observe, source_of, visit
from fuseshard.distributed.lab.tour import ROOMS, find, tour
from fuseshard.distributed.launcher import DistributedError, run
from tests.distributed.helpers import marked_environment, run_script, wait_until_gone

pytestmark = pytest.mark.ranks

EXHIBITS = {exhibit.name: (exhibit, room) for room, them in ROOMS.items() for exhibit in them}
SILENT = {
    "longer-receiver": ([1, 2, 3], [1, 2, 3, 0, 0]),
    "other-dtype": None,  # bits of one type read as another
    "other-reduction": ([1.5], [3.0]),
    "other-order": ({"loss": 33, "hits": 33},) * 2,
    "same-epoch": None,  # torch's own shuffle
    "accumulate": (16.0, 16.0),
    "other-seeds": None,  # torch's own random numbers
    "changed-on-one": None,
    "around-ddp": (1.0, 2.0),
    "mistyped-plan": ((True, 56),) * 2,
}
LOUD = {
    "other-collective": ("raised", "Timed out waiting 1500ms"),
    "other-length": ("died", "Received data size doesn't match expected size"),
    "never-comes": ("raised", "1/2 clients joined"),
    "fewer-batches": ("raised", "Timed out waiting 1500ms"),
    "slow-rank": ("raised", "Timed out waiting 1500ms"),
    "bad-sample": ("raised", "KeyError: 'sample 7'"),
    "preempted": ("died", "killed by SIGTERM"),
    "unused-layer": ("raised", "Expected to have finished reduction in the prior iteration"),
    "uneven-heads": ("raised", "shape '[2, 1, 4]' is invalid for input of size 12"),
    "around-fsdp": ("raised", "got mixed torch.Tensor and DTensor"),
}
RIGHT = {
    "longer-receiver": ([1, 2, 3],) * 2,
    "other-length": ([2, 2, 2, 1, 1],) * 2,
    "other-dtype": ([10, 10, 10],) * 2,
    "other-reduction": ([1.5],) * 2,
    "other-order": ({"loss": 5, "hits": 61},) * 2,
    "accumulate": (4.0, 4.0),
    "around-ddp": (1.5, 1.5),
    "unused-layer": (1.5, 1.5),
    "bad-sample": ([3, 9, 12],) * 3,
    "preempted": (2, 2, 2),
    "mistyped-plan": ((True, 28),) * 2,
}


@pytest.fixture(scope="module", autouse=True)
def _started() -> None:
    """Let the process that starts ranks import torch before anything is timed."""
    run(nothing)


def nothing(rank: int, world_size: int) -> int:
    return rank


def test_every_exhibit_is_expected_to_be_silent_or_loud() -> None:
    assert set(EXHIBITS) == set(SILENT) | set(LOUD) and not set(SILENT) & set(LOUD)
    assert len(EXHIBITS) == 20


@pytest.mark.parametrize("name", EXHIBITS)
def test_an_exhibit_ends_in_time_and_as_it_should(name: str) -> None:
    seen = visit(*EXHIBITS[name])
    if name in SILENT:
        assert seen.is_silent and seen.is_wrong
        assert seen.revealed is not None and seen.revealed.speaker == "check"
        if SILENT[name] is not None:
            assert seen.broken.results == SILENT[name]
    else:
        ending, message = LOUD[name]
        assert seen.broken.ending == ending and message in seen.broken.message
        assert 0 < seen.broken.seconds < 6
    if name in RIGHT:
        assert seen.fixed.results == RIGHT[name]
    if name not in ("bad-sample", "same-epoch", "fewer-batches"):
        assert len({str(result) for result in seen.fixed.results}) == 1


@pytest.mark.parametrize(
    ("name", "rank"), [("bad-sample", 2), ("preempted", 2), ("fewer-batches", 0)]
)
def test_the_rank_to_blame_or_the_one_that_waits_is_named(name: str, rank: int) -> None:
    assert observe(EXHIBITS[name][0].code, world_size=EXHIBITS[name][0].world_size).rank == rank


def test_a_monitored_barrier_names_who_is_missing() -> None:
    revealed = EXHIBITS["slow-rank"][0].revealed
    assert revealed is not None
    assert "Rank 1 failed to pass monitoredBarrier" in observe(revealed).message


def test_detail_sees_shapes_and_types_but_no_order_and_no_reduction() -> None:
    seen = {
        name: observe(EXHIBITS[name][0].code, is_detailed=True)
        for name in ("other-dtype", "longer-receiver", "other-order", "other-reduction")
    }
    assert "mismatch between collectives" in seen["other-dtype"].message
    assert "mismatch between collectives" in seen["longer-receiver"].message
    assert seen["other-order"].speaker == seen["other-reduction"].speaker == "nobody"


def test_the_level_info_names_the_unused_layer() -> None:
    revealed = EXHIBITS["unused-layer"][0].revealed
    assert revealed is not None
    assert "spare.bias, spare.weight" in observe(revealed).message


def sleep(rank: int, group: dist.ProcessGroup) -> None:
    time.sleep(100)


def test_what_never_ends_is_ended_by_the_limit() -> None:
    seen = observe(sleep, limit_s=1.0)
    assert (seen.ending, seen.speaker) == ("stopped", "launcher")
    assert seen.seconds < 5 and len(seen.others) == 1


def one(rank: int, group: dist.ProcessGroup) -> float:
    total = torch.ones(1)
    dist.all_reduce(total, group=group)
    return total.item()


def test_a_repair_that_fails_is_an_error_of_the_lab() -> None:
    with pytest.raises(DistributedError, match=r"one: the repair fails: .*no repair"):
        visit(Exhibit(title="one()", code=one, fixed=no_repair, remedy=""), "calls")


def no_repair(rank: int, group: dist.ProcessGroup) -> None:
    raise ValueError("no repair")


def test_sources_are_shown_without_notes_to_checkers() -> None:
    text = source_of(noted, one)
    assert "type:" not in text and text.count("\n\n\n") == 1 and "all_reduce" in text


def noted() -> None:
    time.sleep(0)  # type: ignore[arg-type]


def test_rooms_and_exhibits_are_found_by_name() -> None:
    with pytest.raises(ValueError, match="room is 'cellar', required"):
        tour("cellar")  # type: ignore[arg-type]
    shards = tour("shards")
    assert find(shards, "uneven-heads").title == "3 heads / 2 ranks"
    with pytest.raises(KeyError, match="no exhibit 'even-heads'; there are mistyped-plan"):
        find(shards, "even-heads")


SCRIPT = """
import time
from fuseshard.distributed.lab.exhibit import observe
from fuseshard.distributed.lab import absent, calls

def hang(rank, group):
    time.sleep(1000)

for code in (calls.other_length, absent.preempted):
    print(observe(code, world_size=3 if code is absent.preempted else 2).ending)
print(observe(hang, limit_s=1.0).ending)
"""


def test_nothing_is_left_running(tmp_path: Path) -> None:
    environment = marked_environment()
    assert run_script(SCRIPT, environment, tmp_path).split() == [
        "died",
        "died",
        "stopped",
    ]
    wait_until_gone(environment)
    # The control: a process that is left would have been found.
    process = subprocess.Popen([sys.executable, "-c", "input()"], env=environment, stdin=-1)
    try:
        with pytest.raises(AssertionError, match="still there"):
            wait_until_gone(environment, timeout_s=0.5)
    finally:
        process.kill()
        process.communicate()
