"""Splitting one speed-up among the switches that made it; arithmetic on times, nothing else.

A *set* is a combination of switches that are on; t(S) = seconds of a call with the set S.
Factors multiply, so their logarithms add: log t(all) - log t(none) is what there is to share out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, pairwise

from fuseshard.compiler.ledger.records import Ledger, Share
from fuseshard.measure.records import Ratio
from fuseshard.measure.statistics import paired_ratio

Set = frozenset[str]
Times = Mapping[Set, float]


def name_of(switches: Iterable[str]) -> str:
    """Name a combination of switches, e.g. "fusion + vectors"; "none" for the empty one."""
    return " + ".join(sorted(switches)) or "none"


def sets_of(switches: Sequence[str]) -> list[Set]:
    """List the combinations of some switches, from none to all."""
    sizes = range(len(switches) + 1)
    return [frozenset(chosen) for size in sizes for chosen in combinations(switches, size)]


def cumulative(times: Times, order: Sequence[str]) -> tuple[Share, ...]:
    """Turn the switches on one after the other, and charge each with the step that it makes.

    The steps multiply to the whole whatever the order is, but each of them depends on it.

    Args:
        times: seconds for every combination of the switches.
        order: the switches, first to last.

    Returns:
        One share a switch, in this order.
    """
    _check(times, order)
    chain = [frozenset(order[:n]) for n in range(len(order) + 1)]
    steps = [times[after] / times[before] for before, after in pairwise(chain)]
    return tuple(Share(switch=s, factor=f) for s, f in zip(order, steps, strict=True))


def one_at_a_time(times: Times, switches: Sequence[str]) -> tuple[Share, ...]:
    """Start from everything on, turn one switch off, and charge it with what is lost.

    These shares need not multiply to the whole; `interaction` is what is left over.

    Args:
        times: seconds for every combination of the switches.
        switches: all of them.
    """
    _check(times, switches)
    everything = frozenset(switches)
    return tuple(
        Share(switch=s, factor=times[everything] / times[everything - {s}]) for s in switches
    )


def interaction(times: Times, switches: Sequence[str]) -> float:
    """Return the factor that the shares of `one_at_a_time` leave unexplained; 1 if none.

    Args:
        times: seconds for every combination of the switches.
        switches: all of them.
    """
    charged = math.prod(share.factor for share in one_at_a_time(times, switches))
    return whole(times, switches) / charged


def shapley(times: Times, switches: Sequence[str]) -> tuple[Share, ...]:
    """Charge each switch with its mean step over all orders in which it can be turned on.

    With n switches, s among n! orders has the set S before it in |S|! (n - |S| - 1)! of them:
        log share(s) = sum over S without s of |S|! (n - |S| - 1)! / n! log(t(S + s) / t(S)).
    The shares multiply to the whole, and no order is preferred.

    Args:
        times: seconds for every combination of the switches.
        switches: all of them.

    Source:
        Shapley 1953, "A value for n-person games", doi:10.1515/9781400881970-018.
    """
    _check(times, switches)
    shares = []
    for switch in switches:
        others = [other for other in switches if other != switch]
        total = sum(
            _weight(len(before), len(switches)) * math.log(times[before | {switch}] / times[before])
            for before in sets_of(others)
        )
        shares.append(Share(switch=switch, factor=math.exp(total)))
    return tuple(shares)


def whole(times: Times, switches: Sequence[str]) -> float:
    """Return the factor on the time of all switches together."""
    return times[frozenset(switches)] / times[frozenset()]


def _weight(num_before: int, num_switches: int) -> float:
    after = num_switches - num_before - 1
    ways = math.factorial(num_before) * math.factorial(after)
    return ways / math.factorial(num_switches)


def _check(times: Times, switches: Sequence[str]) -> None:
    missing = [name_of(chosen) for chosen in sets_of(switches) if chosen not in times]
    if missing:
        raise ValueError(
            f"account: no time for {missing}, must have one for each of the "
            f"{2 ** len(switches)} combinations of {list(switches)} (an order passes through "
            "them); measure what is missing."
        )


def thread_ratio(made: Ledger, variant: str) -> Ratio:
    """Return what a second thread does to a variant's time, paired within each round.

    Args:
        made: with "eager" and "compiled" on one thread and on two.
        variant: one of the two.
    """
    one, two = made.threads[variant], made.threads[f"{variant}, 2"]
    return paired_ratio(one.rounds_s, two.rounds_s)
