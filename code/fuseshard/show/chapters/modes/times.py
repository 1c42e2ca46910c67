"""Times of each mode: on a CPU for three programs, on a GPU for MiniGPT over batch sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from fuseshard import palette
from fuseshard.compiler.modes.records import Candidate, ModePoint, ModeSweep
from fuseshard.compiler.modes.standing import calls_to_pay, leaders, ratio_between
from fuseshard.measure.records import Comparison
from fuseshard.palette import Mark
from fuseshard.show.cards import origin_line
from fuseshard.show.chapters.modes.texts import program_names
from fuseshard.show.charts.comparison import comparison_figure, finding
from fuseshard.show.charts.variants import Variant, as_value, known_variants
from fuseshard.show.choices import Choice, choose
from fuseshard.show.numbers import duration, factor, number
from fuseshard.show.records import Figure, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, plain, word

BY_HAND = "by hand"

_GRAPH_BY_HAND = Mark(palette.EAGER.light, palette.EAGER.dark, "dot", "circle-open", ".")


class HasSweep(Protocol):
    """An experiment's outcome, as `measure.experiments` makes it."""

    experiment_id: str

    @property
    def available(self) -> ModeSweep | None:
        """The result; None if it isn't recorded yet."""


def variants(ways: Sequence[str]) -> dict[str, Variant]:
    """Return labels and marks of eager mode, of the graph by hand, and of any modes.

    Args:
        ways: names in a comparison; what isn't one of the first two is a mode.
    """
    known = {
        "eager": known_variants()["eager"],
        BY_HAND: Variant(
            word("eager, graph by hand"),
            _GRAPH_BY_HAND,
            word("eager mode in a CUDA graph by hand"),
        ),
    }
    modes = {
        way: Variant(plain(way), palette.COMPILED, word("mode {mode}", mode=way))
        for way in ways
        if way not in known
    }
    return known | modes


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


def gpu_chooser(outcome: HasSweep) -> Choice | Figure | Word:
    """Let the reader pick a batch size, and show MiniGPT's time in each way on a GPU.

    Args:
        outcome: of one of the sweeps of `compiler.modes.sweep`.
    """
    sweep = outcome.available
    if sweep is None:
        return not_recorded(outcome.experiment_id)
    figures = [(plain(number(point.size)), _gpu_figure(sweep, point)) for point in sweep.points]
    if len(figures) == 1:
        return figures[0][1]
    label = word("Sequences in the batch")
    return choose(f"gpu-{sweep.task}", label, figures, control="slider")


def first_calls(outcome: HasSweep) -> Table | Word:
    """Show what the first three calls of each way take, what a later one launches, and its error.

    Args:
        outcome: of one of the sweeps of `compiler.modes.sweep`.
    """
    sweep = outcome.available
    if sweep is None:
        return not_recorded(outcome.experiment_id)
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


def candidate_table(candidates: Sequence[Candidate], comparison: Comparison) -> Table:
    """Show the ways to compute a matrix product that Inductor timed.

    Args:
        candidates: from `compiler.modes.written.autotune_frozen`, fastest first.
        comparison: measured on the same machine; says where the times come from.
    """
    table = TableBuilder("candidates", word("What max_autotune timed for one linear layer."))
    table.code(word("Candidate"), [candidate.name for candidate in candidates])
    kinds = [_kind(candidate) for candidate in candidates]
    table.texts(word("Written by"), kinds)
    table.seconds(word("Time"), [candidate.seconds for candidate in candidates])
    origin = origin_line(comparison.origin, num_threads=comparison.num_threads)
    return table.build(origin=origin)


def candidate_finding(candidates: Sequence[Candidate]) -> Word:
    """Say in a clause which candidate won, and by what factor.

    Args:
        candidates: at least two, fastest first.
    """
    first, second, *_ = candidates
    return word(
        "{winner} won here, by a factor of {ratio}",
        winner=_kind(first),
        ratio=number(second.seconds / first.seconds),
    )


def _kind(candidate: Candidate) -> Word:
    if candidate.name.startswith("cpp_"):
        return word("Inductor's template")
    return word("the library")


def pair_finding(comparison: Comparison, way: str, other: str) -> Word:
    """Say in a clause what the rounds allow to say about two ways.

    Args:
        comparison: with both.
        way: the one spoken of.
        other: what it is compared with.
    """
    ratio = ratio_between(comparison, way, other)
    known = variants([way, other])
    timing = replace(comparison[way], ratio=ratio)
    return finding(timing, ratio, known[other].in_sentence, known[way].in_sentence)


