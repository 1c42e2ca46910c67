"""The network of RMS norm as the maximum flow fills it, one path after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from fuseshard import palette
from fuseshard.compiler.joint.records import BACKWARD, SOURCE, Flow, Value
from fuseshard.palette import Mark
from fuseshard.show.choices import Choice, choose
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.numbers import number
from fuseshard.show.records import Figure, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, plain, word

_TOP, _BOTTOM = 7.0, 0.0
_PLACES: dict[str, tuple[float, float]] = {
    "primals_1": (0.0, 6.0),
    "primals_2": (2.5, 6.0),
    "pow_1": (0.5, 5.0),
    "mean": (1.5, 4.0),
    "add": (1.5, 3.0),
    "rsqrt": (1.5, 2.0),
    "mul": (0.8, 1.0),
}
"""value -> column and row; the source is a bar above, the backward pass a bar below"""
_NAMES = {"primals_1": "x", "primals_2": "weight"}
"""what a reader calls the inputs"""


def flow_choice(values: Sequence[Value], flow: Flow) -> Choice:
    """Step through the paths of the flow, from the empty network to the cut.

    Args:
        values: of the joint graph of `rms_norm`.
        flow: the maximum flow through their network.

    Raises:
        ValueError: the graph has a value that no place is known for.
    """
    drawn = _drawn(values)
    last = len(flow.paths)
    options: list[tuple[Text, Figure]] = [(word("empty"), _figure(drawn, flow, 0))]
    for index in range(1, last + 1):
        options.append((word("path {n}", n=index), _figure(drawn, flow, index)))
    options.append((word("the cut"), _figure(drawn, flow, last, with_cut=True)))
    return choose("flow", word("Step"), options, control="slider", start=len(options) - 1)


def value_table(values: Sequence[Value], *, name: str = "values") -> Table:
    """Show what each tensor would cost to save, and which must not run twice.

    Args:
        values: of the joint graph of `rms_norm`.
        name: lower-case words joined by hyphens, unique on its page.
    """
    return _table(_drawn(values), {}, name)


def _drawn(values: Sequence[Value]) -> list[Value]:
    """Keep the values of the forward pass that lead to the backward pass."""
    kept = [value for value in values if value.distance and value.users]
    unknown = sorted({value.name for value in kept} ^ set(_PLACES))
    if unknown:
        raise ValueError(
            f"flow_choice: {unknown} stand only on one side, must be the values of rms_norm "
            f"{sorted(_PLACES)} (each has its place in the drawing); add or remove places."
        )
    return kept


def _figure(values: Sequence[Value], flow: Flow, steps: int, *, with_cut: bool = False) -> Figure:
    drawing = FigureBuilder(f"flow-{'cut' if with_cut else steps}", height=470)
    for axis, bounds in (("xaxis", [-0.5, 3.6]), ("yaxis", [-0.7, 7.7])):
        drawing.layout[axis] = {"visible": False, "range": bounds, "fixedrange": True}
    drawing.layout["showlegend"] = False
    used = _used(flow, steps)
    path = flow.paths[steps - 1].nodes if steps and not with_cut else ()
    _bars(drawing)
    _edges(drawing, values, _in_path(path))
    marks = dict.fromkeys((name.split()[0] for name in path), palette.MEASURED)
    if with_cut:
        marks = {start.removesuffix(" in"): palette.COMPILED for start, _ in flow.cut}
    _nodes(drawing, values, used, marks)
    name = f"flow-table-{'cut' if with_cut else steps}"
    return drawing.build(
        caption=_caption(flow, steps, with_cut=with_cut),
        alt=word(
            "A network from a bar at the top to a bar at the bottom: x and weight lead straight "
            "down; from x a chain of pow, mean, add and rsqrt leads down and to mul."
        ),
        table=_table(values, used, name),
    )


def _caption(flow: Flow, steps: int, *, with_cut: bool) -> Word:
    if with_cut:
        names = ", ".join(_called(start.removesuffix(" in")) for start, _ in flow.cut)
        return word(
            "No way is left. The full pipes nearest to the backward pass are the cheapest cut: "
            "{names}, together {amount}.",
            names=names,
            amount=number(flow.amount),
        )
    if not steps:
        return word(
            "Each tensor with its flow / its capacity; thin lines are never full. What must not "
            "run twice hangs on the source."
        )
    path = flow.paths[steps - 1]
    names = " → ".join(dict.fromkeys(_called(node.split()[0]) for node in path.nodes[1:-1]))
    return word(
        "Path {n} of {all}: {names} lets {amount} through, and its narrowest tensor is full.",
        n=steps,
        all=len(flow.paths),
        names=names,
        amount=number(path.amount),
    )


def _used(flow: Flow, steps: int) -> dict[str, float]:
    """Add up what the first paths send through each tensor, taken back what they take back."""
    used: dict[str, float] = {}
    for path in flow.paths[:steps]:
        for start, end in pairwise(path.nodes):
            name, side = start.rsplit(" ", 1) if " " in start else (start, "")
            if side and end == f"{name} {'out' if side == 'in' else 'in'}":
                sign = 1 if side == "in" else -1
                used[name] = used.get(name, 0) + sign * path.amount
    return used


def _in_path(path: Sequence[str]) -> set[tuple[str, str]]:
    """Name the pairs of neighbours that a path passes, by the tensors' names."""
    names = [node.split()[0] for node in path]
    return {(a, b) for a, b in pairwise(names) if a != b}


