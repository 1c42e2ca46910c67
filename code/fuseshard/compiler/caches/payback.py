"""After how many calls a first call has paid for itself: arithmetic on what was measured.

F = seconds of the first compiled call, e = of a call in eager mode, r = time of a later compiled
call over e. After n calls compiled code has taken F + (n - 1) r e seconds, eager mode n e. They are
even at n = (F/e - r) / (1 - r), if r is below 1.
"""

import math
from dataclasses import dataclass

from fuseshard.measure.records import Ratio


@dataclass(frozen=True, kw_only=True)
class Payback:
    """The number of calls after which compiling has paid, as far as the measurement can tell."""

    calls: int | None
    """with the median ratio; None: never"""
    at_least: int | None
    """if compiled code is as fast as the ratio's interval allows"""
    at_most: int | None
    """if it is as slow as that; None: never, as far as one can tell"""


def payback(first_call_s: float, eager_s: float, ratio: Ratio) -> Payback:
    """Count the calls until compiling has paid, with the interval that the ratio has.

    Args:
        first_call_s: F.
        eager_s: e, a median.
        ratio: r with its interval, compiled over eager.
    """
    return Payback(
        calls=calls_to_pay_back(first_call_s, eager_s, ratio.median),
        at_least=calls_to_pay_back(first_call_s, eager_s, ratio.low),
        at_most=calls_to_pay_back(first_call_s, eager_s, ratio.high),
    )


def calls_to_pay_back(first_call_s: float, eager_s: float, ratio: float) -> int | None:
    """Count the calls after which compiled code has taken no longer than eager mode.

    Args:
        first_call_s: F.
        eager_s: e.
        ratio: r.

    Returns:
        The smallest such number, the first call included; None when there is none.
    """
    if ratio >= 1:
        return None
    even = (first_call_s / eager_s - ratio) / (1 - ratio)
    return max(1, math.ceil(even))


def saved_s(calls: float, first_call_s: float, eager_s: float, ratio: float) -> float:
    """Return the seconds that compiling has saved after so many calls; negative before it paid.

    Args:
        calls: n, at least 1.
        first_call_s: F.
        eager_s: e.
        ratio: r.
    """
    return calls * eager_s - (first_call_s + (calls - 1) * ratio * eager_s)
