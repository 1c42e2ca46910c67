"""Draw a published benchmark as published, and repaired step by step."""

from __future__ import annotations

from fuseshard import palette
from fuseshard.compiler.training.records import LoopPair, Repair, Repairs
from fuseshard.palette import Mark
from fuseshard.show.beside.draw import beside
from fuseshard.show.cards import origin_line
from fuseshard.show.chapters.training.words import claim_finding
from fuseshard.show.charts.comparison import comparison_figure
from fuseshard.show.choices import Choice, choose
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.numbers import duration, factor, number
from fuseshard.show.recorded import HasResult, nothing_recorded
from fuseshard.show.records import Figure, Origin, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Word, word

_STOPPED = Mark(palette.RECORDED.light, palette.RECORDED.dark, "dot", "circle-open", ".")


def repair_stepper(repair: Repair) -> Choice:
    """Step from the published timing to one in rounds, on one machine.

    Args:
        repair: measured on the CPU, where a call has done its work when it returns.
    """
    origin = origin_line(repair.interleaved.origin, num_threads=repair.interleaved.num_threads)
    published = calls_figure("as-published", repair.published, origin=origin)
    cut = calls_figure("first-call-left-out", repair.after_first, origin=origin)
    rounds = comparison_figure(
        "in-rounds",
        repair.interleaved,
        subject=word("The same step in rounds"),
        has_first_calls=False,
    )
    return choose(
        "published-benchmark",
        word("How the benchmark is timed"),
        [
            (word("1. as published: 100 calls, the first one included"), published),
            (word("2. without the first call"), cut),
            (word("3. eager and compiled in rounds"), rounds),
        ],
        control="slider",
    )


def calls_figure(name: str, pair: LoopPair, *, origin: Origin | None) -> Figure:
    """Draw the time of every call of both loops.

    Args:
        name: lower-case words joined by hyphens, unique on its page.
        pair: the loops.
        origin: where the times come from.
    """
    drawing = FigureBuilder(name, height=300)
    loops = {
        "eager": (word("eager"), palette.EAGER, pair.eager),
        "compiled": (word("compiled"), palette.COMPILED, pair.compiled),
    }
    everything = [call_s for _, _, loop in loops.values() for call_s in loop.calls_s]
    drawing.x_axis(word("call"))
    drawing.log_axis("y", word("time of the call"), everything, lambda s: duration(s, 1))
    for label, mark, loop in loops.values():
        calls = list(range(1, len(loop.calls_s) + 1))
        drawing.line(label, calls, list(loop.calls_s), mark, show=duration)
    names: dict[str, str] = {
        "eager": duration(pair.eager.stopped_s),
        "compiled": duration(pair.compiled.stopped_s),
        "speedup": factor(pair.stopped_speedup),
        "longest": duration(max(pair.compiled.calls_s)),
    }
    return drawing.build(
        caption=word(
            "The mean call takes {eager} eager and {compiled} compiled, so the answer is "
            "{speedup}. The longest compiled call takes {longest}.",
            **names,
        ),
        alt=word(
            "Two lines over the calls on a logarithmic axis of time: eager around {eager}; "
            "compiled with a mean of {compiled} and a longest call of {longest}.",
            **{name: text for name, text in names.items() if name != "speedup"},
        ),
        table=_loops_table(f"{name}-table", pair),
        origin=origin,
    )


def waiting_figure(outcome: HasResult[Repairs]) -> Figure | Choice | Word:
    """Draw what a timer that doesn't wait misses on a GPU, or say how to record it.

    Args:
        outcome: of the experiment, called on any machine.
    """
    return beside(outcome, _waiting_figure)