def _bars(drawing: FigureBuilder) -> None:
    labels = ((_TOP, word("must not run twice"), 0.35), (_BOTTOM, word("read by backward"), -0.35))
    for height, label, shift in labels:
        drawing.trace(
            type="scatter",
            x=[-0.35, 3.3],
            y=[height, height],
            mode="lines",
            line={"color": palette.INK[0], "width": 4},
            hoverinfo="skip",
        )
        drawing.note(1.5, height + shift, label)


def _edges(
    drawing: FigureBuilder, values: Sequence[Value], highlighted: set[tuple[str, str]]
) -> None:
    edges = [(SOURCE, value.name) for value in values if value.pinned]
    edges += [
        (value.name, user)
        for value in values
        for user in value.users
        if user == BACKWARD or user in _PLACES
    ]
    for is_path, mark, width in ((False, palette.IDLE, 1.5), (True, palette.MEASURED, 5)):
        x: list[float | None] = []
        y: list[float | None] = []
        for edge in edges:
            if (edge in highlighted) == is_path:
                start, end = _ends(*edge)
                x += [start[0], end[0], None]
                y += [start[1], end[1], None]
        line = {"color": mark.light, "width": width}
        if x:
            drawing.trace(type="scatter", x=x, y=y, mode="lines", line=line, hoverinfo="skip")


def _ends(start: str, end: str) -> tuple[tuple[float, float], tuple[float, float]]:
    if start == SOURCE:
        return (_PLACES[end][0], _TOP), _PLACES[end]
    if end == BACKWARD:
        return _PLACES[start], (_PLACES[start][0], _BOTTOM)
    return _PLACES[start], _PLACES[end]


def _nodes(
    drawing: FigureBuilder,
    values: Sequence[Value],
    used: Mapping[str, float],
    marks: Mapping[str, Mark],
) -> None:
    for value in values:
        x, y = _PLACES[value.name]
        mark = marks.get(value.name, palette.FORMULA)
        drawing.points(
            plain(_called(value.name)), [x], [y], mark, hover=[f"{number(value.num_bytes)} B"]
        )
        amounts = f"{number(int(used.get(value.name, 0)))}/{number(int(value.capacity))}"
        label = plain(f"{_called(value.name)}<br>{amounts}")
        look = {"align": "left", "font": {"color": mark.light}, "bgcolor": palette.PAPER[0]}
        drawing.note(x, y, label, xanchor="left", xshift=9, **look)


def _table(values: Sequence[Value], used: Mapping[str, float], name: str) -> Table:
    table = TableBuilder(
        name, word("Tensors of rms_norm: what saving costs, and what must not run twice.")
    )
    table.code(word("Tensor"), [_called(value.name) for value in values])
    table.counts(word("Bytes"), [value.num_bytes for value in values], unit="B")
    table.counts(word("Steps to backward"), [value.distance for value in values])
    table.counts(word("Capacity"), [int(value.capacity) for value in values])
    if used:
        table.counts(word("Flow"), [int(used.get(value.name, 0)) for value in values])
    reasons: dict[str, Text] = {
        "": word("may run twice"),
        "an input": word("an input"),
        "a reduction": word("a reduction"),
    }
    table.texts(word("Pinned by"), [reasons[value.pinned] for value in values])
    return table.build()


def _called(name: str) -> str:
    return _NAMES.get(name, name)
