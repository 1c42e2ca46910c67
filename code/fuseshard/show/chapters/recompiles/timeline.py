"""Draw a history: one lane a graph, one mark a call, and the guard that made each graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fuseshard import palette
from fuseshard.compiler.recompiles.records import Call, GuardFailure, History, State
from fuseshard.palette import Mark
from fuseshard.show.charts.variants import as_value
from fuseshard.show.choices import Choice, choose
from fuseshard.show.figures import HOVER, FigureBuilder
from fuseshard.show.records import Figure, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, plain, word

# The compiler at work is drawn in ink: it is neither compiled code nor eager code that runs then.
_COMPILE = Mark(*palette.INK, "solid", "diamond", "")
_RECOMPILE = Mark(*palette.INK, "solid", "star", "")
_STATES: tuple[State, ...] = ("compile", "recompile", "hit", "eager")
_LANE_PX, _FRAME_PX = 46, 160
_MANY_CALLS = 12
"""from so many calls on, marks are smaller and every other tick has a label"""
_ABOVE = 0.36
"""of a lane's height, from its marks up to the text above them"""


def timelines(histories: Mapping[str, History]) -> Choice:
    """Let the reader choose what changes from call to call.

    Args:
        histories: name of a scenario -> what happened.
    """
    options = [
        (scenario_word(name), timeline(f"timeline-{name}", history, changes=_AXES[name]))
        for name, history in histories.items()
    ]
    return choose("timelines", word("What changes from call to call"), options)


