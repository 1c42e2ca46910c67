"""Layer 2: two gloo ranks. Oracle: DDP without the recorder, and DDP's own bucket arithmetic."""

from dataclasses import replace

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from fuseshard.distributed.ddp_timeline import (
    BackwardRecorder,
    BackwardTimeline,
    default_first_bucket_bytes,
)
from fuseshard.distributed.launcher import run

CAP_MIB = 0.0001  # 104 bytes: 26 float32 numbers, less than most of the layers
NUM_STEPS = 3


def make_model() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(7, 31), nn.Tanh(), nn.Linear(31, 13), nn.Tanh(), nn.Linear(13, 3)
    )


def backward_passes(rank: int, world_size: int, is_recorded: bool):
    """Run a few steps with data that differ by rank; return timelines and last gradients."""
    ddp = DistributedDataParallel(make_model(), bucket_cap_mb=CAP_MIB)
    recorder = BackwardRecorder(ddp) if is_recorded else None
    generator = torch.Generator().manual_seed(rank)
    for _ in range(NUM_STEPS):
        ddp.zero_grad()
        loss = ddp(torch.randn(5 + rank, 7, generator=generator)).square().mean()
        if recorder is None:
            loss.backward()
        else:
            with recorder:
                loss.backward()
    timelines = recorder.timelines if recorder else []
    return timelines, [param.grad for param in ddp.module.parameters()]


def refused_block(rank: int, world_size: int) -> tuple[int, int]:
    """Leave one `with` block by an exception, then finish another."""
    ddp = DistributedDataParallel(make_model())
    recorder = BackwardRecorder(ddp)
    loss = ddp(torch.ones(2, 7)).sum()
    try:
        with recorder:
            raise KeyError("before backward")
    except KeyError:
        after_failure = len(recorder.timelines)
    with recorder:
        loss.backward()
    return after_failure, len(recorder.timelines)


def closed_buckets(sizes: list[int], cap: int) -> list[list[int]]:
    """Oracle: a bucket closes when its gradients reach the cap."""
    buckets: list[list[int]] = [[]]
    for size in sizes:
        buckets[-1].append(size)
        if sum(buckets[-1]) >= cap:
            buckets.append([])
    return [bucket for bucket in buckets if bucket]


@pytest.fixture(scope="module")
def recorded():
    return run(backward_passes, 2, args=(True,))


@pytest.fixture(scope="module")
def timelines(recorded) -> list[BackwardTimeline]:
    return recorded[0][0]


def test_recording_leaves_the_gradients_as_ddp_makes_them(recorded) -> None:
    plain = run(backward_passes, 2, args=(False,))
    for rank in (0, 1):
        ours, theirs = recorded[rank][1], plain[rank][1]
        # 2 ranks: one addition per number, halves are exact; so equal bit for bit.
        assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))
        assert any(gradient.abs().max() > 0 for gradient in ours)


def test_every_parameter_is_ready_once_and_lies_in_one_bucket(timelines) -> None:
    names = {name for name, _ in make_model().named_parameters()}
    assert len(timelines) == NUM_STEPS
    for timeline in timelines:
        ready = [gradient.name for gradient in timeline.gradients]
        held = [name for bucket in timeline.buckets for name in bucket.names]
        assert sorted(ready) == sorted(held) == sorted(names)


def test_the_first_step_has_one_bucket_and_later_ones_follow_the_gradients(timelines) -> None:
    assert [len(timeline.buckets) for timeline in timelines] == [1, 4, 4]
    order = [gradient.name for gradient in timelines[0].gradients]
    assert [name for bucket in timelines[1].buckets for name in bucket.names] == order
    sizes = [gradient.num_bytes for gradient in timelines[0].gradients]
    expected = [sum(bucket) for bucket in closed_buckets(sizes, int(CAP_MIB * 2**20))]
    assert [bucket.num_bytes for bucket in timelines[1].buckets] == expected


def test_times_are_in_causal_order(timelines) -> None:
    for timeline in timelines:
        ready_s = {gradient.name: gradient.ready_s for gradient in timeline.gradients}
        for bucket in timeline.buckets:
            last_of_bucket_s = max(ready_s[name] for name in bucket.names)
            assert 0 < last_of_bucket_s <= bucket.launched_s <= bucket.reduced_s
            assert bucket.reduced_s <= timeline.backward_s


def test_only_split_buckets_leave_before_the_last_gradient(timelines) -> None:
    assert timelines[0].launched_early == ()
    assert timelines[1].launched_early == timelines[1].buckets[:-1]


def test_launched_early_depends_on_the_last_gradient(timelines) -> None:
    """Must-fail twin: were all gradients ready at once, no bucket would be early."""
    timeline = timelines[1]
    at_once = tuple(replace(gradient, ready_s=0.0) for gradient in timeline.gradients)
    assert replace(timeline, gradients=at_once).launched_early == ()


def test_steps_cap_and_rank_are_noted(recorded) -> None:
    for rank in (0, 1):
        noted = [(line.rank, line.step, line.bucket_cap_bytes) for line in recorded[rank][0]]
        assert noted == [(rank, step, int(CAP_MIB * 2**20)) for step in (1, 2, 3)]


def test_a_backward_pass_that_raises_leaves_no_timeline() -> None:
    assert run(refused_block, 2) == [(0, 1), (0, 1)]


def test_the_first_bucket_constant_is_one_mebibyte() -> None:
    assert default_first_bucket_bytes() == dist._DEFAULT_FIRST_BUCKET_BYTES == 2**20
