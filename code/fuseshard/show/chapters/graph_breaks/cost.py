"""Draw what breaks cost: speed-ups over the number of graphs, and the times at each size."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from fuseshard import palette
from fuseshard.compiler.breaks.records import BreakCost
from fuseshard.measure.records import Sweep
from fuseshard.palette import Mark
from fuseshard.show.beside.draw import beside
from fuseshard.show.chapters.graph_breaks.cost_findings import (
    cost_table,
    elements_word,
    every_finding,
    origin_of,
    pays_finding,
)
from fuseshard.show.charts.variants import known_variants, listed
from fuseshard.show.choices import Choice, choose
from fuseshard.show.figures import HOVER, FigureBuilder
from fuseshard.show.numbers import TIMES_SIGN, duration, factor, number
from fuseshard.show.recorded import HasResult
from fuseshard.show.records import Figure
from fuseshard.show.words import Word, plain, word

_LOOKS = (("solid", "circle"), ("dash", "square"), ("dot", "diamond"), ("dashdot", "triangle-up"))


def speedups(cost: BreakCost, *, name: str = "break-cost") -> Figure:
    """Draw by what factor compiling pays over the number of graphs, one line a size.

    Args:
        cost: from `compiler.breaks.cost`, live or recorded.
        name: lower-case words joined by hyphens, unique on its page.
    """
    drawing = FigureBuilder(name)
    graphs = list(cost.sweeps[0].sizes)
    saved = [cost.num_operations / n for n in graphs]
    measured = [point.comparison.ratio for sweep in cost.sweeps for point in sweep.points]
    ends = [end for ratio in measured for end in (ratio.speedup_low, ratio.speedup_high)]
    _graph_axis(drawing, graphs)
    drawing.log_axis("y", word("eager time / compiled time"), [*saved, *ends, 1.0], _tick)
    for index, (size, sweep) in enumerate(zip(cost.elements, cost.sweeps, strict=True)):
        _line(drawing, elements_word(size), sweep, _mark(index))
    drawing.line(word("bytes saved"), graphs, saved, palette.FORMULA, show=factor, mode="lines")
    _mark_equal(drawing)
    return drawing.build(
        caption=word(
            "A chain of {n} pointwise operations cut into graphs: {findings}. The dotted line is "
            "what the bytes moved would allow.",
            n=cost.num_operations,
            findings=every_finding(cost),
        ),
        alt=word(
            "Lines on logarithmic axes, speed-up against the number of graphs, one for each size; "
            "from one graph to {most}: {courses}. A dotted line falls from {n} to 1.",
            most=graphs[-1],
            n=cost.num_operations,
            courses=listed(
                [_course(*pair) for pair in zip(cost.elements, cost.sweeps, strict=True)]
            ),
        ),
        table=cost_table(cost, name=f"{name}-table"),
        origin=origin_of(cost),
    )


def explorer(cost: BreakCost) -> Choice:
    """Show the times behind the speed-ups, one size at a time, on a slider.

    Args:
        cost: from `compiler.breaks.cost`.
    """
    options = [
        (elements_word(size), _times(cost, size, sweep))
        for size, sweep in zip(cost.elements, cost.sweeps, strict=True)
    ]
    return choose("cost-explorer", word("Size of the tensor"), options, control="slider")


def recorded(outcome: HasResult[BreakCost]) -> Figure | Choice | Word:
    """Draw a recorded measurement, another machine's beside it, or say how to record it.

    Args:
        outcome: of the experiment, called on any machine.
    """
    return beside(outcome, partial(speedups, name="break-cost-gpu"))


def _times(cost: BreakCost, size: int, sweep: Sweep) -> Figure:
    """Draw the times of one size over the number of graphs."""
    name = f"cost-{size}"
    drawing = FigureBuilder(name)
    graphs = list(sweep.sizes)
    ends = [e for p in sweep.points for t in p.comparison.timings for e in (t.low_s, t.high_s)]
    _graph_axis(drawing, graphs)
    drawing.log_axis("y", word("time per call"), ends, lambda value: duration(value, 1))
    for variant_name in ("eager", "compiled"):
        own = [point.comparison[variant_name] for point in sweep.points]
        variant = known_variants()[variant_name]
        drawing.line(
            variant.label,
            graphs,
            [timing.median_s for timing in own],
            variant.mark,
            spread=([timing.low_s for timing in own], [timing.high_s for timing in own]),
            show=duration,
        )
    one = BreakCost(
        device=cost.device,
        num_operations=cost.num_operations,
        elements=(size,),
        sweeps=(sweep,),
        origin=cost.origin,
    )
    return drawing.build(
        caption=word(
            "The chain at one size: {finding}. Lines are medians, bands the middle half of the "
            "rounds.",
            finding=pays_finding(size, sweep),
        ),
        alt=word(
            "Two lines, time per call against the number of graphs from 1 to {most}: {course}.",
            most=graphs[-1],
            course=_course(size, sweep),
        ),
        table=cost_table(one, name=f"{name}-table"),
        origin=origin_of(cost),
    )


def _course(size: int, sweep: Sweep) -> Word:
    first, last = sweep.points[0].comparison, sweep.points[-1].comparison
    return word(
        "{elements} from {first} to {last}",
        elements=elements_word(size),
        first=factor(first.ratio.speedup),
        last=factor(last.ratio.speedup),
    )


def _mark(index: int) -> Mark:
    dash, symbol = _LOOKS[index % len(_LOOKS)]
    return Mark(palette.COMPILED.light, palette.COMPILED.dark, dash, symbol, "")


def _graph_axis(drawing: FigureBuilder, graphs: Sequence[int]) -> None:
    """Set a logarithmic axis with a tick at each number of graphs."""
    drawing.log_axis("x", word("graphs (breaks + 1)"), graphs)
    texts = [drawing.say(plain(number(n))) for n in graphs]
    drawing.layout["xaxis"] |= {"tickvals": list(graphs), "ticktext": texts}


def _line(drawing: FigureBuilder, label: Word, sweep: Sweep, mark: Mark) -> None:
    ratios = [point.comparison.ratio for point in sweep.points]
    hover = [
        f"{factor(r.speedup)} ({factor(r.speedup_low)} – {factor(r.speedup_high)})" for r in ratios
    ]
    drawing.trace(
        type="scatter",
        name=drawing.say(label),
        x=list(sweep.sizes),
        y=[ratio.speedup for ratio in ratios],
        mode="lines+markers",
        line={"color": mark.light, "dash": mark.dash, "width": 2.5},
        marker={"color": mark.light, "symbol": mark.symbol, "size": 9},
        hovertext=[drawing.say(plain(text)) for text in hover],
        hovertemplate=HOVER,
    )


def _mark_equal(drawing: FigureBuilder) -> None:
    """Draw the factor 1, and say what lies on either side of it."""
    corners = (
        (0.99, 1.0, word("compiled is faster"), "right", "top"),
        (0.01, 0.0, word("eager is faster"), "left", "bottom"),
    )
    for x, y, text, xanchor, yanchor in corners:
        place = {"xref": "paper", "yref": "paper", "xanchor": xanchor, "yanchor": yanchor}
        drawing.note(x, y, text, font={"size": 12}, **place)
    line = {"color": palette.INK[0], "width": 1, "dash": "dot"}
    equal = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 1, "y1": 1, "line": line}
    drawing.layout.setdefault("shapes", []).append(equal)


def _tick(ratio: float) -> str:
    return f"{ratio:g}{TIMES_SIGN}"
