"""Torch's flight recorder for gloo, on 2 ranks. Oracle: the calls that the ranks made."""

import pytest
import torch
import torch.distributed as dist

from fuseshard.distributed.lab.exhibit import observe
from fuseshard.distributed.lab.flight import _ask, flight_recorder
from fuseshard.distributed.lab.price import price_of_detail, price_of_fingerprints
from fuseshard.distributed.lab.records import RecordedCall, first_difference

pytestmark = pytest.mark.ranks


def record(rank: int, group: dist.ProcessGroup) -> tuple[list[RecordedCall], str]:
    other = dist.new_group()
    with flight_recorder(group) as recorder:
        dist.all_reduce(torch.ones(3, 2), group=group)
        dist.all_reduce(torch.ones(9), group=other)
        dist.broadcast(torch.ones(7), src=1, group=group)
        if rank == 0:
            dist.send(torch.ones(1), dst=1, group=group)
        else:
            dist.recv(torch.ones(1), src=0, group=group)
        found = recorder.calls()
        try:
            _ask(recorder._path, "no_such_handler")
        except RuntimeError as error:
            refusal = str(error)
    return found, refusal


def record_mismatch(rank: int, group: dist.ProcessGroup) -> list[RecordedCall]:
    with flight_recorder(group) as recorder:
        dist.all_reduce(torch.ones(2), group=group)
        try:
            if rank == 0:
                dist.all_reduce(torch.ones(2), group=group)
            else:
                dist.broadcast(torch.ones(2), src=1, group=group)
        except RuntimeError:
            return recorder.calls()
    return []


def test_the_recorder_holds_the_collectives_of_its_group_only() -> None:
    by_rank = observe(record).results
    for found, refusal in by_rank:
        assert [(call.number, call.sizes) for call in found] == [(1, ((3, 2),)), (2, ((7,),))]
        assert found[0].name == "gloo:all_reduce" and "broadcast" in found[1].name
        assert "answered 404 to no_such_handler" in refusal
    assert first_difference([found for found, _ in by_rank]) is None


def test_the_recorder_shows_what_a_time_out_does_not() -> None:
    by_rank = observe(record_mismatch).results
    assert first_difference(by_rank) == 2
    assert by_rank[0][1].name != by_rank[1][1].name


def test_watching_costs_time() -> None:
    detail = price_of_detail(num_calls=5)
    assert detail.watched_s > detail.plain_s > 0 and detail.ratio > 1
    marks = price_of_fingerprints()
    assert marks.watched_s > 0 and marks.plain_s > 1e-3
