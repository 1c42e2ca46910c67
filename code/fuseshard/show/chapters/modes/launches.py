"""What launching many small kernels costs: counts and times in each way to run them."""

from __future__ import annotations

from fuseshard import palette
from fuseshard.compiler.modes.records import LaunchProgram, LaunchReport, LaunchRun
from fuseshard.show.beside.draw import beside
from fuseshard.show.cards import origin_line
from fuseshard.show.choices import Choice, choose
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.numbers import duration, number, time_unit
from fuseshard.show.recorded import HasResult, nothing_recorded
from fuseshard.show.records import Figure, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, plain, word


def launch_chooser(outcome: HasResult[LaunchReport]) -> Choice | Word:
    """Let the reader pick a program, and show how long the GPU waits for the host in each way.

    Args:
        outcome: of `compiler.modes.launching.gpu_launches`.
    """
    return beside(outcome, _launch_chooser)


def _launch_chooser(report: LaunchReport) -> Choice:
    options = [(_name(program), _figure(report, program)) for program in report.programs]
    return choose("launches", word("Program"), options)


def run_of(report: LaunchReport, program: str, way: str) -> LaunchRun:
    """Find one run.

    Args:
        report: from `compiler.modes.launching`.
        program: "pointwise" or "products".
        way: one of its ways.
    """
    (found,) = [p for p in report.programs if p.name == program]
    (run,) = [r for r in found.runs if r.way == way]
    return run


def launch_finding(report: LaunchReport | None, program: str) -> Word:
    """Say in a clause how long eager, default and reduce-overhead take, and what they launch.

    Args:
        report: recorded; None if it isn't yet.
        program: "pointwise" or "products".
    """
    if report is None:
        return nothing_recorded()
    eager, default, graph = (
        run_of(report, program, way) for way in ("eager", "default", "reduce-overhead")
    )
    return word(
        "eager mode takes {eager} and {eager_launches}, default {default} and {default_launches}, "
        "and reduce-overhead {graph} and {graph_launches} besides the CUDA graph",
        eager=duration(eager.whole_s),
        eager_launches=_launches(eager),
        default=duration(default.whole_s),
        default_launches=_launches(default),
        graph=duration(graph.whole_s),
        graph_launches=_launches(graph),
    )


def equal_finding(report: LaunchReport | None) -> Word:
    """Say in a clause how many runs gave eager mode's result bit for bit.

    Args:
        report: recorded; None if it isn't yet.
    """
    if report is None:
        return nothing_recorded()
    runs = [run for program in report.programs for run in program.runs if run.way != "eager"]
    return word(
        "{equal} of {n} results are equal to eager mode's bit for bit",
        equal=sum(run.is_equal for run in runs),
        n=len(runs),
    )


def price_finding(report: LaunchReport | None) -> Word:
    """Say in a clause what an operation costs the host, and how long its kernel runs.

    Args:
        report: recorded; None if it isn't yet.
    """
    if report is None:
        return nothing_recorded()
    eager = run_of(report, "pointwise", "eager")
    return word(
        "in eager mode the host needs {host} for an operation and its launch, and the kernel that "
        "it starts runs for {kernel}",
        host=duration(eager.host_s / eager.trace.launches),
        kernel=duration(eager.trace.busy_s / eager.trace.kernels),
    )


def graph_finding(report: LaunchReport | None) -> Word:
    """Say in a clause what CUDA graphs do where one kernel is left, and where many are.

    Args:
        report: recorded; None if it isn't yet.
    """
    if report is None:
        return nothing_recorded()
    ratios = {}
    for program in ("pointwise", "products"):
        default, graph = (run_of(report, program, way) for way in ("default", "reduce-overhead"))
        ratios[program] = default.whole_s / graph.whole_s
    return word(
        "against default, reduce-overhead makes the one kernel {one} and the many {many}",
        one=_changed(ratios["pointwise"]),
        many=_changed(ratios["products"]),
    )


def library_finding(report: LaunchReport | None) -> Word:
    """Say in a clause what a call costs the host with the library's graph, and with one by hand.

    Args:
        report: recorded; None if it isn't yet.
    """
    if report is None:
        return nothing_recorded()
    library, by_hand = (
        run_of(report, "pointwise", way) for way in ("reduce-overhead", "graph of default")
    )
    return word(
        "the library's takes the host {library} to launch, the one by hand {by_hand}",
        library=duration(library.host_s),
        by_hand=duration(by_hand.host_s),
    )


