"""Room 2: ranks that come late, leave early, fail, or never come at all."""

import os
import signal
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from fuseshard.distributed.lab.exhibit import PATIENCE_S, Exhibit

NAP_S = PATIENCE_S + 0.5
"""seconds; longer than the others wait"""
ROLL_CALL_S = 0.5
"""seconds that a barrier waits which only wants to know who is there"""
NUM_STEPS = 4


def never_comes(rank: int, group: dist.ProcessGroup) -> bool:
    """Announce two ranks, start one."""
    if rank == 0:
        limit = timedelta(seconds=ROLL_CALL_S)
        dist.TCPStore("127.0.0.1", 0, 2, is_master=True, timeout=limit)
    return True


def both_come(rank: int, group: dist.ProcessGroup) -> bool:
    """Let the second one come, to the port of the first."""
    ports: list[int | None] = [None]
    if rank == 0:
        store = dist.TCPStore("127.0.0.1", 0, 2, is_master=True, wait_for_workers=False)
        ports = [store.port]
    dist.broadcast_object_list(ports, src=0, group=group)
    if rank == 1:
        store = dist.TCPStore("127.0.0.1", ports[0] or 0, 2, is_master=False)
    dist.barrier(group)
    return True


def fewer_batches(rank: int, group: dist.ProcessGroup) -> int:
    """Train with 3 batches on one rank and 2 on the other."""
    model = DistributedDataParallel(nn.Linear(2, 1), process_group=group)
    num_batches = 3 - rank
    for _ in range(num_batches):
        model(torch.ones(4, 2)).mean().backward()
    return num_batches


def joined_batches(rank: int, group: dist.ProcessGroup) -> int:
    """Let the rank that has finished answer the others' collectives."""
    model = DistributedDataParallel(nn.Linear(2, 1), process_group=group)
    num_batches = 3 - rank
    with model.join():
        for _ in range(num_batches):
            model(torch.ones(4, 2)).mean().backward()
    return num_batches


def slow_rank(rank: int, group: dist.ProcessGroup) -> float:
    """Let one rank write a checkpoint while the other waits for it."""
    if rank == 1:
        time.sleep(NAP_S)
    total = torch.tensor(1.0)
    dist.all_reduce(total, group=group)
    return total.item()


def patient_rank(rank: int, group: dist.ProcessGroup) -> float:
    """Wait in a group whose limit allows for it."""
    patient = dist.new_group(timeout=timedelta(seconds=10 * NAP_S))
    if rank == 1:
        time.sleep(NAP_S)
    total = torch.tensor(1.0)
    dist.all_reduce(total, group=patient)
    return total.item()


def monitored_rank(rank: int, group: dist.ProcessGroup) -> float:
    """Ask who is there first."""
    if rank == 1:
        time.sleep(NAP_S)
    dist.monitored_barrier(group, timeout=timedelta(seconds=ROLL_CALL_S))
    total = torch.tensor(1.0)
    dist.all_reduce(total, group=group)
    return total.item()


def bad_sample(rank: int, group: dist.ProcessGroup) -> list[float]:
    """Raise on the one rank that meets a bad sample.

    Raises:
        KeyError: on rank 2; that is the mistake.
    """
    seen = []
    for step in range(NUM_STEPS):
        value = torch.tensor(1.0 + step)
        if (rank, step) == (2, 1):
            raise KeyError("sample 7")
        dist.all_reduce(value, group=group)
        seen.append(value.item())
    return seen


def skipped_sample(rank: int, group: dist.ProcessGroup) -> list[float]:
    """Agree on whether all have a sample; if one hasn't, all skip the step."""
    seen = []
    for step in range(NUM_STEPS):
        value = torch.tensor(1.0 + step)
        is_good = torch.tensor(int((rank, step) != (2, 1)))
        dist.all_reduce(is_good, dist.ReduceOp.MIN, group=group)
        if is_good:
            dist.all_reduce(value, group=group)
            seen.append(value.item())
    return seen


def preempted(rank: int, group: dist.ProcessGroup) -> int:
    """Be told to go, in the middle of a run, as a cluster tells a job of low priority."""
    for step in range(NUM_STEPS):
        if (rank, step) == (2, 1):
            os.kill(os.getpid(), signal.SIGTERM)
        dist.all_reduce(torch.ones(1), group=group)
    return step + 1


def leave_together(rank: int, group: dist.ProcessGroup) -> int:
    """Note the signal, tell the others, and leave after the same step."""
    must_leave = torch.tensor(0)
    signal.signal(signal.SIGTERM, lambda *_: must_leave.fill_(1))
    for step in range(NUM_STEPS):
        if (rank, step) == (2, 1):
            os.kill(os.getpid(), signal.SIGTERM)
        dist.all_reduce(torch.ones(1), group=group)
        is_over = must_leave.clone()
        dist.all_reduce(is_over, dist.ReduceOp.MAX, group=group)
        if is_over:
            break
    return step + 1


EXHIBITS = (
    Exhibit(
        title="TCPStore(..., world_size=2)",
        code=never_comes,
        fixed=both_come,
        remedy="TCPStore(..., is_master=False)",
    ),
    Exhibit(
        title="num_batches = 3 - rank",
        code=fewer_batches,
        fixed=joined_batches,
        remedy="with model.join()",
    ),
    Exhibit(
        title="time.sleep(NAP_S)  # on rank 1",
        code=slow_rank,
        fixed=patient_rank,
        revealed=monitored_rank,
        remedy="new_group(timeout=...)",
    ),
    Exhibit(
        title="raise KeyError  # on rank 2",
        code=bad_sample,
        fixed=skipped_sample,
        remedy="all_reduce(is_good, MIN)",
        world_size=3,
    ),
    Exhibit(
        title="SIGTERM  # to rank 2",
        code=preempted,
        fixed=leave_together,
        remedy="all_reduce(must_leave, MAX)",
        world_size=3,
    ),
)
