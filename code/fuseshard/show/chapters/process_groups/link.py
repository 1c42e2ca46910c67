"""A link's measured times with the lines through them."""

from __future__ import annotations

from collections.abc import Sequence

from fuseshard import palette
from fuseshard.distributed.network.predict import predict_send
from fuseshard.distributed.network.records import Link, LinkTimes, Pattern
from fuseshard.measure import records as measured
from fuseshard.measure.records import Environment
from fuseshard.palette import Mark
from fuseshard.show.cards import origin_line
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.numbers import duration, number, size, time_unit
from fuseshard.show.records import Column, Figure, Number, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Word, word

_BOTH = Mark(
    palette.MEASURED.light, palette.MEASURED.dark, palette.MEASURED.dash, "diamond-open", "x"
)


def link_table(links: Sequence[tuple[LinkTimes, Link]]) -> Table:
    """Show latency, bandwidth and the cost of adding, with their intervals.

    Args:
        links: times and fit of each pattern.
    """
    seconds = [fit.alpha_s.value for _, fit in links]
    symbol, unit_s = time_unit(seconds)
    rows = [
        (
            _pattern_word(times.pattern),
            Number(fit.alpha_s.value / unit_s, number(fit.alpha_s.value / unit_s)),
            _interval(fit.alpha_s.low / unit_s, fit.alpha_s.high / unit_s),
            Number(fit.beta_s_per_byte.value * 1e9, number(fit.beta_s_per_byte.value * 1e9)),
            _interval(fit.beta_s_per_byte.low * 1e9, fit.beta_s_per_byte.high * 1e9),
            Number(fit.gamma_s_per_byte.value * 1e9, number(fit.gamma_s_per_byte.value * 1e9)),
            Number(fit.worst_misfit * 100, number(fit.worst_misfit * 100, 2)),
        )
        for times, fit in links
    ]
    return Table(
        name="link-numbers",
        caption=word(
            "Latency α, time per byte β with intervals of {confidence} %, time γ to add a byte, "
            "and how far the line lies off at worst.",
            confidence=number(100 * links[0][1].confidence),
        ),
        columns=(
            Column(word("Messages")),
            Column(word("α"), unit=symbol, numeric=True),
            Column(word("from, to"), unit=symbol),
            Column(word("β"), unit="ns/B", numeric=True),
            Column(word("from, to"), unit="ns/B"),
            Column(word("γ"), unit="ns/B", numeric=True),
            Column(word("Misfit"), unit="%", numeric=True),
        ),
        rows=tuple(rows),
    )


def link_figure(links: Sequence[tuple[LinkTimes, Link]], environment: Environment) -> Figure:
    """Draw the times of messages over their size, and the line through each pattern's.

    Args:
        links: times and fit of each pattern.
        environment: the machine that they were measured on.
    """
    drawing = FigureBuilder("link-times", height=420)
    sizes = sorted({n for times, _ in links for n in times.sizes_bytes})
    everything = [t for times, _ in links for t in times.medians_s()]
    drawing.log_axis("x", word("size of a message"), sizes, size)
    drawing.log_axis("y", word("time of a message"), everything, duration)
    table = TableBuilder("link-times-drawn", word("Times of messages, and the fitted line."))
    table.sizes(word("Size"), sizes)
    dense = _between(sizes[0], sizes[-1])
    for times, fit in links:
        name = _pattern_word(times.pattern)
        mark = palette.MEASURED if times.pattern == "one way" else _BOTH
        medians = times.medians_s()
        drawing.points(name, times.sizes_bytes, medians, mark, hover=[duration(t) for t in medians])
        line = [predict_send(fit, n).value for n in dense]
        dash = "dot" if times.pattern == "one way" else "dash"
        formula = palette.FORMULA
        drawn = Mark(formula.light, formula.dark, dash, formula.symbol, formula.pattern)
        label = word("α + β S, {pattern}", pattern=name)
        drawing.line(label, dense, line, drawn, mode="lines", show=duration)
        table.seconds(name, medians)
        table.seconds(label, [predict_send(fit, n).value for n in times.sizes_bytes])
    worst = max(fit.worst_misfit for _, fit in links)
    return drawing.build(
        caption=word(
            "Small messages all cost the latency, large ones their bytes; the lines are off by at "
            "most {misfit} %.",
            misfit=number(100 * worst, 2),
        ),
        alt=word(
            "{count} rows of points on logarithmic axes, flat for small messages and rising for "
            "large ones, each with a curve through it.",
            count=len(links),
        ),
        table=table.build(),
        origin=origin_line(measured.Origin(is_live=True, environment=environment), num_threads=1),
    )


def _pattern_word(pattern: Pattern) -> Word:
    return word("one way") if pattern == "one way" else word("both ways at once")


def _interval(low: float, high: float) -> Word:
    return word("{low} to {high}", low=number(low), high=number(high))


def _between(low: int, high: int, num_points: int = 60) -> list[float]:
    """Sizes at equal distances on a logarithmic axis."""
    return [low * (high / low) ** (i / (num_points - 1)) for i in range(num_points)]
