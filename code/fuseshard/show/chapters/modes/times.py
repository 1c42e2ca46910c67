"""Times of each mode: on a CPU for three programs, on a GPU for MiniGPT over batch sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fuseshard.compiler.modes.records import Candidate, ModePoint, ModeSweep
from fuseshard.measure.records import Comparison
from fuseshard.show.beside.draw import beside
from fuseshard.show.cards import origin_line
from fuseshard.show.chapters.modes.findings import labels_of, leader_finding, left_out
from fuseshard.show.chapters.modes.texts import program_names
from fuseshard.show.chapters.modes.ways import maker_word, size_word, task_word, variants
from fuseshard.show.charts.comparison import comparison_figure
from fuseshard.show.choices import Choice, Choosable, choose
from fuseshard.show.numbers import number
from fuseshard.show.recorded import HasResult
from fuseshard.show.records import Figure, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, plain, word


def cpu_chooser(comparisons: Mapping[str, Comparison]) -> Choice:
    """Let the reader pick a program, and show its time under each mode.

    Args:
        comparisons: program -> eager mode and the modes, the first compared with.
    """
    names = program_names()
    options = [
        (names[program], _figure(f"modes-{program}", comparison, names[program]))
        for program, comparison in comparisons.items()
    ]
    return choose("cpu-times", word("Program"), options)


def gpu_chooser(outcome: HasResult[ModeSweep]) -> Choosable | Choice | Word:
    """Let the reader pick a batch size, and show MiniGPT's time in each way on a GPU.

    Args:
        outcome: of one of the sweeps of `compiler.modes.sweep`.
    """
    return beside(outcome, _gpu_chooser)


def _gpu_chooser(sweep: ModeSweep) -> Choice | Figure:
    figures = [(plain(number(point.size)), _gpu_figure(sweep, point)) for point in sweep.points]
    if len(figures) == 1:
        return figures[0][1]
    return choose(f"gpu-{sweep.task}", size_word(sweep), figures, control="slider")


def first_calls(outcome: HasResult[ModeSweep]) -> Table | Choice | Word:
    """Show first three calls of each way, what a later one launches, and its error.

    Args:
        outcome: of one of the sweeps of `compiler.modes.sweep`.
    """
    return beside(outcome, _first_calls)


def _first_calls(sweep: ModeSweep) -> Table:
    point = sweep.points[0]
    ways = [timing.name for timing in point.comparison.timings]
    calls = [point.first_calls_s.get(way, ()) for way in ways]
    traces = [point.traces.get(way) for way in ways]
    caption = word(
        "MiniGPT, {task}, batch of {size}: first calls, and what a steady call launches.",
        task=task_word(sweep),
        size=number(point.size),
    )
    table = TableBuilder(f"first-calls-{sweep.task}", caption)
    table.texts(word("Way"), [variants(ways)[way].label for way in ways])
    for index, title in enumerate((word("1st call"), word("2nd call"), word("3rd call"))):
        table.seconds(title, [call[index] if call else None for call in calls])
    table.counts(word("Kernels that ran"), [t.kernels if t else None for t in traces])
    written = [t.kernels - t.library if t else None for t in traces]
    table.counts(word("of these, Inductor's"), written)
    table.counts(word("from templates"), [t.templates if t else None for t in traces])
    table.counts(word("Launches by the host"), [t.launches if t else None for t in traces])
    table.counts(word("CUDA graphs launched"), [t.graph_launches if t else None for t in traces])
    table.numbers(word("Error"), [point.errors[way] for way in ways], significant=2)
    return table.build(origin=origin_line(sweep.origin))


def small_table(outcome: HasResult[ModeSweep]) -> Table | Choice | Word:
    """Show how far processes are apart where the host is the limit.

    Args:
        outcome: of the experiment "modes.small-gpu".
    """
    return beside(outcome, _small_table)


def _small_table(sweep: ModeSweep) -> Table:
    timed = [(point, timing) for point in sweep.points for timing in point.comparison.timings]
    ways = [timing.name for _, timing in timed]
    table = TableBuilder("small-batches", word("Small batches of MiniGPT, process after process."))
    table.texts(size_word(sweep), [plain(number(point.size)) for point, _ in timed])
    table.texts(word("Way"), [variants(ways)[way].label for way in ways])
    table.seconds(word("Fastest round"), [min(timing.rounds_s) for _, timing in timed])
    table.seconds(word("Median"), [timing.median_s for _, timing in timed])
    table.seconds(word("Slowest round"), [max(timing.rounds_s) for _, timing in timed])
    ratios = [timing.ratio for _, timing in timed]
    slowest = [1 / ratio.high if ratio else None for ratio in ratios]
    fastest = [1 / ratio.low if ratio else None for ratio in ratios]
    table.numbers(word("Speed-up, at least"), slowest, significant=3)
    table.numbers(word("Speed-up, at most"), fastest, significant=3)
    return table.build(origin=origin_line(sweep.origin))


def candidate_table(searches: Mapping[str, Sequence[Candidate]], comparison: Comparison) -> Table:
    """Show the ways to compute a matrix product that Inductor timed.

    Args:
        searches: "layer", "frozen" or "batch" -> from `compiler.modes.written.autotune`.
        comparison: measured on the same machine; says where the times come from.
    """
    names = {
        "layer": word("linear layer"),
        "frozen": word("linear layer, constant weight"),
        "batch": word("batched product"),
    }
    rows = [(name, one) for name, found in searches.items() for one in found or (None,)]
    table = TableBuilder("candidates", word("What max_autotune timed for a matrix product."))
    table.texts(word("Product"), [names[name] for name, _ in rows])
    table.code(word("Candidate"), [one.name if one else "—" for _, one in rows])
    makers = [maker_word(one) if one else word("nothing was tried") for _, one in rows]
    table.texts(word("Written by"), makers)
    table.seconds(word("Time"), [one.seconds if one else None for _, one in rows])
    origin = origin_line(comparison.origin, num_threads=comparison.num_threads)
    return table.build(origin=origin)


def _gpu_figure(sweep: ModeSweep, point: ModePoint) -> Figure:
    comparison = replace(point.comparison, origin=sweep.origin)
    name = f"gpu-{sweep.task}-{point.size}"
    subject = word(
        "MiniGPT, {task}, batch of {size}", task=task_word(sweep), size=number(point.size)
    )
    figure = _figure(name, comparison, subject)
    missing = left_out(sweep, point)
    if not missing:
        return figure
    caption = word(
        "{caption} Not tried at this size, for lack of time: {ways}.",
        caption=figure.caption,
        ways=labels_of(missing),
    )
    return replace(figure, caption=caption)


def _figure(name: str, comparison: Comparison, subject: Text) -> Figure:
    """Draw a comparison whose caption names the fastest instead of every ratio."""
    ways = [timing.name for timing in comparison.timings]
    said = subject if isinstance(subject, Word) else word("{text}", text=str(subject))
    figure = comparison_figure(name, comparison, subject=said, variants=variants(ways))
    caption = word(
        "{subject}: {finding}. Dots are medians, bars the middle half of the rounds.",
        subject=said,
        finding=leader_finding(comparison),
    )
    return replace(figure, caption=caption)
