"""What one operator call costs, however small its tensors, and when its work outweighs that."""

from __future__ import annotations

from collections.abc import Mapping

from fuseshard import palette
from fuseshard.measure.records import Comparison, Sweep
from fuseshard.show.cards import origin_line
from fuseshard.show.charts.comparison import comparison_figure
from fuseshard.show.charts.variants import Variant
from fuseshard.show.choices import Choice, choose
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.numbers import duration, number
from fuseshard.show.records import Figure
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Word, plain, word

WORK = "work"
"""name of the timed variant in the sweep of one operator"""


def ways_figure(comparison: Comparison) -> Figure:
    """Draw what adding two tensors of one element costs, called in several ways.

    Args:
        comparison: its variants are "add" and the keys of `_ways`.
    """
    subject = word("Adding two tensors of one element, called in different ways")
    return comparison_figure("ways", comparison, subject=subject, variants=_ways())


def sizes_choice(sweeps: Mapping[str, Sweep]) -> Choice:
    """Let the reader pick an operator and see its time against its size.

    Args:
        sweeps: operator, as code -> sweep with the one variant `WORK`.
    """
    figures = [
        (plain(op), _size_figure(f"size-{index}", op, sweep))
        for index, (op, sweep) in enumerate(sweeps.items())
    ]
    return choose("sizes", word("Operator"), figures)


def model_figure(sweep: Sweep) -> Figure:
    """Draw MiniGPT's forward pass over batch sizes above the same calls without numbers.

    Args:
        sweep: its variants are "empty" and "eager".
    """
    sizes = [float(size) for size in sweep.sizes]
    labels = {"empty": word("same calls, no numbers"), "eager": word("MiniGPT, eager")}
    marks = {"empty": palette.FORMULA, "eager": palette.EAGER}
    own = {name: [point.comparison[name] for point in sweep.points] for name in labels}
    drawing = FigureBuilder("model-sizes")
    drawing.log_axis("x", word("sequences in the batch"), sizes)
    drawn = [s for timings in own.values() for t in timings for s in (t.low_s, t.high_s)]
    drawing.log_axis("y", word("time per forward pass"), drawn, duration)
    table = TableBuilder("model-sizes-table", word("Forward passes at each batch size."))
    table.counts(word("Sequences"), list(sweep.sizes))
    for name, timings in own.items():
        medians = [timing.median_s for timing in timings]
        spread = [timing.low_s for timing in timings], [timing.high_s for timing in timings]
        drawing.line(labels[name], sizes, medians, marks[name], spread=spread, show=duration)
        table.seconds(labels[name], medians)
    first, last = (own["empty"][i].median_s / own["eager"][i].median_s for i in (0, len(sizes) - 1))
    return drawing.build(
        caption=word(
            "The price of being called is the same at every batch size; it is {first} % of a "
            "forward pass at the smallest and {last} % at the largest. Lines are medians, bands "
            "the middle half of the rounds.",
            first=number(100 * first, 2),
            last=number(100 * last, 2),
        ),
        alt=word("Two lines on logarithmic axes: one stays level, the other rises away from it."),
        table=table.build(),
        origin=origin_line(sweep.origin, num_threads=sweep.points[0].comparison.num_threads),
    )


def doubling_size(sweep: Sweep) -> float:
    """Find the size from which a call takes twice as long as the shortest one.

    Args:
        sweep: with the one variant `WORK`.

    Returns:
        Elements, interpolated between two sizes on logarithmic axes; infinity where no size does.
    """
    # Lower quartiles: interruptions only ever add time.
    seconds = [point.comparison[WORK].low_s for point in sweep.points]
    doubled_s = 2 * min(seconds)
    # The last size below, not the first above: a small size that was disturbed doesn't count.
    last = max(i for i, low_s in enumerate(seconds) if low_s < doubled_s)
    if last + 1 == len(seconds):
        return float("inf")
    low, high = seconds[last : last + 2]
    before, after = sweep.sizes[last : last + 2]
    return float(before * (after / before) ** ((doubled_s - low) / (high - low)))


def _ways() -> dict[str, Variant]:
    """Name the ways to call, for legends and for sentences."""
    return {
        "add": Variant(plain("torch.add(x, y)"), palette.EAGER),
        "operator": Variant(plain("x + y"), palette.MEASURED),
        "inference": Variant(word("in inference mode"), palette.COMPILED),
        "out": Variant(word("into memory that is there (out=)"), palette.RECORDED),
        "recorded": Variant(word("recorded for a backward pass"), palette.BACKWARD),
        "by_name": Variant(plain("torch.ops.aten.add.Tensor(x, y)"), palette.UPDATE),
    }


def _size_figure(name: str, op: str, sweep: Sweep) -> Figure:
    timings = [point.comparison[WORK] for point in sweep.points]
    sizes = [float(size) for size in sweep.sizes]
    drawing = FigureBuilder(name, height=340)
    drawing.log_axis("x", word("elements of the result"), sizes)
    medians = [timing.median_s for timing in timings]
    spread = ([timing.low_s for timing in timings], [timing.high_s for timing in timings])
    drawing.log_axis("y", word("time per call"), [*medians, *spread[0], *spread[1]], duration)
    drawing.line(word("measured"), sizes, medians, palette.EAGER, spread=spread, show=duration)
    floor = [min(spread[0])] * 2
    drawing.line(
        word("price of a call"),
        [sizes[0], sizes[-1]],
        floor,
        palette.FORMULA,
        show=duration,
        mode="lines",
    )
    table = TableBuilder(f"{name}-table", word("{op}: times at each size.", op=op))
    table.counts(word("Elements"), list(sweep.sizes))
    table.seconds(word("Median"), medians)
    table.seconds(word("Lower quartile"), spread[0])
    table.seconds(word("Upper quartile"), spread[1])
    threads = sweep.points[0].comparison.num_threads
    return drawing.build(
        caption=_size_caption(op, sweep),
        alt=word(
            "A line on logarithmic axes that runs along a level of {floor} and then rises to "
            "{last}.",
            floor=duration(floor[0]),
            last=duration(medians[-1]),
        ),
        table=table.build(),
        origin=origin_line(sweep.origin, num_threads=threads),
    )


def _size_caption(op: str, sweep: Sweep) -> Word:
    floor = duration(min(point.comparison[WORK].low_s for point in sweep.points))
    size = doubling_size(sweep)
    if size == float("inf"):
        return word(
            "{op}: the price of a call, {floor}, is most of the time at every size tried.",
            op=op,
            floor=floor,
        )
    return word(
        "{op}: a call costs {floor}, and it takes about {size} elements to double that. The line "
        "is the median, the band the middle half of the rounds.",
        op=op,
        floor=floor,
        size=number(float(size), 2),
    )


def ways_finding(comparison: Comparison, way: str) -> Word:
    """Say in a clause what a way to call changes against `torch.add(x, y)`.

    Args:
        comparison: as in `ways_figure`.
        way: one of its variants other than "add".
    """
    timing, ratio = comparison.candidate(way)
    saved_s = comparison["add"].median_s * (1 - ratio.median)
    if timing.verdict == "faster":
        return word("it saves {time}", time=duration(saved_s))
    if timing.verdict == "slower":
        return word("it costs {time} more", time=duration(-saved_s))
    return word("no difference was measured")
