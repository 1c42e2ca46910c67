"""Show how fast each way writes tokens, and how many graphs each leads to."""

from __future__ import annotations

from collections.abc import Mapping

from fuseshard import palette
from fuseshard.compiler.ledger.records import Generation
from fuseshard.palette import Mark
from fuseshard.show.cards import origin_line
from fuseshard.show.charts.comparison import finding
from fuseshard.show.charts.variants import Variant, verdict_word
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.numbers import number
from fuseshard.show.records import Figure, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Word, plain, word

_OTHER_EAGER = Mark(palette.EAGER.light, palette.EAGER.dark, "dot", "circle-open", ".")
_OTHER_COMPILED = Mark(palette.COMPILED.light, palette.COMPILED.dark, "dot", "square-open", ".")


def way_variants() -> dict[str, Variant]:
    """Return labels and marks of the ways to write tokens."""
    return {
        "growing": Variant(
            word("growing cache, eager"), palette.EAGER, word("the eager growing cache")
        ),
        "static": Variant(word("fixed cache, eager"), _OTHER_EAGER, word("the eager fixed cache")),
        "no cache": Variant(word("no cache, eager"), _OTHER_EAGER, word("reading everything anew")),
        "growing, compiled": Variant(
            word("growing cache, compiled"),
            _OTHER_COMPILED,
            word("the compiled step with a growing cache"),
        ),
        "static, compiled": Variant(
            word("fixed cache, compiled"),
            palette.COMPILED,
            word("the compiled step with a fixed cache"),
        ),
    }


def speed_figure(made: Generation) -> Figure:
    """Draw tokens per second, a bar a way.

    Args:
        made: by `compiler.ledger.generation.generate`.
    """
    known = way_variants()
    names = [timing.name for timing in made.comparison.timings]
    drawing = FigureBuilder("tokens-per-second", height=130 + 46 * len(names))
    drawing.x_axis(word("tokens per second"), rangemode="tozero")
    drawing.rows([known[name].label for name in names])
    drawing.layout["showlegend"] = False
    for name in names:
        speed = made.tokens_per_s(name)
        drawing.bars(
            known[name].label,
            [speed],
            [known[name].label],
            known[name].mark,
            hover=[number(speed)],
            orientation="h",
        )
    return drawing.build(
        caption=word(
            "Tokens per second of {sequences} sequences together: {finding}.",
            sequences=made.num_sequences,
            finding=way_finding(made, "static, compiled"),
        ),
        alt=word(
            "{n} bars: the slowest way writes {low} tokens per second, the fastest {high}.",
            n=len(names),
            low=number(min(made.tokens_per_s(name) for name in names)),
            high=number(max(made.tokens_per_s(name) for name in names)),
        ),
        table=_table(made),
        origin=origin_line(made.origin, num_threads=made.comparison.num_threads),
    )


def way_finding(made: Generation, way: str) -> Word:
    """Say in a clause what one way gains over the eager growing cache, if anything."""
    known = way_variants()
    timing, ratio = made.comparison.candidate(way)
    baseline = known[made.comparison.baseline.name]
    return finding(timing, ratio, baseline.in_sentence, known[way].in_sentence)


def graph_table(counts: Mapping[str, Mapping[str, int]]) -> Table:
    """Show how many graphs a cache leads to under each setting of `dynamic`.

    Args:
        counts: setting, as Python writes it -> "growing" and "static" -> graphs.
    """
    table = TableBuilder(
        "graphs", word("Graphs captured while one answer is written, by torch.compile's dynamic.")
    )
    table.code(plain("dynamic"), list(counts))
    table.counts(word("Growing cache"), [count["growing"] for count in counts.values()])
    table.counts(word("Fixed cache"), [count["static"] for count in counts.values()])
    return table.build()


def _table(made: Generation) -> Table:
    timings = made.comparison.timings
    known = way_variants()
    table = TableBuilder("tokens-per-second-table", word("Writing the same tokens in five ways."))
    table.texts(word("Way"), [known[t.name].label for t in timings])
    table.numbers(word("Tokens per second"), [made.tokens_per_s(t.name) for t in timings])
    table.seconds(word("Median"), [t.median_s for t in timings])
    table.seconds(word("Lower quartile"), [t.low_s for t in timings])
    table.seconds(word("Upper quartile"), [t.high_s for t in timings])
    table.counts(word("Graphs"), [made.graphs[t.name] for t in timings])
    table.texts(word("Verdict"), [verdict_word(t.verdict) for t in timings])
    return table.build()
