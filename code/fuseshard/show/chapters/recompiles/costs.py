"""What calls pay: for many entries, for a lookup in vain, for symbols in the code."""

from __future__ import annotations

from fuseshard import palette
from fuseshard.compiler.recompiles.records import ShapeCosts
from fuseshard.measure.records import Comparison, Sweep
from fuseshard.palette import Mark
from fuseshard.show.beside.draw import beside
from fuseshard.show.cards import origin_line
from fuseshard.show.charts.comparison import comparison_figure, finding
from fuseshard.show.charts.sweep import break_even_finding, sweep_figure
from fuseshard.show.charts.variants import Variant, known_variants, verdict_word
from fuseshard.show.choices import Choice
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.numbers import duration, factor, time_unit
from fuseshard.show.recorded import HasResult, nothing_recorded
from fuseshard.show.records import Figure, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, word

# Everything that torch.compile made has the colour of compiled code, everything else eager's.
_OTHER_COMPILED = Mark(palette.COMPILED.light, palette.COMPILED.dark, "solid", "circle", "")
_OTHER_EAGER = Mark(palette.EAGER.light, palette.EAGER.dark, "dot", "circle-open", ".")


def own_variants() -> dict[str, Variant]:
    """Return labels and marks of what this chapter times."""
    return {
        "front": Variant(word("first entry fits"), palette.COMPILED),
        "last": Variant(word("last entry fits"), _OTHER_COMPILED),
        "hit": Variant(word("hit"), palette.COMPILED, word("a hit")),
        "fallback": Variant(word("no entry fits"), _OTHER_EAGER, word("a call that no entry fits")),
        "static": Variant(word("static"), palette.COMPILED, word("static code")),
        "symbolic": Variant(word("symbolic"), _OTHER_COMPILED, word("symbolic code")),
    }


def lookup_figure(sweep: Sweep) -> Figure:
    """Draw the time of a call against the number of entries, for the first and the last entry.

    Args:
        sweep: from `compiler.recompiles.costs.lookup_sweep`.
    """
    variants = own_variants()
    timings = [timing for point in sweep.points for timing in point.comparison.timings]
    symbol, unit_s = time_unit(timing.median_s for timing in timings)
    drawing = FigureBuilder("lookup")
    drawing.x_axis(word("compiled entries"), rangemode="tozero")
    drawing.y_axis(word("time per call ({unit})", unit=symbol), rangemode="tozero")
    for name in ("front", "last"):
        own = [point.comparison[name] for point in sweep.points]
        low, high = [t.low_s / unit_s for t in own], [t.high_s / unit_s for t in own]
        drawing.line(
            variants[name].label,
            list(sweep.sizes),
            [timing.median_s / unit_s for timing in own],
            variants[name].mark,
            spread=(low, high),
            show=lambda value: duration(value * unit_s),
        )
    return drawing.build(
        caption=word(
            "A call searches the entries one by one: {finding}. Lines are medians, bands the "
            "middle half of the rounds.",
            finding=lookup_finding(sweep),
        ),
        alt=word(
            "Two lines, time per call against the number of entries from {low} to {high}: one "
            "for calls that the first entry serves, one for calls that the last entry serves.",
            low=sweep.sizes[0],
            high=sweep.sizes[-1],
        ),
        table=_lookup_table(sweep),
        origin=origin_line(sweep.origin, num_threads=sweep.points[0].comparison.num_threads),
    )


def _lookup_table(sweep: Sweep) -> Table:
    table = TableBuilder("lookup-table", word("Time of a call, by the number of entries."))
    table.counts(word("Entries"), list(sweep.sizes))
    for name in ("front", "last"):
        medians = [point.comparison[name].median_s for point in sweep.points]
        table.seconds(own_variants()[name].label, medians)
    verdicts = [verdict_word(point.comparison.verdict) for point in sweep.points]
    table.texts(word("Verdict"), verdicts)
    return table.build()


