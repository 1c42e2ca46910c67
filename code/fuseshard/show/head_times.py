"""Tables and findings of the chapter on Inductor, from its timings of MiniGPT's head.

The break-even is drawn in `fuseshard.show.head_break_even`.
"""

from __future__ import annotations

from fuseshard import palette
from fuseshard.compiler.records import HeadSweep
from fuseshard.measure.records import Comparison, Sweep
from fuseshard.palette import Mark
from fuseshard.show.cards import origin_line
from fuseshard.show.charts.comparison import comparison_figure, finding
from fuseshard.show.charts.sweep import break_even_finding
from fuseshard.show.charts.variants import Variant, known_variants, verdict_word
from fuseshard.show.numbers import duration, number
from fuseshard.show.records import Figure, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Word, plain, word

# The two eager ways share eager's colour and differ in dash and symbol.
_LIBRARY = Mark(palette.EAGER.light, palette.EAGER.dark, "dot", "circle-open", ".")


def own_variants() -> dict[str, Variant]:
    """Return labels and marks of the ways in which this chapter computes the head."""
    return {
        "by_hand": Variant(word("eager (by hand)"), palette.EAGER),
        "library": Variant(word("eager (torch.softmax)"), _LIBRARY),
        "compiled": Variant(word("compiled"), palette.COMPILED),
    }


def one_size_figure(comparison: Comparison, rows: int) -> Figure:
    """Draw the steady state at one batch size.

    Args:
        comparison: of "by_hand", "library" and "compiled", in any order.
        rows: of the input.
    """
    return comparison_figure(
        "one-size",
        comparison,
        subject=word("The head at {rows} rows", rows=number(rows)),
        variants=own_variants(),
    )


def steady_finding(comparison: Comparison, name: str) -> Word:
    """Say in a clause what one comparison allows to say about a variant against its first.

    Args:
        comparison: as `one_size_figure` takes it.
        name: which variant.
    """
    known = own_variants()
    timing, ratio = comparison.candidate(name)
    return finding(timing, ratio, known[comparison.baseline.name].label, known[name].label)


def size_finding(sweep: HeadSweep | None, way: str) -> Word:
    """Say in a clause from which batch size on compiling pays against one way.

    Args:
        sweep: live or recorded; None if it isn't recorded yet.
        way: "by_hand" or "library".
    """
    if sweep is None:
        return word("nothing is recorded yet")
    known = known_variants()
    labels = (known["eager"].label, known["compiled"].label)
    return break_even_finding(way_of(sweep, way), "compiled", labels, word("rows"))


def row_finding(sweep: HeadSweep, way: str, rows: int) -> Word:
    """Say in a clause what compiling does at one batch size.

    Args:
        sweep: from `compiler.breakeven`.
        way: "by_hand" or "library".
        rows: one of the sweep's sizes.
    """
    point = next(point for point in way_of(sweep, way).points if point.size == rows)
    timing, ratio = point.comparison.candidate("compiled")
    known = own_variants()
    return finding(timing, ratio, known[way].label, known["compiled"].label)


def sweep_table(sweep: HeadSweep, *, name: str) -> Table:
    """Show medians, speed-ups with their intervals, and verdicts at each batch size."""
    table = TableBuilder(name, word("The head, eager and compiled, at each batch size."))
    table.counts(word("Rows"), list(sweep.by_hand.sizes))
    for way in ("by_hand", "library"):
        points = [point.comparison for point in way_of(sweep, way).points]
        ratios = [point.ratio for point in points]
        table.seconds(
            own_variants()[way].label, [comparison["eager"].median_s for comparison in points]
        )
        table.seconds(word("compiled"), [comparison["compiled"].median_s for comparison in points])
        table.numbers(word("Speed-up"), [ratio.speedup for ratio in ratios])
        table.numbers(word("at least"), [ratio.speedup_low for ratio in ratios])
        table.numbers(word("at most"), [ratio.speedup_high for ratio in ratios])
        table.texts(word("Verdict"), [verdict_word(ratio.verdict) for ratio in ratios])
    return table.build(origin=origin_line(sweep.origin, num_threads=threads_of(sweep)))


def payback_table(sweep: HeadSweep, first_call_s: float) -> Table:
    """Show after how many calls the time of the first one is won back.

    Args:
        sweep: steady times, from `compiler.breakeven`.
        first_call_s: seconds of one compiling call.
    """
    caption = word(
        "Calls until compiling has paid for a first call of {first}.", first=duration(first_call_s)
    )
    table = TableBuilder("payback", caption)
    table.counts(word("Rows"), list(sweep.by_hand.sizes))
    for way in ("by_hand", "library"):
        label = own_variants()[way].label
        calls = [_calls(point.comparison, first_call_s) for point in way_of(sweep, way).points]
        cells = [plain(number(n)) if n is not None else word("never") for n in calls]
        table.texts(label, cells)
    return table.build(
        notes=[word("never: at this size compiling was not measured to be faster.")],
        origin=origin_line(sweep.origin, num_threads=threads_of(sweep)),
    )


def _calls(comparison: Comparison, first_call_s: float) -> int | None:
    """Divide the first call by what each later call saves; None where it saves nothing."""
    if comparison.verdict != "faster":
        return None
    saved_s = comparison["eager"].median_s - comparison["compiled"].median_s
    # Verdicts come from paired rounds; medians taken apart may disagree on a noisy machine.
    return -int(-first_call_s // saved_s) if saved_s > 0 else None


def way_of(sweep: HeadSweep, way: str) -> Sweep:
    """Return the sweep of one way to write the softmax, by_hand or library."""
    return {"by_hand": sweep.by_hand, "library": sweep.library}[way]


def threads_of(sweep: HeadSweep) -> int | None:
    """Return the threads that timed it; on a GPU they say nothing."""
    return sweep.by_hand.points[0].comparison.num_threads if sweep.device == "cpu" else None
