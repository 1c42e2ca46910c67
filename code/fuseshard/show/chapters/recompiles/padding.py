"""Padding against compiling: wasted work, and what is cheapest for how many calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fuseshard import palette
from fuseshard.compiler.recompiles.records import PaddingPlan
from fuseshard.compiler.recompiles.trade import TradeOption, cheapest, trade
from fuseshard.measure.records import Sweep
from fuseshard.palette import Mark
from fuseshard.show.cards import origin_line
from fuseshard.show.choices import Choice, choose
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.numbers import duration, magnitude, number, time_unit
from fuseshard.show.records import Figure, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, plain, word

NUM_CALLS = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
"""what the slider goes through"""

_COMPILING = Mark(*palette.INK, "solid", "diamond", "x")


def plans_table(plans: Sequence[PaddingPlan]) -> Table:
    """Show each plan's lengths and the work that it wastes.

    Args:
        plans: of the same sequences, from few lengths to many.
    """
    table = TableBuilder("plans", word("Lengths that waste least, and what they waste."))
    table.counts(word("Graphs"), [len(plan.lengths) for plan in plans])
    table.texts(word("Padded lengths"), [plain(", ".join(map(str, p.lengths))) for p in plans])
    table.numbers(word("Wasted work"), [100 * plan.wasted_share for plan in plans], "%")
    return table.build()


@dataclass(frozen=True)
class Padded:
    """One sequence, computed in three ways."""

    length: int
    padded: int
    masked: float
    """largest difference of the padded and masked result from the unpadded one"""
    unmasked: float
    """the same without the mask"""
    bound: float
    """what rounding explains"""


def differences_table(rows: Sequence[Padded]) -> Table:
    """Judge padded results: rounding, or a bug.

    Args:
        rows: one a sequence.
    """
    table = TableBuilder("padding-right", word("Largest difference from the unpadded result."))
    table.counts(word("Length"), [row.length for row in rows])
    table.counts(word("Padded to"), [row.padded for row in rows])
    table.texts(word("With the mask"), [plain(magnitude(row.masked)) for row in rows])
    table.texts(word("Without it"), [plain(magnitude(row.unmasked)) for row in rows])
    table.texts(word("Rounding explains"), [plain(magnitude(row.bound)) for row in rows])
    return table.build()


def trade_slider(plans: Sequence[PaddingPlan], sweep: Sweep) -> Choice:
    """Let the reader choose how many calls there are, and see what each option takes.

    Args:
        plans: of the same sequences, from few lengths to many.
        sweep: from `compiler.recompiles.costs.length_sweep`.
    """
    options: list[tuple[Text, Figure]] = [
        (plain(number(calls)), _trade_figure(plans, sweep, calls)) for calls in NUM_CALLS
    ]
    return choose("trade", word("Calls"), options, control="slider", start=3)


def trade_finding(plans: Sequence[PaddingPlan], sweep: Sweep, num_calls: int) -> Word:
    """Name what is cheapest for so many calls."""
    best = cheapest(trade(plans, sweep, num_calls))
    if best.num_lengths is None:
        return word("one symbolic graph without padding")
    if best.num_lengths == 1:
        return word("padding everything to one length")
    return word("padding to {n} lengths", n=best.num_lengths)


def _trade_figure(plans: Sequence[PaddingPlan], sweep: Sweep, num_calls: int) -> Figure:
    options = trade(plans, sweep, num_calls)
    symbol, unit_s = time_unit([max(option.total_s for option in options)])
    labels = [_label(option) for option in options]
    drawing = FigureBuilder(f"trade-{num_calls}", height=360)
    drawing.x_axis(word("padded lengths"), type="category")
    drawing.y_axis(word("total time ({unit})", unit=symbol), rangemode="tozero")
    drawing.layout |= {"barmode": "stack", "bargap": 0.3}
    parts = (
        (word("compiling"), [o.compile_s for o in options], _COMPILING),
        (word("calls without padding"), [o.useful_s for o in options], palette.COMPILED),
        (word("padding"), [o.wasted_s for o in options], palette.IDLE),
    )
    for label, seconds, mark in parts:
        drawing.bars(
            label,
            labels,
            [value / unit_s for value in seconds],
            mark,
            hover=[duration(value) if value else "0" for value in seconds],
        )
    return drawing.build(
        caption=word(
            "Cheapest for {calls} calls: {finding}. Reckoned from measured times of compiles and "
            "calls.",
            calls=number(num_calls),
            finding=trade_finding(plans, sweep, num_calls),
        ),
        alt=word(
            "A bar for each number of padded lengths and one for a symbolic graph, in three "
            "parts: compiling, calls without padding, padding. The cheapest takes {best}, the "
            "dearest {worst}.",
            best=duration(cheapest(options).total_s),
            worst=duration(max(option.total_s for option in options)),
        ),
        table=_trade_table(options, num_calls),
        origin=origin_line(sweep.origin, num_threads=sweep.points[0].comparison.num_threads),
    )


def _trade_table(options: Sequence[TradeOption], num_calls: int) -> Table:
    table = TableBuilder(
        f"trade-{num_calls}-table", word("What {calls} calls take.", calls=number(num_calls))
    )
    table.texts(word("Padded lengths"), [_label(option) for option in options])
    table.seconds(word("Compiling"), [option.compile_s for option in options])
    table.seconds(word("Calls without padding"), [option.useful_s for option in options])
    table.seconds(word("Padding"), [option.wasted_s for option in options])
    table.seconds(word("In all"), [option.total_s for option in options])
    return table.build()


def _label(option: TradeOption) -> Text:
    if option.num_lengths is None:
        return word("symbolic")
    return plain(option.num_lengths)