def lookup_finding(sweep: Sweep) -> Word:
    """Say in a clause what each further entry costs, or that nothing was measured."""
    last = sweep.points[-1]
    if last.comparison.verdict != "slower":
        return word("with {n} entries no difference was measured", n=last.size)
    front_s = last.comparison["front"].median_s
    extra_s = last.comparison["last"].median_s - front_s
    return word(
        "with {n} entries, a call that the last one serves takes {ratio} the time of one that the "
        "first one serves, about {each} more for each entry in between",
        n=last.size,
        ratio=factor(last.comparison.ratio.median),
        each=duration(extra_s / (last.size - 1), 2),
    )


def fallback_figure(comparison: Comparison) -> Figure:
    """Draw the same operation eager, as a hit, and after a lookup in vain.

    Args:
        comparison: from `compiler.recompiles.costs.fallback_comparison`.
    """
    return comparison_figure(
        "fallback", comparison, subject=word("One multiplication"), variants=own_variants()
    )


def variant_finding(comparison: Comparison, name: str) -> Word:
    """Say in a clause what a comparison allows to say about one of its variants."""
    known = known_variants() | own_variants()
    timing, ratio = comparison.candidate(name)
    baseline = known[comparison.baseline.name]
    return finding(timing, ratio, baseline.in_sentence, known[name].in_sentence)


def lengths_figure(sweep: Sweep) -> Figure:
    """Draw static, symbolic and eager code against the length.

    Args:
        sweep: from `compiler.recompiles.costs.length_sweep`.
    """
    return sweep_figure(
        "symbolic-cost",
        sweep,
        subject=word("Attention"),
        size=word("tokens"),
        candidate="symbolic",
        variants=own_variants(),
    )


def gpu_symbolic_finding(costs: ShapeCosts | None) -> Word:
    """Say in a clause what symbolic code costs on a GPU; None if it isn't recorded yet."""
    return symbolic_finding(costs.lengths) if costs else nothing_recorded()


def symbolic_finding(sweep: Sweep) -> Word:
    """Say in a clause what symbolic code costs against static code."""
    known = own_variants()
    labels = (known["static"].in_sentence, known["symbolic"].in_sentence)
    return break_even_finding(sweep, "symbolic", labels, word("tokens"))


def recordings_finding(costs: ShapeCosts | None) -> Word:
    """Say in a clause how often CUDA graphs were recorded for a handful of lengths."""
    if costs is None:
        return nothing_recorded()
    return word(
        "for {lengths} lengths, one symbolic graph led to {symbolic} recordings of a CUDA graph, "
        "and one static graph a length to {static}",
        lengths=len(costs.lengths.sizes),
        symbolic=costs.recorded_symbolic,
        static=costs.recorded_static,
    )


def gpu_costs(outcome: HasResult[ShapeCosts]) -> Table | Choice | Word:
    """Show what a GPU measured, or say that nothing is recorded yet.

    Args:
        outcome: of `compiler.recompiles.costs.gpu_length_costs`.
    """
    return beside(outcome, _gpu_costs)


def _gpu_costs(costs: ShapeCosts) -> Table:
    sweep = costs.lengths
    titles: dict[str, Text] = {
        "eager": word("eager"),
        "static": word("static"),
        "symbolic": word("symbolic"),
        "static reduce-overhead": word("static, CUDA graphs"),
        "symbolic reduce-overhead": word("symbolic, CUDA graphs"),
    }
    table = TableBuilder("gpu-lengths", word("Attention on a GPU, time of a call by length."))
    table.counts(word("Length"), list(sweep.sizes))
    for name, title in titles.items():
        table.seconds(title, [point.comparison[name].median_s for point in sweep.points])
    table.texts(
        word("Symbolic against static"),
        [verdict_word(point.comparison["symbolic"].verdict) for point in sweep.points],
    )
    return table.build(origin=origin_line(costs.origin))
