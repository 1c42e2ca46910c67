"""Draw a history: one lane a graph, one mark a call, and the guard that made each graph."""

from __future__ import annotations

from collections.abc import Mapping

from fuseshard import palette
from fuseshard.compiler.recompiles.records import Call, GuardFailure, History, State
from fuseshard.palette import Mark
from fuseshard.show.choices import Choice, choose
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.records import Figure, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, plain, word

# The compiler at work is drawn in ink: it is neither compiled code nor eager code that runs then.
_COMPILE = Mark(*palette.INK, "solid", "diamond", "")
_RECOMPILE = Mark(*palette.INK, "solid", "star", "")
_STATES: tuple[State, ...] = ("compile", "recompile", "hit", "eager")
_LANE_PX, _FRAME_PX = 46, 120
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
            drawing.points(
                state_word(state),
                [call.index + 1 for call in own],
                [_lane(call, history) for call in own],
                _mark(state),
                hover=[_hover(call) for call in own],
            )
    for row, text in enumerate(lanes.values()):
        drawing.note(0.5, row - _ABOVE, text, xanchor="left", font={"size": 12})
    drawing.x_axis(
        _axis_word(changes),
        tickvals=[call.index + 1 for call in history.calls],
        ticktext=[drawing.say(plain(call.inputs)) for call in history.calls],
        tickangle=0,
        range=[0.4, len(history.calls) + 0.6],
    )
    drawing.layout["yaxis"] = {
        "tickvals": list(range(len(lanes))),
        "ticktext": [drawing.say(label) for label in lanes],
        "range": [len(lanes) - 0.4, -0.7],
        "automargin": True,
        "fixedrange": True,
        "zeroline": False,
        "gridcolor": palette.GRID[0],
    }
    return drawing.build(
        caption=_caption(history), alt=_alt(history), table=calls_table(f"{name}-calls", history)
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
        "branch": word("a branch on the length, dynamic=True"),
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
        "{what}: {expected} expected, {actual} given",
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


def _lanes(history: History) -> dict[Text, Text]:
    """Name each lane, and say why it came to be."""
    lanes: dict[Text, Text] = {}
    for call in history.calls:
        for graph in call.compiled:
            why = reason(call.failures[0]) if call.failures else word("no graph yet")
            lanes[word("graph {index}", index=graph)] = why
    refused = next((call for call in history.calls if call.state == "eager"), None)
    if refused is not None:
        is_limit = bool(refused.warning and "recompile_limit" in refused.warning)
        lanes[word("eager")] = (
            word("limit reached, no graph fits") if is_limit else word("nothing compiled")
        )
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
        "{function}, {calls} calls: {graphs} graphs compiled, {hits} calls reuse one, {eager} run "
        "without the compiler.",
        function=history.function,
        calls=len(history.calls),
        graphs=len(history.graphs),
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
