"""Show the prices that a chain's time is predicted from, and how good the predictions are."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from fuseshard import palette
from fuseshard.compiler.ledger.chain_model import ChainModel, Prediction
from fuseshard.compiler.ledger.records import COMPILED, EAGER, SpeedMap, SpeedMaps
from fuseshard.show.cards import origin_line
from fuseshard.show.chapters.when_it_helps.map_words import column_in_sentence, row_in_sentence
from fuseshard.show.charts.variants import known_variants
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.numbers import duration, factor, number
from fuseshard.show.recorded import nothing_recorded
from fuseshard.show.records import Figure, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Word, plain, word

NEAR = 1.5
"""a predicted time within this factor of the measured one counts as near"""


def price_table(model: ChainModel, chains: SpeedMap) -> Table:
    """Show the measured prices and the ceiling that follows from them.

    Args:
        model: by `chain_model.fit`.
        chains: what it was fitted to.
    """
    sizes = list(model.pass_s)
    names = [
        word("one eager call"),
        word("one compiled call"),
        word("one operation on one element, in a register"),
        *(word("one pass over {n} elements", n=number(size)) for size in sizes),
    ]
    prices_s = [
        model.eager_call_s,
        model.compiled_call_s,
        model.arithmetic_s,
        *(model.pass_s[size] for size in sizes),
    ]
    table = TableBuilder("prices", word("What a chain pays for, as measured."))
    table.texts(word("Price"), names)
    table.texts(word("Time"), [plain(duration(price_s)) for price_s in prices_s])
    return table.build(origin=origin_line(chains.origin, num_threads=1))


def prediction_figure(predictions: Sequence[Prediction], chains: SpeedMap) -> Figure:
    """Draw predicted against measured times, with the line on which they are equal.

    Args:
        predictions: by `chain_model.predictions`.
        chains: what they are held against.
    """
    drawing = FigureBuilder("predicted", height=420)
    known = known_variants()
    everything = [s for p in predictions for s in (p.predicted_s, p.measured_s)]
    low, high = min(everything), max(everything)
    for axis, title in (("x", word("predicted time")), ("y", word("measured time"))):
        drawing.log_axis(axis, title, everything, lambda value: duration(value, 1))
    drawing.line(
        word("predicted = measured"),
        [low, high],
        [low, high],
        palette.FORMULA,
        show=duration,
        mode="lines",
    )
    for variant in (EAGER, COMPILED):
        own = [p for p in predictions if p.variant == variant]
        drawing.points(
            known[variant].label,
            [p.predicted_s for p in own],
            [p.measured_s for p in own],
            known[variant].mark,
            hover=[_hover(p) for p in own],
        )
    return drawing.build(
        caption=word(
            "Predicted against measured time of chains that the prices were not read off: "
            "{finding}.",
            finding=error_finding(predictions),
        ),
        alt=word(
            "{n} points on logarithmic axes, from {low} to {high}, around the diagonal on which "
            "prediction and measurement agree.",
            n=len(predictions),
            low=duration(low),
            high=duration(high),
        ),
        table=_prediction_table(predictions),
        origin=origin_line(chains.origin, num_threads=1),
    )


def error_finding(predictions: Sequence[Prediction]) -> Word:
    """Say in a clause how far the predictions are off."""
    factors = [_off(p) for p in predictions]
    return word(
        "half of the {n} predictions are within a factor of {median}, {near} within {limit}, and "
        "the worst is off by {worst}",
        n=len(factors),
        median=number(statistics.median(factors)),
        near=sum(f <= NEAR for f in factors),
        limit=NEAR,
        worst=factor(max(factors)),
    )


def side_finding(model: ChainModel, chains: SpeedMap) -> Word:
    """Say in a clause how often the model is right about who wins, where that was measured.

    Args:
        model: by `chain_model.fit`.
        chains: what it is held against.
    """
    decided = [cell for cell in chains.cells if cell.speedup is not None]
    right = [
        cell
        for cell in decided
        if (model.speedup(int(cell.row), cell.column) > 1) == (cell.comparison.verdict == "faster")
    ]
    return word(
        "of the {n} places where a difference was measured, the model names the winner in {right}",
        n=len(decided),
        right=len(right),
    )


def ceiling_finding(model: ChainModel, chains: SpeedMap) -> Word:
    """Say in a clause how many places of a map of chains lie above the model's ceiling.

    Args:
        model: by `chain_model.fit`.
        chains: what it is held against.
    """
    faster = [cell for cell in chains.cells if cell.comparison.verdict == "faster"]
    over = [
        cell
        for cell in faster
        if cell.comparison.ratio.speedup_low > model.ceiling(cell.column) > 0
    ]
    if not over:
        return word("none of the {n} places with a gain lies above it", n=len(faster))
    best = max(over, key=lambda cell: cell.comparison.ratio.speedup / model.ceiling(cell.column))
    return word(
        "of the {n} places with a gain, {over} lie above it, most of all {row} on {column}: "
        "{speedup} where it allows {ceiling}",
        n=len(faster),
        over=len(over),
        row=row_in_sentence("chain", best.row),
        column=column_in_sentence("chain", best.column),
        speedup=factor(best.comparison.ratio.speedup),
        ceiling=factor(model.ceiling(best.column)),
    )


def price_finding(maps: SpeedMaps | None) -> Word:
    """Say in a clause what one eager operation takes with few and with many elements.

    Args:
        maps: recorded; None if they aren't yet.
    """
    if maps is None:
        return nothing_recorded()
    chains = next(one for one in maps.maps if one.family == "chain")
    row, few, many = chains.rows[0], chains.columns[0], chains.columns[-1]
    seconds = [
        chains.cell(row, elements).comparison[EAGER].median_s / int(row) for elements in (few, many)
    ]
    return word(
        "one eager operation takes {short} with {few} elements and {long} with {many}",
        short=duration(seconds[0]),
        few=number(few),
        long=duration(seconds[1]),
        many=number(many),
    )


def _off(p: Prediction) -> float:
    """Factor between the two times, whichever is larger."""
    return max(p.predicted_s / p.measured_s, p.measured_s / p.predicted_s)


def _hover(p: Prediction) -> str:
    return f"{p.operations} × {number(p.elements)}: {duration(p.predicted_s)}, " + duration(
        p.measured_s
    )


def _prediction_table(predictions: Sequence[Prediction]) -> Table:
    known = known_variants()
    table = TableBuilder("predicted-table", word("Chains: predicted and measured times."))
    table.texts(word("Variant"), [known[p.variant].label for p in predictions])
    table.counts(word("Operations"), [p.operations for p in predictions])
    table.counts(word("Elements"), [p.elements for p in predictions])
    table.seconds(word("Predicted"), [p.predicted_s for p in predictions])
    table.seconds(word("Measured"), [p.measured_s for p in predictions])
    table.numbers(word("Error"), [100 * p.error for p in predictions], unit="%")
    return table.build()
