"""Recompiles or wasted work: what padding to few or many lengths costs in all.

A model, not a measurement: a call takes overhead + FLOP / rate, both read from measured times at
the shortest and the longest length, and every compile takes as long as the median of those timed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from fuseshard.compiler.recompiles.lengths import attention_flop
from fuseshard.compiler.recompiles.records import PaddingPlan
from fuseshard.measure.records import Sweep


@dataclass(frozen=True, kw_only=True)
class TradeOption:
    """One way to treat the lengths, and what all calls together take."""

    num_lengths: int | None
    """padded lengths, one static graph each; None = no padding, one symbolic graph"""
    compile_s: float
    useful_s: float
    """what the calls would take without padding"""
    wasted_s: float
    """what padding adds"""

    @property
    def total_s(self) -> float:
        """Seconds of everything."""
        return self.compile_s + self.useful_s + self.wasted_s


def trade(plans: Sequence[PaddingPlan], sweep: Sweep, num_calls: int) -> tuple[TradeOption, ...]:
    """Reckon each plan, and one symbolic graph without padding, for so many calls.

    Args:
        plans: of one and the same sample of sequences, which the calls repeat.
        sweep: of `costs.length_sweep`: attention, static and symbolic.
        num_calls: calls in all.

    Returns:
        One option a plan, and the symbolic one last.
    """
    share = num_calls / sum(plans[0].sequences)
    flop = plans[0].useful_flop * share
    each_s = median(point.comparison["static"].first_call_s for point in sweep.points)
    overhead_s, flop_s = _line(sweep, "static")
    options = [
        TradeOption(
            num_lengths=len(plan.lengths),
            compile_s=each_s * len(plan.lengths),
            useful_s=num_calls * overhead_s + flop * flop_s,
            wasted_s=(plan.done_flop * share - flop) * flop_s,
        )
        for plan in plans
    ]
    overhead_s, flop_s = _line(sweep, "symbolic")
    symbolic = TradeOption(
        num_lengths=None,
        compile_s=sweep.points[0].comparison["symbolic"].first_call_s,
        useful_s=num_calls * overhead_s + flop * flop_s,
        wasted_s=0.0,
    )
    return (*options, symbolic)


def cheapest(options: Sequence[TradeOption]) -> TradeOption:
    """Return the option that takes least time in all."""
    return min(options, key=lambda option: option.total_s)


def _line(sweep: Sweep, variant: str) -> tuple[float, float]:
    """Put a line through the shortest and the longest length: seconds a call, seconds a FLOP."""
    first, last = sweep.points[0], sweep.points[-1]
    low_s = first.comparison[variant].median_s
    high_s = last.comparison[variant].median_s
    low_flop = attention_flop(first.size)
    flop_s = max(0.0, high_s - low_s) / (attention_flop(last.size) - low_flop)
    return max(0.0, low_s - flop_s * low_flop), flop_s
