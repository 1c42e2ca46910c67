"""What detectives found: trials of backends and modules, a graph made small, rounding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fuseshard import palette
from fuseshard.compiler.debugging.records import Minified, Trial, UlpCount
from fuseshard.show.choices import Choice, choose
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.numbers import duration, number
from fuseshard.show.records import Figure, Source, Table
from fuseshard.show.sources import annotated_source
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Word, plain, word


def trials_table(name: str, trials: Sequence[Trial]) -> Table:
    """Show the outcome of each backend or module tried.

    Args:
        name: "ladder" or "leaves".
        trials: in the order in which they were tried.
    """
    captions = {
        "ladder": word("One stage more on each row."),
        "leaves": word("Each leaf of the model, compiled alone."),
    }
    endings = {"right": word("right"), "wrong": word("wrong"), "raises": word("raises an error")}
    table = TableBuilder(name, captions[name])
    table.code(word("Tried"), [trial.name for trial in trials])
    table.texts(word("Outcome"), [endings[trial.ending] for trial in trials])
    table.texts(word("Largest difference"), [plain(trial.detail or "—") for trial in trials])
    return table.build()


def price_table(runs: Mapping[str, tuple[int, float]]) -> Table:
    """Show what each way to find a fault ran, and how long it took.

    Args:
        runs: "ladder", "bisector" or "minifier" -> trials, and seconds with all that they need.
    """
    ways = {
        "ladder": (word("ladder"), word("the stage")),
        "bisector": (word("bisector"), word("the operator")),
        "minifier": (word("minifier"), word("a program to send")),
    }
    table = TableBuilder("prices", word("Three ways to look, as they ran on this page."))
    table.texts(word("Way"), [ways[name][0] for name in runs])
    table.texts(word("It finds"), [ways[name][1] for name in runs])
    table.counts(word("Trials"), [trials for trials, _ in runs.values()])
    table.texts(word("Time"), [plain(duration(seconds)) for _, seconds in runs.values()])
    return table.build()


def minified_figure(minified: Minified) -> Figure:
    """Draw how the failing graph shrank, checkpoint by checkpoint."""
    steps = [float(i) for i in range(len(minified.nodes))]
    sizes = [float(n) for n in minified.nodes]
    drawing = FigureBuilder("minified", height=280)
    drawing.x_axis(word("checkpoint"), dtick=1)
    drawing.y_axis(word("nodes of the failing graph"), rangemode="tozero")
    drawing.layout["showlegend"] = False
    drawing.line(word("nodes"), steps, sizes, palette.MEASURED)
    table = TableBuilder("minified-table", word("The failing graph at each checkpoint."))
    table.counts(word("Checkpoint"), [int(step) for step in steps])
    table.counts(word("Nodes"), list(minified.nodes))
    return drawing.build(
        caption=word(
            "From {first} nodes to {last}, in {queries} trials of smaller graphs.",
            first=minified.nodes[0],
            last=minified.nodes[-1],
            queries=minified.queries,
        ),
        alt=word("A line that falls from checkpoint to checkpoint."),
        table=table.build(),
    )


def repro_source(minified: Minified) -> Source:
    """Show what is left of the failing graph."""
    caption = word("The smallest graph that still fails, as the minifier wrote it")
    return annotated_source("repro", caption, minified.repro, language="python", folded=False)


def ulps_choice(counts: Sequence[UlpCount]) -> Choice:
    """Let the reader pick a function and see how exact eager and compiled code are.

    Args:
        counts: eager's and compiled's of each function, one after the other.
    """
    names = list(dict.fromkeys(count.name for count in counts))
    options = [
        (plain(name), _ulps_figure(index, [c for c in counts if c.name == name]))
        for index, name in enumerate(names)
    ]
    return choose("ulps", word("Function"), options)


def exact_share(count: UlpCount) -> float:
    """Return the share of results that are the exact value, correctly rounded."""
    return count.counts[0] / sum(count.counts)


def _ulps_figure(index: int, pair: Sequence[UlpCount]) -> Figure:
    labels = {"eager": word("eager"), "compiled": word("compiled")}
    marks = {"eager": palette.EAGER, "compiled": palette.COMPILED}
    last = len(pair[0].counts) - 1
    bins: list[Word] = [word("{n} ulp", n=n) for n in range(last)] + [word("further")]
    drawing = FigureBuilder(f"ulps-{index}", height=320)
    drawing.x_axis(word("distance from the exact result"))
    drawing.y_axis(word("share of the results (%)"), range=[0, 100])
    table = TableBuilder(f"ulps-{index}-table", word("{name}: how exact?", name=pair[0].name))
    table.texts(word("Distance"), bins)
    for count in pair:
        shares = [100 * n / sum(count.counts) for n in count.counts]
        hover = [f"{number(share, 2)} %" for share in shares]
        drawing.bars(labels[count.way], bins, shares, marks[count.way], hover=hover)
        table.numbers(labels[count.way], shares, "%", significant=2)
    drawing.layout["barmode"] = "group"
    eager, compiled = (number(100 * exact_share(count), 2) for count in pair)
    return drawing.build(
        caption=word(
            "{name}: {eager} % of eager's results and {compiled} % of the compiled ones are the "
            "exact value, rounded once.",
            name=pair[0].name,
            eager=eager,
            compiled=compiled,
        ),
        alt=word("Two bars for each distance; most results lie at the left."),
        table=table.build(),
    )
