"""When a speed-up has paid for compiling: arithmetic on times, nothing else."""

from __future__ import annotations

import math


def calls_to_pay(first_call_s: float, eager_s: float, compiled_s: float) -> int | None:
    """Return after how many calls compiling has cost less time than it saved.

    Args:
        first_call_s: seconds of the first, compiling call.
        eager_s: seconds of an eager call.
        compiled_s: seconds of a later compiled call.

    Returns:
        The first number n with first_call_s + (n - 1) compiled_s <= n eager_s; None if a
        compiled call saves nothing.
    """
    saved_s = eager_s - compiled_s
    if saved_s <= 0:
        return None
    return max(1, math.ceil((first_call_s - compiled_s) / saved_s))


def run_needed(speedup: float) -> float:
    """Return how long an eager run must be for compiling to pay, in first calls.

    A run of T seconds saves T (1 - 1/speedup), and the first call costs C seconds; so it pays
    from T = C speedup / (speedup - 1) on. What the machine is doesn't matter.

    Args:
        speedup: eager time over compiled time, above 1.

    Raises:
        ValueError: a speed-up of 1 or less, with which no run is long enough.
    """
    if speedup <= 1:
        raise ValueError(
            f"run_needed: speedup is {speedup}, must be above 1 (otherwise nothing is saved, and "
            "no run is long enough); there is no answer to compute."
        )
    return speedup / (speedup - 1)
