"""What watching costs: all-reduces under DETAIL, and fingerprints beside a step's two passes."""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

from fuseshard.distributed.lab.detect import require_same_tensors
from fuseshard.distributed.launcher import run
from fuseshard.models.minigpt import MiniGPT

ROUNDS = 15


@dataclass(frozen=True, kw_only=True)
class Price:
    """What something costs with and without watching."""

    plain_s: float
    """s; median, without"""
    watched_s: float
    """s; median, with"""

    @property
    def ratio(self) -> float:
        """Time with over time without."""
        return self.watched_s / self.plain_s


def price_of_detail(num_calls: int = 20) -> Price:
    """Time an all-reduce of one number on two ranks, in a plain group and in one under DETAIL.

    Args:
        num_calls: all-reduces in a row, of which the mean is taken.
    """
    return run(_detail, args=(num_calls,))[0]


def price_of_fingerprints() -> Price:
    """Time both passes of MiniGPT under DDP on two ranks, without and with a check after them."""
    return run(_fingerprints)[0]


def _detail(rank: int, world_size: int, num_calls: int) -> Price:
    plain = dist.new_group()
    dist.set_debug_level(dist.DebugLevel.DETAIL)
    watched = dist.new_group()
    number = torch.zeros(1)

    def reduce(group: dist.ProcessGroup) -> None:
        for _ in range(num_calls):
            dist.all_reduce(number, group=group)

    times = _interleaved({"plain": lambda: reduce(plain), "watched": lambda: reduce(watched)})
    return Price(plain_s=times["plain"] / num_calls, watched_s=times["watched"] / num_calls)


def _fingerprints(rank: int, world_size: int) -> Price:
    torch.manual_seed(0)
    model = DistributedDataParallel(MiniGPT())
    tokens = torch.randint(0, 600, (8, 65), generator=torch.Generator().manual_seed(rank))
    group = dist.new_group()

    def step() -> None:
        model.zero_grad()
        logits = model(tokens[:, :-1])
        cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()).backward()

    def watched_step() -> None:
        step()
        require_same_tensors(model.module.named_parameters(), group)

    times = _interleaved({"plain": step, "watched": watched_step})
    return Price(plain_s=times["plain"], watched_s=times["watched"])


def _interleaved(variants: Mapping[str, Callable[[], None]]) -> dict[str, float]:
    """Seconds of each variant, in turn, all ranks starting together; medians after a warm-up."""
    times: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(ROUNDS + 1):
        for name, call in variants.items():
            dist.barrier()
            started_s = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - started_s)
    return {name: statistics.median(taken[1:]) for name, taken in times.items()}
