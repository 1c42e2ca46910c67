"""What a measurement of breaks allows to say: findings in a clause, and the table of all times."""

from __future__ import annotations

from itertools import takewhile

from fuseshard.compiler.breaks.records import BreakCost
from fuseshard.measure.records import Comparison, Sweep, Verdict
from fuseshard.show.cards import origin_line
from fuseshard.show.charts.variants import known_variants, listed, verdict_word
from fuseshard.show.numbers import factor, number
from fuseshard.show.recorded import nothing_recorded
from fuseshard.show.records import Origin, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Word, word


def cost_table(cost: BreakCost, *, name: str) -> Table:
    """Show medians, speed-ups and verdicts at each size and number of graphs.

    Args:
        cost: from `compiler.breaks.cost`.
        name: lower-case words joined by hyphens, unique on its page.
    """
    rows = [
        (size, point)
        for size, sweep in zip(cost.elements, cost.sweeps, strict=True)
        for point in sweep.points
    ]
    comparisons = [point.comparison for _, point in rows]
    ratios = [comparison.ratio for comparison in comparisons]
    table = TableBuilder(name, word("The chain, eager and compiled, by size and graphs."))
    table.counts(word("Elements"), [size for size, _ in rows])
    table.counts(word("Graphs"), [point.size for _, point in rows])
    for variant in ("eager", "compiled"):
        medians = [comparison[variant].median_s for comparison in comparisons]
        table.seconds(known_variants()[variant].label, medians)
    table.numbers(word("Speed-up"), [ratio.speedup for ratio in ratios])
    table.numbers(word("at least"), [ratio.speedup_low for ratio in ratios])
    table.numbers(word("at most"), [ratio.speedup_high for ratio in ratios])
    table.texts(word("Verdict"), [verdict_word(ratio.verdict) for ratio in ratios])
    return table.build(origin=origin_of(cost))


def every_finding(cost: BreakCost | None) -> Word:
    """Say in a clause up to how many graphs compiling was measured to pay, size by size.

    Args:
        cost: live or recorded; None if it isn't recorded yet.
    """
    if cost is None:
        return nothing_recorded()
    pairs = zip(cost.elements, cost.sweeps, strict=True)
    return listed([pays_finding(size, sweep) for size, sweep in pairs])


def advice_finding(cost: BreakCost | None, graphs: int) -> Word:
    """Judge "a break every few operations leaves only overhead" at one number of graphs.

    Args:
        cost: live or recorded; None if it isn't recorded yet.
        graphs: one of the sweeps' sizes.
    """
    if cost is None:
        return nothing_recorded()
    verdicts = [_at(sweep, graphs).verdict for sweep in cost.sweeps]
    if "faster" not in verdicts:
        return word("no gain was measured at any size, as the advice says")
    if set(verdicts) == {"faster"}:
        return word("a gain was measured at every size, against the advice")
    size, sweep = next(
        (size, sweep)
        for size, sweep in zip(cost.elements, cost.sweeps, strict=True)
        if _at(sweep, graphs).verdict == "faster"
    )
    return word(
        "it depends on the size: with {elements} compiling still gains ({gain})",
        elements=elements_word(size),
        gain=factor(_at(sweep, graphs).ratio.speedup),
    )


def seconds_per_break(sweep: Sweep) -> float:
    """Return what one more graph adds to a compiled call, over what it adds in eager mode.

    Args:
        sweep: at one size, from one graph to many.
    """
    first, last = sweep.points[0], sweep.points[-1]
    added = {
        name: last.comparison[name].median_s - first.comparison[name].median_s
        for name in ("eager", "compiled")
    }
    return (added["compiled"] - added["eager"]) / (last.size - first.size)


def pays_finding(size: int, sweep: Sweep) -> Word:
    """Say in a clause with how many graphs compiling was measured to gain or lose at one size.

    Args:
        size: elements of the tensor.
        sweep: over the number of graphs, growing.
    """
    gains = _run(sweep, "faster")
    losses = _run(sweep, "slower", from_the_end=True)
    return word(
        "with {elements}, {finding}",
        elements=elements_word(size),
        finding=_finding(gains, losses, len(sweep.points)),
    )


def _finding(gains: list[int], losses: list[int], num_points: int) -> Word:
    if len(gains) == num_points:
        return word("compiling gains at every number of graphs tried")
    if len(losses) == num_points:
        return word("compiling loses at every number of graphs tried")
    if not gains and not losses:
        return word("neither a gain nor a loss was measured at either end")
    if not losses:
        return _gain(gains)
    if not gains:
        return word("compiling loses from {n} graphs on", n=min(losses))
    return word("{gain}, and loses from {n} graphs on", gain=_gain(gains), n=min(losses))


def _gain(gains: list[int]) -> Word:
    if gains == [1]:
        return word("compiling gains with a single graph")
    return word("compiling gains up to {n} graphs", n=max(gains))


def _run(sweep: Sweep, verdict: Verdict, *, from_the_end: bool = False) -> list[int]:
    """List the numbers of graphs at one end of a sweep that all have one verdict."""
    points = sweep.points[::-1] if from_the_end else sweep.points
    run = takewhile(lambda point: point.comparison.verdict == verdict, points)
    return [point.size for point in run]


def elements_word(size: int) -> Word:
    """Name a size of tensor."""
    return word("{n} elements", n=number(size))


def _at(sweep: Sweep, graphs: int) -> Comparison:
    return next(point.comparison for point in sweep.points if point.size == graphs)


def origin_of(cost: BreakCost) -> Origin | None:
    """Say where the times come from; on a GPU, torch's threads say nothing."""
    threads = cost.sweeps[0].points[0].comparison.num_threads if cost.device == "cpu" else None
    return origin_line(cost.origin, num_threads=threads)