def spread_finding(report: LaunchReport | None) -> Word:
    """Say in a clause how far processes that do the same are apart.

    Args:
        report: recorded; None if it isn't yet.
    """
    if report is None:
        return nothing_recorded()
    runs = [run for program in report.programs for run in program.runs]
    spreads = [run.whole_range.high / run.whole_range.low for run in runs]
    num_processes = report.origin.environment.num_processes if report.origin else 1
    return word(
        "of {n} processes, the slowest took between {least} and {most} times as long as the "
        "fastest",
        n=num_processes,
        least=number(min(spreads), 3),
        most=number(max(spreads), 3),
    )


def _launches(run: LaunchRun) -> Word:
    """Count in words, since a graph leaves a single launch."""
    if run.trace.launches == 1:
        return word("1 launch")
    return word("{n} launches", n=run.trace.launches)


def _changed(speedup: float) -> Word:
    if speedup >= 1:
        return word("{times} times as fast", times=number(speedup, 2))
    return word("{times} times as slow", times=number(1 / speedup, 2))


def _name(program: LaunchProgram) -> Word:
    return {
        "pointwise": word("{n} pointwise operations", n=2 * program.steps),
        "products": word("{n} small matrix products with additions between", n=program.steps),
    }[program.name]


def _way(way: str) -> Text:
    known: dict[str, Text] = {
        "eager": word("eager"),
        "graph of eager": word("graph by hand (eager)"),
        "graph of default": word("graph by hand (default)"),
    }
    return known.get(way, plain(way))


def _figure(report: LaunchReport, program: LaunchProgram) -> Figure:
    """Draw a bar for each way: what the GPU computes, and how long it waits for the host."""
    symbol, unit_s = time_unit([max(run.whole_s for run in program.runs)])
    drawing = FigureBuilder(f"launches-{program.name}", height=140 + 50 * len(program.runs))
    drawing.x_axis(word("time ({unit})", unit=symbol))
    labels = [_way(run.way) for run in program.runs]
    drawing.rows(labels)
    drawing.layout |= {"barmode": "stack", "bargap": 0.35}
    busy = [run.trace.busy_s for run in program.runs]
    waits = [max(run.whole_s - run.trace.busy_s, 0.0) for run in program.runs]
    for label, seconds, mark in (
        (word("kernels run"), busy, palette.FORWARD),
        (word("the GPU waits"), waits, palette.IDLE),
    ):
        drawing.bars(
            label,
            [value / unit_s for value in seconds],
            labels,
            mark,
            hover=[duration(value) for value in seconds],
            orientation="h",
        )
    return drawing.build(
        caption=word(
            "{program}: {finding}.",
            program=_name(program),
            finding=launch_finding(report, program.name),
        ),
        alt=word(
            "One bar a way, divided into the time in which kernels run and the rest: {bars}.",
            bars=_bars(program),
        ),
        table=_table(program, report),
        origin=origin_line(report.origin),
    )


def _bars(program: LaunchProgram) -> Word:
    first, *rest = (
        word(
            "{way}, {busy} of {whole}",
            way=_text(run.way),
            busy=duration(run.trace.busy_s),
            whole=duration(run.whole_s),
        )
        for run in program.runs
    )
    for bar in rest:
        first = word("{first}; {rest}", first=first, rest=bar)
    return first


def _text(way: str) -> Word | str:
    label = _way(way)
    return label if isinstance(label, Word) else str(label)


def _table(program: LaunchProgram, report: LaunchReport) -> Table:
    runs = program.runs
    table = TableBuilder(
        f"launches-{program.name}-table",
        word("{program}: launches and times of one call.", program=_name(program)),
    )
    table.texts(word("Way"), [_way(run.way) for run in runs])
    table.counts(word("Kernels that ran"), [run.trace.kernels for run in runs])
    table.counts(word("Launches by the host"), [run.trace.launches for run in runs])
    table.counts(word("CUDA graphs launched"), [run.trace.graph_launches for run in runs])
    table.seconds(word("Until the call returns"), [run.host_s for run in runs])
    table.seconds(word("Until the result is there"), [run.whole_s for run in runs])
    table.seconds(word("in the fastest process"), [run.whole_range.low for run in runs])
    table.seconds(word("in the slowest process"), [run.whole_range.high for run in runs])
    table.seconds(word("Kernels run for"), [run.trace.busy_s for run in runs])
    return table.build(origin=origin_line(report.origin))
