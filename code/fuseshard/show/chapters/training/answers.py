"""Draw how the answer of one benchmark moves while it is repaired."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from fuseshard import palette
from fuseshard.compiler.training.records import Repair, Repairs
from fuseshard.palette import Mark
from fuseshard.show.beside.draw import beside
from fuseshard.show.cards import origin_line
from fuseshard.show.chapters.training.words import CLAIMED, recorded_marks
from fuseshard.show.choices import Choice
from fuseshard.show.figures import HOVER, FigureBuilder
from fuseshard.show.numbers import TIMES_SIGN, factor, number
from fuseshard.show.recorded import HasResult, is_live
from fuseshard.show.records import Figure, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, plain, word


@dataclass(frozen=True)
class _Answers:
    """What one benchmark says, reading by reading."""

    label: Text
    mark: Mark
    speedups: tuple[float, ...]


def answers_beside(cpu: Repair, outcome: HasResult[Repairs]) -> Figure | Choice:
    """Draw how the answer moves on this CPU, on a GPU, and on another one where it is known.

    Args:
        cpu: measured while the page is built.
        outcome: of the experiment, called on any machine.
    """
    drawn = beside(outcome, partial(answers_figure, cpu))
    return answers_figure(cpu, None) if isinstance(drawn, Word) else drawn


def answers_figure(cpu: Repair, gpu: Repairs | None) -> Figure:
    """Draw how the answer moves from the published reading to the repaired one.

    Args:
        cpu: measured while the page is built.
        gpu: live or recorded; None if it isn't recorded yet.
    """
    readings = reading_words()
    here = word("this CPU, {rows} rows", rows=cpu.batch)
    lines = [_Answers(here, palette.MEASURED, answers(cpu))]
    marks = recorded_marks()
    for mark, point in zip(marks, gpu.points if gpu else (), strict=False):
        rows = number(point.batch)
        recorded = word("GPU (recorded), {rows} rows", rows=rows)
        label = word("this GPU, {rows} rows", rows=rows) if is_live(gpu) else recorded
        lines.append(_Answers(label, mark, answers(point)))
    drawing = FigureBuilder("answers")
    names = [drawing.say(reading) for reading in readings]
    drawing.x_axis(word("what is repaired so far"), type="category")
    drawn = [*CLAIMED, 1.0, *(speedup for line in lines for speedup in line.speedups)]
    drawing.log_axis("y", word("eager time / compiled time"), drawn, _short_factor)
    _claimed_band(drawing)
    for line in lines:
        _draw_answers(drawing, line, names)
    return drawing.build(
        caption=word(
            "The speed-up that one and the same benchmark reports, reading by reading. Shaded: "
            "what was claimed. On this CPU it moves from {first} to {last}.",
            first=factor(lines[0].speedups[0]),
            last=factor(lines[0].speedups[-1]),
        ),
        alt=_answers_alt(lines),
        table=_answers_table(lines, readings),
        origin=origin_line(gpu.origin) if gpu else None,
    )


def reading_words() -> list[Word]:
    """Name the four readings of the benchmark, in the order of its repair."""
    return [
        word("as published"),
        word("first call left out"),
        word("timer waits"),
        word("in rounds"),
    ]


def answers(repair: Repair) -> tuple[float, ...]:
    """Return the speed-up that each reading reports.

    Args:
        repair: all readings of one benchmark.
    """
    return (
        repair.published.stopped_speedup,
        repair.after_first.stopped_speedup,
        repair.after_first.finished_speedup,
        repair.interleaved.ratio.speedup,
    )


def _draw_answers(drawing: FigureBuilder, line: _Answers, names: Sequence[str]) -> None:
    drawing.trace(
        type="scatter",
        name=drawing.say(line.label),
        x=list(names),
        y=list(line.speedups),
        mode="lines+markers",
        line={"color": line.mark.light, "dash": line.mark.dash, "width": 2.5},
        marker={"color": line.mark.light, "symbol": line.mark.symbol, "size": 9},
        hovertext=[drawing.say(plain(factor(speedup))) for speedup in line.speedups],
        hovertemplate=HOVER,
    )


def _claimed_band(drawing: FigureBuilder) -> None:
    """Shade what was claimed, and draw the factor 1."""
    ink = {"color": palette.INK[0], "width": 1, "dash": "dot"}
    band = {"type": "rect", "xref": "paper", "x0": 0, "x1": 1, "y0": CLAIMED[0], "y1": CLAIMED[1]}
    band |= {"layer": "below", "fillcolor": palette.SHADE[0], "line": {"width": 0}}
    equal = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 1, "y1": 1, "line": ink}
    drawing.layout["shapes"] = [band, equal]


def _short_factor(ratio: float) -> str:
    """Print a tick, which is round: 0.5 and not 0.500."""
    return f"{ratio:g}{TIMES_SIGN}"


def _answers_alt(lines: Sequence[_Answers]) -> Word:
    text = word("Speed-up over four readings, on a logarithmic axis.")
    for line in lines:
        text = word(
            "{before} {label}: {series}.",
            before=text,
            label=line.label if isinstance(line.label, Word) else str(line.label),
            series=", ".join(factor(speedup) for speedup in line.speedups),
        )
    return text


def _answers_table(lines: Sequence[_Answers], readings: Sequence[Word]) -> Table:
    table = TableBuilder("answers-table", word("The speed-up that each reading reports."))
    table.texts(word("Benchmark"), [line.label for line in lines])
    for i, reading in enumerate(readings):
        table.numbers(reading, [line.speedups[i] for line in lines])
    return table.build()
