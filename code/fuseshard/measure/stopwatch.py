"""The two clocks behind `clock.compare`: the host's, and a CUDA device's own."""

import timeit
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import torch
from torch.utils import benchmark

Variant = Callable[[], object]
Sync = Callable[[], object]


class Clock(Protocol):
    """Something that times blocks of calls."""

    def now_s(self) -> float:
        """Return the host's time in seconds, once all work handed over so far is done."""

    def seconds_per_call(self, fn: Variant, num_calls: int) -> float:
        """Return the mean seconds of `num_calls` calls in a row, after two that don't count.

        Args:
            fn: what to call.
            num_calls: how often, at least 1.
        """


@dataclass(frozen=True)
class HostClock:
    """Times a block by the host's clock, through `torch.utils.benchmark`."""

    sync: Sync | None = None
    """waits for an accelerator; None: torch's own timer, which waits for the one it knows."""

    def now_s(self) -> float:
        """Return the host's time in seconds, once all work handed over so far is done."""
        if self.sync is None:
            return float(benchmark.timer())
        self.sync()
        return timeit.default_timer()

    def seconds_per_call(self, fn: Variant, num_calls: int) -> float:
        """Return the mean seconds of `num_calls` calls in a row, after two that don't count.

        Args:
            fn: what to call.
            num_calls: how often, at least 1.
        """
        timer = benchmark.Timer(
            "fn()", globals={"fn": fn}, timer=self.now_s, num_threads=torch.get_num_threads()
        )
        return float(timer.timeit(num_calls).mean)


@dataclass(frozen=True)
class CudaClock:
    """Times a block by two events in the device's stream, so that the host's clock is not asked."""

    device: torch.device

    def now_s(self) -> float:
        """Return the host's time in seconds, once the device has nothing left to do."""
        torch.cuda.synchronize(self.device)
        return timeit.default_timer()

    def seconds_per_call(self, fn: Variant, num_calls: int) -> float:
        """Return the mean seconds of `num_calls` calls in a row, after two that don't count.

        Args:
            fn: what to call; it works on the device's current stream.
            num_calls: how often, at least 1.
        """
        with torch.cuda.device(self.device):
            begin = torch.cuda.Event(enable_timing=True)
            end = torch.cuda.Event(enable_timing=True)
            fn()
            fn()
            torch.cuda.synchronize()
            begin.record()
            for _ in range(num_calls):
                fn()
            end.record()
            end.synchronize()
        return float(begin.elapsed_time(end)) / 1e3 / num_calls  # elapsed_time is in ms


def clock_for(sync: Sync | None, device: torch.device | str | None) -> Clock:
    """Choose the clock.

    Args:
        sync: waits for an accelerator; None when there is nothing to wait for.
        device: where the work runs; None means the CPU, or wherever `sync` waits for.

    Returns:
        Device events for CUDA, the host's clock otherwise.

    Raises:
        ValueError: a device that has no events here, or CUDA together with `sync`.
    """
    kind = "cpu" if device is None else torch.device(device).type
    if kind == "cpu":
        return HostClock(sync)
    if kind != "cuda" or sync is not None:
        raise ValueError(
            f"compare: got device {str(device)!r} with sync {sync}; device events exist for CUDA "
            "only, and they need no sync. For another accelerator pass its synchronize as sync, "
            "without a device."
        )
    return CudaClock(torch.device(kind, torch.device(device or kind).index or 0))


@contextmanager
def threads(num_threads: int) -> Iterator[None]:
    """Set torch's thread count for a block and restore it afterwards, whatever happens.

    Compiled functions are guarded on the thread count: call one inside and outside of this block
    and it compiles twice.

    Args:
        num_threads: threads for one operation on the CPU.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(num_threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)
