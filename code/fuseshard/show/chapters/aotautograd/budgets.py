"""Memory budgets: what each saves, and what it costs, operator by operator on a CPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fuseshard import palette
from fuseshard.compiler.joint.records import BudgetPoint, BudgetSweep, Saved
from fuseshard.measure.records import Timing
from fuseshard.show.cards import origin_line
from fuseshard.show.chapters.aotautograd.trade import MIB, ratio_finding, timed_point
from fuseshard.show.charts.variants import verdict_word
from fuseshard.show.choices import Choice, choose
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.numbers import duration, number, size, time_unit
from fuseshard.show.records import Figure, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, plain, word


def budget_choice(sweep: BudgetSweep, *, width: int) -> Choice:
    """Show what is saved at each budget, beside what is saved at budget 1.

    Args:
        sweep: from `compiler.joint.budget`.
        width: features of a row.
    """
    options = [
        (plain(str(point.budget)), _budget_figure(sweep, point, width)) for point in sweep.points
    ]
    return choose("budgets", word("Memory budget"), options, control="slider", start=1)


def trade_figure(sweep: BudgetSweep) -> Figure:
    """Draw the time of both graphs against the bytes that are saved between them."""
    timed = _distinct(sweep)
    symbol, unit_s = time_unit(timing.median_s for _, timing in timed)
    drawing = FigureBuilder("budget-trade")
    drawing.x_axis(word("kept (MiB)"), rangemode="tozero")
    drawing.y_axis(word("time of both graphs ({unit})", unit=symbol), rangemode="tozero")
    drawing.layout["showlegend"] = False
    for point, timing in timed:
        label = plain(str(point.budget))
        timed_point(
            drawing,
            label,
            palette.COMPILED,
            num_bytes=point.activation_bytes,
            timing=timing,
            unit_s=unit_s,
        )
    first, last = timed[0], timed[-1]
    caption = word(
        "Memory against time, operator by operator: budget {one} keeps {most}, budget {zero} "
        "keeps {least}; {finding}.",
        one=str(first[0].budget),
        most=size(first[0].activation_bytes),
        zero=str(last[0].budget),
        least=size(last[0].activation_bytes),
        finding=time_finding(sweep, sweep.points[-1].budget),
    )
    alt = word(
        "Points from the lower right, much memory, to the left, little memory, each with the "
        "middle half of its rounds as a bar."
    )
    origin = origin_line(sweep.origin, num_threads=sweep.comparison.num_threads)
    return drawing.build(caption=caption, alt=alt, table=_sweep_table(sweep), origin=origin)


def time_finding(sweep: BudgetSweep, budget: float) -> Word:
    """Say in a clause what a budget's time is against that of budget 1.

    Args:
        sweep: from `compiler.joint.budget`.
        budget: one of its budgets.
    """
    return ratio_finding(sweep.comparison, sweep.variants[str(budget)], sweep.variants["1.0"])


_ROLES: tuple[tuple[str, Callable[[Saved, int], bool]], ...] = (
    ("input", lambda tensor, width: tensor.kind == "input"),
    ("statistics", lambda tensor, width: tensor.shape[-1] == 1),
    ("norm", lambda tensor, width: tensor.op == "aten.add"),
    ("up", lambda tensor, width: tensor.shape[-1] == 4 * width and tensor.op == "aten.addmm"),
    ("gelu", lambda tensor, width: tensor.shape[-1] == 4 * width),
    ("between", lambda tensor, width: tensor.shape[-1] == width),
)
"""what a tensor is in the model, the first that fits"""


def _role_names() -> dict[str, Text]:
    return {
        "input": word("input"),
        "statistics": word("mean and scale of each row"),
        "norm": plain("norm(x)"),
        "up": plain("up(…)"),
        "gelu": plain("gelu(…)"),
        "between": word("between the halves"),
    }


def _by_role(point: BudgetPoint, width: int) -> dict[str, int]:
    """Add up the bytes of what is saved by what it is in the model."""
    added = {role: 0 for role, _ in _ROLES}
    for tensor in point.saved:
        if tensor.kind != "parameter":
            role = next(role for role, fits in _ROLES if fits(tensor, width))
            added[role] += tensor.num_bytes
    return added


def _budget_figure(sweep: BudgetSweep, point: BudgetPoint, width: int) -> Figure:
    name = f"budget-{str(point.budget).replace('.', '-')}"
    drawing = FigureBuilder(name, height=330)
    labels = _role_names()
    rows = [labels[role] for role, _ in _ROLES]
    drawing.rows(rows)
    most = _by_role(sweep.points[0], width)
    here = _by_role(point, width)
    limit = 1.08 * max(most.values()) / MIB
    drawing.x_axis(plain("MiB"), range=[0, limit])
    drawing.layout["barmode"] = "overlay"
    for label, added, mark in (
        (word("at budget 1"), most, palette.IDLE),
        (word("at this budget"), here, palette.COMPILED),
    ):
        values = list(added.values())
        drawing.bars(
            label,
            [value / MIB for value in values],
            rows,
            mark,
            hover=[size(value) for value in values],
            orientation="h",
        )
    return drawing.build(
        caption=_budget_caption(sweep, point),
        alt=word("Six rows with a bar for what is kept at budget 1 and, over it, at this budget."),
        table=_role_table(f"{name}-table", most, here),
        origin=origin_line(sweep.origin, num_threads=sweep.comparison.num_threads),
    )


def _budget_caption(sweep: BudgetSweep, point: BudgetPoint) -> Word:
    first = sweep.points[0]
    products = point.recomputed.get("aten.addmm", 0)
    return word(
        "Budget {budget}: {kept} kept, {percent} % of budget 1. The backward graph repeats {ops} "
        "operators, {products} of them matrix products: {flop} % of the floating-point "
        "operations of budget 1. Both graphs together take {time}.",
        budget=str(point.budget),
        kept=size(point.activation_bytes),
        percent=number(100 * point.activation_bytes / first.activation_bytes),
        ops=sum(point.recomputed.values()),
        products=products,
        flop=number(100 * point.flop / first.flop),
        time=duration(sweep.comparison[sweep.variants[str(point.budget)]].median_s),
    )


def _role_table(name: str, most: dict[str, int], here: dict[str, int]) -> Table:
    labels = _role_names()
    table = TableBuilder(name, word("Bytes kept, by what they are in the model."))
    table.texts(word("Tensors"), [labels[role] for role in most])
    table.counts(word("at budget 1"), list(most.values()), unit="B")
    table.counts(word("at this budget"), list(here.values()), unit="B")
    return table.build()


def _distinct(sweep: BudgetSweep) -> list[tuple[BudgetPoint, Timing]]:
    """Pair points with their times, each cut once."""
    return [
        (point, sweep.comparison[str(point.budget)])
        for point in sweep.points
        if sweep.variants[str(point.budget)] == str(point.budget)
    ]


def _sweep_table(sweep: BudgetSweep) -> Table:
    points: Sequence[BudgetPoint] = sweep.points
    timings = [sweep.comparison[sweep.variants[str(point.budget)]] for point in points]
    table = TableBuilder("budget-times", word("Every budget: bytes, repeated operators, times."))
    table.texts(word("Budget"), [plain(str(point.budget)) for point in points])
    table.counts(word("Kept"), [point.activation_bytes for point in points], unit="B")
    table.counts(word("Operators repeated"), [sum(p.recomputed.values()) for p in points])
    table.counts(
        word("Matrix products repeated"), [p.recomputed.get("aten.addmm", 0) for p in points]
    )
    table.seconds(word("Median"), [timing.median_s for timing in timings])
    table.texts(word("Verdict"), [verdict_word(timing.verdict) for timing in timings])
    return table.build(notes=[word("Budgets that keep the same tensors share one measurement.")])
