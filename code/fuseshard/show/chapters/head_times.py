"""Tables and findings of the chapter on Inductor, from its timings of MiniGPT's head.

The break-even is drawn in `fuseshard.show.chapters.head_break_even`.
"""

from __future__ import annotations

from collections.abc import Mapping

from fuseshard import palette
from fuseshard.compiler.records import HeadSweep
from fuseshard.measure.records import Comparison, Environment, Origin, Sweep
from fuseshard.palette import Mark
from fuseshard.show.cards import origin_line
from fuseshard.show.charts.comparison import comparison_figure, finding
from fuseshard.show.charts.sweep import break_even_finding
from fuseshard.show.charts.variants import Variant, known_variants, verdict_word
from fuseshard.show.numbers import duration, number
from fuseshard.show.recorded import nothing_recorded
from fuseshard.show.records import Figure, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, plain, word

# Both eager ways share eager's colour, both ways through Inductor's code that of compiled.
_WRITTEN = Mark(palette.COMPILED.light, palette.COMPILED.dark, "dot", "square-open", ".")
_LIBRARY = Mark(palette.EAGER.light, palette.EAGER.dark, "dot", "circle-open", ".")


def own_variants() -> dict[str, Variant]:
    """Return labels and marks of the ways in which this chapter computes the head."""
    return {
        "by_hand": Variant(
            word("eager (by hand)"), palette.EAGER, word("eager mode with softmax by hand")
        ),
        "library": Variant(
            word("eager (torch.softmax)"), _LIBRARY, word("eager mode with torch.softmax")
        ),
        "compiled": known_variants()["compiled"],
        "written": Variant(
            word("written module alone"), _WRITTEN, word("the written module alone")
        ),
    }


def one_size_figure(comparison: Comparison, rows: int) -> Figure:
    """Draw the steady state at one batch size.

    Args:
        comparison: of some of "by_hand", "library", "compiled" and "written", in any order.
        rows: of the input.
    """
    return comparison_figure(
        f"head-at-{rows}",
        comparison,
        subject=word("The head on one row")
        if rows == 1
        else word("The head at {rows} rows", rows=number(rows)),
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
    baseline = known[comparison.baseline.name]
    return finding(timing, ratio, baseline.in_sentence, known[name].in_sentence)


def size_finding(sweep: HeadSweep | None, way: str) -> Word:
    """Say in a clause from which batch size on compiling pays against one way.

    Args:
        sweep: live or recorded; None if it isn't recorded yet.
        way: "by_hand" or "library".
    """
    if sweep is None:
        return nothing_recorded()
    known = known_variants()
    labels = (known["eager"].in_sentence, known["compiled"].in_sentence)
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
    return finding(timing, ratio, known[way].in_sentence, known["compiled"].in_sentence)


def growth_finding(sweep: HeadSweep | None, rows: int) -> Word:
    """Say in a clause what one row takes compiled, and what many take.

    Args:
        sweep: live or recorded, from 1 row on; None if it isn't recorded yet.
        rows: one of the sweep's sizes.
    """
    if sweep is None:
        return nothing_recorded()
    points = {point.size: point.comparison for point in sweep.by_hand.points}
    return word(
        "a compiled call takes {one} with one row and {many} with {rows}",
        one=duration(points[1]["compiled"].median_s),
        rows=number(rows),
        many=duration(points[rows]["compiled"].median_s),
    )


def first_call_table(parts_s: Mapping[str, float], environment: Environment) -> Table:
    """Show what a first call pays for, part by part and in all.

    Args:
        parts_s: seconds of "dynamo", "aotautograd", "inductor" and "compiler".
        environment: where they were measured.
    """
    parts: dict[Text, float] = {
        word("Dynamo, guards included"): parts_s["dynamo"],
        plain("AOTAutograd"): parts_s["aotautograd"],
        word("Inductor: loops and code"): parts_s["inductor"],
        word("C++ compiler"): parts_s["compiler"],
        word("in all"): sum(parts_s.values()),
    }
    table = TableBuilder("first-call", word("The stages of one first call."))
    table.texts(word("Stage"), list(parts))
    table.seconds(word("Time"), list(parts.values()))
    return table.build(origin=origin_line(Origin(is_live=True, environment=environment)))


def sweep_table(sweep: HeadSweep, *, name: str) -> Table:
    """Show medians, speed-ups with their intervals, and verdicts at each batch size."""
    labels: dict[str, Text] = {
        "by_hand": word("softmax by hand"),
        "library": plain("torch.softmax"),
    }
    rows = [(way, point) for way in labels for point in way_of(sweep, way).points]
    comparisons = [point.comparison for _, point in rows]
    ratios = [comparison.ratio for comparison in comparisons]
    table = TableBuilder(name, word("The head, eager and compiled, at each batch size."))
    table.texts(word("Softmax"), [labels[way] for way, _ in rows])
    table.counts(word("Rows"), [point.size for _, point in rows])
    for variant in ("eager", "compiled"):
        label = known_variants()[variant].label
        table.seconds(label, [comparison[variant].median_s for comparison in comparisons])
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
        # Two digits: the saving is a difference of medians, and no better known than that.
        cells = [plain(number(float(n), 2)) if n is not None else word("never") for n in calls]
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
