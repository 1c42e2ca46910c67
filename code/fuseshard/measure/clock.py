"""Time alternatives so that the answer survives a noisy machine.

Variants are timed in rounds, each round in a drawn order, on one thread, after their first call
and a warm-up. A round keeps each variant's fastest block of calls, and ratios are taken within a
round: interruptions drop out, and what slows a whole round down cancels.
"""

import functools
import math
import timeit
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import torch

from fuseshard.measure.provenance import environment
from fuseshard.measure.records import Comparison, Origin, Sweep, SweepPoint, Timing
from fuseshard.measure.statistics import paired_ratio, quartiles, round_order
from fuseshard.measure.stopwatch import Clock, HostClock, Sync, Variant, clock_for, threads

MIN_BLOCK_S = 0.002
"""Seconds of back-to-back calls in a block: thousands of times the clock's resolution, and short
enough that some blocks pass between two interruptions of a busy machine."""

BLOCKS_PER_ROUND = 3
"""A round keeps a variant's fastest block, because interruptions only ever add time."""

LONGEST_INTERRUPTION_S = 0.05

MAX_CALLS = 1_000_000


def compare(
    variants: Mapping[str, Variant],
    *,
    sync: Sync | None = None,
    device: torch.device | str | None = None,
    num_threads: int = 1,
    rounds: int = 15,
    budget_s: float = 10.0,
    compiled: bool = False,
) -> Comparison:
    """Time alternatives against the first of them, and say what the noise allows to say.

    Args:
        variants: name -> function without arguments; the first is what the others are compared
            with. On the CPU, `torch.utils.benchmark.Timer` times them.
        sync: waits for an accelerator other than CUDA; called before every reading of the clock.
        device: a CUDA device; then device events time the stream instead of the host's clock.
        num_threads: torch's threads for everything, first calls included; restored afterwards.
        rounds: how often each variant is timed; under 8 no verdict reaches 99 % confidence.
        budget_s: seconds for warm-up and rounds together, first calls on top. Rounds that no
            longer fit are left out, which widens the intervals, and in the end yields
            "no difference measured". Each variant is called four times however long it takes.
        compiled: a variant calls torch.compile. Warms the compiler beforehand and keeps first
            calls from finding an older compile on disk.

    Returns:
        One timing a variant, each but the first with its ratio to the first.

    Raises:
        ValueError: no variants, one that can't be called, or a setting out of range.

    Source:
        Georges, Buytaert, Eeckhout, OOPSLA 2007, doi:10.1145/1297027.1297033, for why one run and
        one number mislead; the interval is `statistics.paired_ratio`'s.
    """
    _check(variants, num_threads=num_threads, rounds=rounds, budget_s=budget_s)
    clock = clock_for(sync, device)
    watches = [_Stopwatch(fn, clock) for fn in variants.values()]
    if compiled:
        warm_compiler()
    with threads(num_threads):
        with fresh_compile() if compiled else nullcontext():
            first_calls_s = [watch.once_s() for watch in watches]
        measured = _run_rounds(watches, rounds, budget_s)
        origin = Origin(is_live=True, environment=environment())
    calls = [watch.num_calls for watch in watches]
    timings = _timings(list(variants), first_calls_s, calls, measured)
    return Comparison(timings=timings, num_threads=num_threads, origin=origin)


def sweep(
    make_variants: Callable[[int], Mapping[str, Variant]],
    sizes: Sequence[int],
    *,
    size_name: str = "size",
    budget_s: float = 30.0,
    **settings: Any,
) -> Sweep:
    """Make the same comparison at growing sizes; `Sweep.break_even` says where one starts to pay.

    Args:
        make_variants: size -> variants, as `compare` takes them, with the same names each time.
        sizes: at least one, growing.
        size_name: what the sizes count.
        budget_s: seconds for all sizes together, shared equally; first calls on top.
        settings: the other settings of `compare`.

    Returns:
        One comparison a size.

    Raises:
        ValueError: the sizes don't grow, there are none, names differ between sizes, or `compare`
            refuses its input. What a variant raises has the size as a note.
    """
    if not sizes or any(a >= b for a, b in pairwise(sizes)):
        raise ValueError(f"sweep: got sizes {list(sizes)}, required at least one, growing.")
    share_s = budget_s / len(sizes)
    points: list[SweepPoint] = []
    for size in sizes:
        try:
            comparison = compare(make_variants(size), budget_s=share_s, **settings)
        except Exception as error:
            error.add_note(f"sweep: at {size_name} {size}")
            raise
        names = [timing.name for timing in comparison.timings]
        if points and names != [timing.name for timing in points[0].comparison.timings]:
            raise ValueError(
                f"sweep: got variants {names} at {size_name} {size}, required the names of the "
                "first size (a curve joins what has one name)."
            )
        # The sweep carries the origin once; at each of its points it would only repeat.
        points.append(SweepPoint(size=size, comparison=replace(comparison, origin=None)))
    return Sweep(size_name=size_name, points=tuple(points), origin=comparison.origin)


def first_call(fn: Variant, *, sync: Sync | None = None, num_threads: int = 1) -> float:
    """Return the seconds of the first call of a function that torch.compile made.

    The compiler is warmed before, and compiles kept on disk by earlier runs are not used:
    the call pays for tracing, code generation and the C++ compiler, and for nothing else.

    Args:
        fn: not called yet; a second first call doesn't exist.
        sync: waits for an accelerator; called before every reading of the clock.
        num_threads: torch's threads during the call; restored afterwards.

    Returns:
        Seconds on the host's clock.
    """
    warm_compiler()
    with threads(num_threads), fresh_compile():
        return _Stopwatch(fn, HostClock(sync)).once_s()