def timeline(name: str, history: History, *, changes: str = "length") -> Figure:
    """Draw calls from left to right, each on the lane of the graph that served it.

    A storm is a staircase, reuse is a straight line, and calls without compiled code gather on
    the lowest lane.

    Args:
        name: lower-case words joined by hyphens, unique on its page.
        history: of a function without graph breaks.
        changes: what differs between the calls, and so stands on the x axis.
    """
    lanes = _lanes(history)
    drawing = FigureBuilder(name, height=_FRAME_PX + _LANE_PX * len(lanes))
    for state in _STATES:
        own = [call for call in history.calls if call.state == state]
        if own:
            _draw(drawing, own, history)
    for row, text in enumerate(lanes):
        drawing.note(0.5, row - _ABOVE, text, xanchor="left", font={"size": 12})
    # On a phone there is room for a dozen labels.
    labelled = history.calls[:: 1 + len(history.calls) // _MANY_CALLS]
    drawing.x_axis(
        _axis_word(changes),
        tickvals=[call.index + 1 for call in labelled],
        ticktext=[drawing.say(plain(call.inputs)) for call in labelled],
        tickangle=0,
        range=[0.4, len(history.calls) + 0.6],
    )
    drawing.layout["yaxis"] = {
        "tickvals": list(range(len(lanes))),
        "showticklabels": False,
        "range": [len(lanes) - 0.4, -0.8],
        "fixedrange": True,
        "zeroline": False,
        "gridcolor": palette.GRID[0],
    }
    return drawing.build(
        caption=_caption(history), alt=_alt(history), table=calls_table(f"{name}-calls", history)
    )


def _draw(drawing: FigureBuilder, calls: Sequence[Call], history: History) -> None:
    """Add a mark for each of some calls that ended alike."""
    mark = _mark(calls[0].state)
    size = 8 if len(history.calls) > _MANY_CALLS else 11
    drawing.trace(
        type="scatter",
        mode="markers",
        name=drawing.say(state_word(calls[0].state)),
        x=[call.index + 1 for call in calls],
        y=[_lane(call, history) for call in calls],
        marker={"color": mark.light, "symbol": mark.symbol, "size": size},
        hovertext=[drawing.say(plain(_hover(call))) for call in calls],
        hovertemplate=HOVER,
    )


def calls_table(name: str, history: History) -> Table:
    """List the calls, with every guard that failed.

    Args:
        name: lower-case words joined by hyphens, unique on its page.
        history: of any function.
    """
    table = TableBuilder(name, word("Each call of {function}.", function=history.function))
    table.counts(word("Call"), [call.index + 1 for call in history.calls])
    table.texts(word("Brings"), [plain(call.inputs) for call in history.calls])
    table.texts(word("Outcome"), [state_word(call.state) for call in history.calls])
    table.code(word("First guard to fail, entry by entry"), [_guards(c) for c in history.calls])
    table.counts(word("Graphs so far"), [call.graphs_so_far for call in history.calls])
    return table.build()


_AXES = {
    "automatic": "length",
    "dynamic": "length",
    "static": "length",
    "zero-one": "length",
    "unbacked": "length",
    "equal-sizes": "length",
    "branch": "length",
    "number": "number",
    "dtype": "dtype",
    "gradient": "gradient",
}


def _axis_word(changes: str) -> Text:
    return {
        "length": word("length in each call"),
        "number": word("number in each call"),
        "dtype": word("dtype in each call"),
        "gradient": word("gradient mode in each call"),
    }[changes]


def scenario_word(name: str) -> Word:
    """Name a scenario in the list that a reader chooses from."""
    return {
        "automatic": word("20 lengths, dynamic=None"),
        "dynamic": word("20 lengths, dynamic=True"),
        "static": word("20 lengths, dynamic=False"),
        "zero-one": word("lengths 0 and 1, dynamic=True"),
        "unbacked": word("lengths 0 and 1, mark_unbacked"),
        "equal-sizes": word("a square first, dynamic=True"),
        "branch": word("a branch on the length, mark_dynamic"),
        "number": word("a Python number"),
        "dtype": word("the dtype"),
        "gradient": word("the gradient mode"),
    }[name]


def state_word(state: State) -> Word:
    """Name what a call did."""
    return {
        "compile": word("compiles"),
        "recompile": word("compiles again"),
        "hit": word("reuses a graph"),
        "eager": word("runs without the compiler"),
    }[state]


def reason(failure: GuardFailure) -> Text:
    """Say in a few words why an entry didn't fit; a guard that is code stays code."""
    if failure.kind == "state":
        return word("global state: {name}", name=failure.subject)
    if failure.kind == "type":
        return word("another type of {name}", name=failure.subject)
    if failure.expected is None or failure.actual is None:
        return plain(failure.guard)
    return word(
        "{what}: {expected} → {actual}",
        what=_property(failure),
        expected=failure.expected,
        actual=failure.actual,
    )


def _property(failure: GuardFailure) -> Word:
    """Name what a tensor's guard is about."""
    name = failure.subject
    if failure.kind == "size":
        return word("size {dim} of {name}", dim=failure.dim or 0, name=name)
    if failure.kind == "stride":
        return word("stride {dim} of {name}", dim=failure.dim or 0, name=name)
    return word("{kind} of {name}", kind=failure.kind, name=name)


def _lanes(history: History) -> list[Word]:
    """Name each lane, and say why it came to be."""
    lanes = []
    for call in history.calls:
        for graph in call.compiled:
            if call.failures:
                why = as_value(reason(call.failures[0]))
                lanes.append(word("graph {index}, because of {why}", index=graph, why=why))
            else:
                lanes.append(word("graph {index}", index=graph))
    refused = next((call for call in history.calls if call.state == "eager"), None)
    if refused is not None:
        is_limit = bool(refused.warning and "recompile_limit" in refused.warning)
        lanes.append(word("no graph: the limit is reached") if is_limit else word("no graph"))
    return lanes


def _lane(call: Call, history: History) -> int:
    """Return the lane of a call: its graph's, or the lowest one."""
    used = call.compiled or call.ran
    return used[0] if used else len(history.graphs)


def _mark(state: State) -> Mark:
    marks = {"compile": _COMPILE, "recompile": _RECOMPILE, "hit": palette.COMPILED}
    return marks.get(state, palette.EAGER)


def _hover(call: Call) -> str:
    return "<br>".join([f"{call.index + 1}: {call.inputs}", *(f.guard for f in call.failures[:3])])


def _guards(call: Call) -> str:
    return "; ".join(f"{failure.entry}: {failure.guard}" for failure in call.failures)


def _caption(history: History) -> Word:
    return word(
        "{function}, {calls} calls: {compiled} compiled a graph, {hits} reused one, {eager} ran "
        "without the compiler.",
        function=history.function,
        calls=len(history.calls),
        compiled=history.count("compile", "recompile"),
        hits=history.count("hit"),
        eager=history.count("eager"),
    )


def _alt(history: History) -> Word:
    return word(
        "A lane for each of {graphs} graphs, and one mark for each of {calls} calls on the lane "
        "of the graph that served it; {eager} marks stand below, where nothing compiled ran.",
        graphs=len(history.graphs),
        calls=len(history.calls),
        eager=history.count("eager"),
    )