def _waiting_figure(gpu: Repairs) -> Figure:
    drawing = FigureBuilder("waiting")
    rows = [(point, name) for point in gpu.points for name in ("eager", "compiled")]
    labels = {"eager": word("eager"), "compiled": word("compiled")}
    where = [
        word("{rows} rows, {way}", rows=number(point.batch), way=labels[name])
        for point, name in rows
    ]
    loops = [getattr(point.after_first, name) for point, name in rows]
    everything = [seconds for loop in loops for seconds in (loop.stopped_s, loop.finished_s)]
    drawing.x_axis(word("batch"), type="category")
    drawing.log_axis("y", word("time per call"), everything, lambda s: duration(s, 1))
    readings: dict[Word, tuple[Mark, list[float]]] = {
        word("timer stops when the loop ends"): (_STOPPED, [loop.stopped_s for loop in loops]),
        word("timer waits for the GPU"): (palette.RECORDED, [loop.finished_s for loop in loops]),
    }
    for label, (mark, seconds) in readings.items():
        drawing.points(label, where, seconds, mark, hover=[duration(s) for s in seconds])
    last = gpu.points[-1].after_first.eager
    return drawing.build(
        caption=word(
            "Two readings of the same loops. With {rows} rows a timer that doesn't wait sees "
            "{stopped} a call, and {finished} pass.",
            rows=number(gpu.points[-1].batch),
            stopped=duration(last.stopped_s),
            finished=duration(last.finished_s),
        ),
        alt=word(
            "Two points for each batch size and mode on a logarithmic axis of time: they coincide "
            "at the smaller batches and are a factor of {gap} apart at the largest.",
            gap=factor(last.finished_s / last.stopped_s),
        ),
        table=_waiting_table(gpu),
        origin=origin_line(gpu.origin),
    )


def gpu_finding(gpu: Repairs | None, index: int) -> Word:
    """Say in a clause what the repaired benchmark says on the GPU, against what was claimed.

    Args:
        gpu: recorded; None if it isn't yet.
        index: of the batch size, in growing order.
    """
    if gpu is None:
        return nothing_recorded()
    ratio = gpu.points[index].interleaved.ratio
    return word(
        "with {rows} rows the speed-up is {claim}",
        rows=number(gpu.points[index].batch),
        claim=claim_finding(ratio.speedup_low, ratio.speedup_high),
    )


def missed_finding(gpu: Repairs | None, index: int) -> Word:
    """Say in a clause what share of the time a timer misses that doesn't wait.

    Args:
        gpu: recorded; None if it isn't yet.
        index: of the batch size, in growing order.
    """
    if gpu is None:
        return nothing_recorded()
    loop = gpu.points[index].after_first.eager
    return word(
        "with {rows} rows it misses {share} % of eager mode's time",
        rows=number(gpu.points[index].batch),
        share=number(100 * (1 - loop.stopped_s / loop.finished_s), 2),
    )


def _loops_table(name: str, pair: LoopPair) -> Table:
    table = TableBuilder(name, word("The loops in numbers."))
    loops = (pair.eager, pair.compiled)
    table.texts(word("Variant"), [word("eager"), word("compiled")])
    table.counts(word("Calls"), [len(loop.calls_s) for loop in loops])
    table.seconds(word("First of them"), [loop.calls_s[0] for loop in loops])
    table.seconds(word("Mean"), [loop.stopped_s for loop in loops])
    table.seconds(word("Longest"), [max(loop.calls_s) for loop in loops])
    return table.build()


def _waiting_table(gpu: Repairs) -> Table:
    table = TableBuilder("waiting-table", word("Both readings at each batch size."))
    pairs = [point.after_first for point in gpu.points]
    table.counts(word("Rows"), [point.batch for point in gpu.points])
    table.seconds(word("Eager, loop ends"), [pair.eager.stopped_s for pair in pairs])
    table.seconds(word("Eager, GPU done"), [pair.eager.finished_s for pair in pairs])
    table.seconds(word("Compiled, loop ends"), [pair.compiled.stopped_s for pair in pairs])
    table.seconds(word("Compiled, GPU done"), [pair.compiled.finished_s for pair in pairs])
    table.numbers(word("Speed-up, loop ends"), [pair.stopped_speedup for pair in pairs])
    table.numbers(word("Speed-up, GPU done"), [pair.finished_speedup for pair in pairs])
    return table.build()