@functools.cache
def warm_compiler() -> float:
    """Compile one trivial function, once per process, and return the seconds that it took.

    The first compile of a process also pays for imports, and in an empty cache for precompiling
    the C++ headers, 10 to 30 s that no later compile pays. Call this before timing any compile.

    Returns:
        Seconds that the one-off compile took, also when called again.
    """
    begin_s = timeit.default_timer()
    # backend "inductor" by name: a reader's notebook may have changed the default.
    torch.compile(_trivial, backend="inductor")(torch.ones(64))
    return timeit.default_timer() - begin_s


@contextmanager
def fresh_compile() -> Iterator[None]:
    """Keep torch.compile from using what earlier processes left on disk.

    Without this, a first call takes a tenth of the time in every build but the first, and a page
    would show the speed of the disk.
    """
    with warnings.catch_warnings():
        # Says only that the profile cache is off too, which is what we asked for.
        warnings.filterwarnings("ignore", message="dynamo_pgo force disabled")
        before = torch.compiler.config.force_disable_caches
        torch.compiler.config.force_disable_caches = True
        try:
            yield
        finally:
            torch.compiler.config.force_disable_caches = before


@dataclass
class _Stopwatch:
    """A variant, the clock that times it, and the block that suits it."""

    fn: Variant
    clock: Clock
    num_calls: int = 1
    is_slow: bool = False
    """one call is long enough to be timed by itself, without calls that don't count before it."""

    def once_s(self) -> float:
        """Seconds of one call."""
        begin_s = self.clock.now_s()
        self.fn()
        return self.clock.now_s() - begin_s

    def warm_up(self, deadline_s: float) -> None:
        """Find how many calls fill MIN_BLOCK_S."""
        # Long, or interrupted? The second look tells; `all` takes it only after a long one.
        self.is_slow = all(self.once_s() >= LONGEST_INTERRUPTION_S for _ in range(2))
        while not self.is_slow and timeit.default_timer() < deadline_s:
            block_s = self._block_s()
            if block_s >= MIN_BLOCK_S:
                block_s = min(block_s, self._block_s())
            if block_s >= MIN_BLOCK_S or self.num_calls >= MAX_CALLS:
                break
            # A block may come out as 0 s on a coarse clock; grow at most tenfold a step.
            wanted = math.ceil(self.num_calls * MIN_BLOCK_S / max(block_s, MIN_BLOCK_S / 10))
            self.num_calls = min(MAX_CALLS, max(wanted, self.num_calls + 1))

    def round_s(self) -> float:
        """Seconds per call of the fastest block; a call that fills a block is timed once."""
        if self.is_slow:
            return self.once_s()
        num_blocks = BLOCKS_PER_ROUND if self.num_calls > 1 else 1
        return min(self._block_s() for _ in range(num_blocks)) / self.num_calls

    def _block_s(self) -> float:
        return self.clock.seconds_per_call(self.fn, self.num_calls) * self.num_calls


def _check(
    variants: Mapping[str, Variant], *, num_threads: int, rounds: int, budget_s: float
) -> None:
    if not variants:
        raise ValueError("compare: got no variants, required at least one name -> function.")
    for name, fn in variants.items():
        if not callable(fn):
            raise ValueError(
                f"compare: variant {name!r} is a {type(fn).__name__}, required a function without "
                "arguments; pass `lambda: f(x)`, not `f(x)`."
            )
    for setting, value in (("num_threads", num_threads), ("rounds", rounds)):
        if not isinstance(value, int) or value < 1:
            raise ValueError(f"compare: {setting} is {value}, required a whole number from 1 on.")
    if not budget_s > 0:
        raise ValueError(f"compare: budget_s is {budget_s}, required more than 0 seconds.")


def _run_rounds(watches: Sequence[_Stopwatch], rounds: int, budget_s: float) -> list[list[float]]:
    """Warm up, then time every variant once a round until the rounds or the time are used up."""
    deadline_s = timeit.default_timer() + budget_s
    for watch in watches:
        watch.warm_up(deadline_s)
    measured: list[list[float]] = [[] for _ in watches]
    longest_round_s = 0.0
    for round_index in range(rounds):
        begin_s = timeit.default_timer()
        if round_index > 0 and begin_s + longest_round_s > deadline_s:
            break
        for i in round_order(len(watches), round_index):
            measured[i].append(watches[i].round_s())
        longest_round_s = max(longest_round_s, timeit.default_timer() - begin_s)
    return measured


def _timings(
    names: Sequence[str],
    first_calls_s: Sequence[float],
    calls: Sequence[int],
    measured: Sequence[Sequence[float]],
) -> tuple[Timing, ...]:
    """Sum up each variant's rounds, and pair all but the first with the first."""
    timings = []
    for i, name in enumerate(names):
        low_s, median_s, high_s = quartiles(measured[i])
        timings.append(
            Timing(
                name=name,
                first_call_s=first_calls_s[i],
                rounds_s=tuple(measured[i]),
                calls_per_round=calls[i],
                median_s=median_s,
                low_s=low_s,
                high_s=high_s,
                ratio=paired_ratio(measured[0], measured[i]) if i > 0 else None,
            )
        )
    return tuple(timings)


def _trivial(x: torch.Tensor) -> torch.Tensor:
    return x + 1