def not_recorded(experiment_id: str) -> Word:
    """Say how to get what isn't recorded yet.

    Args:
        experiment_id: of the experiment.
    """
    return word(
        "The experiment {id} needs a CUDA GPU and has not been recorded yet; make record does it "
        "on a machine with one.",
        id=experiment_id,
    )


def task_word(sweep: ModeSweep) -> Word:
    """Name what a sweep timed."""
    return {"inference": word("inference"), "training": word("training step")}[sweep.task]


def leader_finding(comparison: Comparison) -> Word:
    """Say in a clause which ways nothing was measured to be faster than.

    Args:
        comparison: of several ways.
    """
    names = leaders(comparison)
    known = variants(names)
    best = min(names, key=lambda name: comparison[name].median_s)
    time = duration(comparison[best].median_s)
    if len(names) == 1:
        return word("{way} is fastest, with {time}", way=as_value(known[best].label), time=time)
    return word(
        "between {ways} no difference was measured, and nothing is faster ({time})",
        ways=in_a_row([known[name].label for name in names]),
        time=time,
    )


def sizes_finding(sweep: ModeSweep | None) -> Word:
    """Say in a clause which way is fastest at each batch size.

    Args:
        sweep: live or recorded; None if it isn't recorded yet.
    """
    if sweep is None:
        return word("nothing is recorded yet")
    return in_a_row(
        [
            word(
                "at {size}, {finding}",
                size=number(point.size),
                finding=leader_finding(point.comparison),
            )
            for point in sweep.points
        ],
        apart=True,
    )


def compile_finding(sweep: ModeSweep | None) -> Word:
    """Say in a clause how long the first call of each mode takes.

    Args:
        sweep: recorded; None if it isn't yet.
    """
    if sweep is None:
        return word("nothing is recorded yet")
    calls = sweep.points[0].first_calls_s
    return in_a_row(
        [
            word("{mode} takes {time}", mode=mode, time=duration(seconds[0]))
            for mode, seconds in calls.items()
        ]
    )


def against_finding(sweep: ModeSweep | None, way: str, other: str) -> Word:
    """Say in a clause by what factor one way is faster than another, from size to size.

    Args:
        sweep: recorded; None if it isn't yet.
        way: the one spoken of.
        other: what it is compared with.
    """
    if sweep is None:
        return word("nothing is recorded yet")
    parts: list[Text] = []
    for point in sweep.points:
        names = {timing.name for timing in point.comparison.timings}
        if {way, other} <= names:
            ratio = ratio_between(point.comparison, way, other)
            parts.append(
                word(
                    "{speedup} at {size}",
                    speedup=factor(ratio.speedup),
                    size=number(point.size),
                )
            )
    return in_a_row(parts)


def payback_finding(sweep: ModeSweep | None, way: str, other: str) -> Word:
    """Say in a clause after how many calls a longer compile has paid for itself.

    Args:
        sweep: recorded; None if it isn't yet.
        way: the mode with the longer compile.
        other: the mode that it is compared with.
    """
    if sweep is None:
        return word("nothing is recorded yet")
    calls = calls_to_pay(sweep.points[0], way, other)
    if calls is None:
        return word(
            "never, since {way} was not measured to be faster than {other}", **_two(way, other)
        )
    return word(
        "after {calls} calls, {way} has made up for compiling longer than {other}",
        calls=number(round(calls)),
        **_two(way, other),
    )


def in_a_row(texts: Sequence[Text], *, apart: bool = False) -> Word:
    """Join texts with commas, or with semicolons where they hold commas themselves.

    Args:
        texts: at least one.
        apart: semicolons instead of commas.
    """
    first, *rest = texts
    joined = first if isinstance(first, Word) else word("{text}", text=str(first))
    for text in rest:
        joined = (
            word("{first}; {rest}", first=joined, rest=as_value(text))
            if apart
            else word("{first}, {rest}", first=joined, rest=as_value(text))
        )
    return joined


def _two(way: str, other: str) -> dict[str, Word | str]:
    known = variants([way, other])
    return {"way": as_value(known[way].label), "other": as_value(known[other].label)}


def _gpu_figure(sweep: ModeSweep, point: ModePoint) -> Figure:
    comparison = replace(point.comparison, origin=sweep.origin)
    name = f"gpu-{sweep.task}-{point.size}"
    subject = word(
        "MiniGPT, {task}, batch of {size}", task=task_word(sweep), size=number(point.size)
    )
    return _figure(name, comparison, subject)


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
