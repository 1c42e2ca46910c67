"""Tables of the chapter on recompilations: symbols, ways to treat lengths, storms, differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fuseshard.compiler.recompiles.records import Cure, Graph, History, Symbol
from fuseshard.show.chapters.recompiles.timeline import reason, scenario_word
from fuseshard.show.records import Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, plain, word

LIMIT = 8
"""graphs from which on a function compiles no more"""


def symbols_table(graphs: Mapping[str, Sequence[Graph]]) -> Table:
    """List the symbols of graphs: what they stand for, their range, and what tracing assumed.

    Args:
        graphs: name of a function -> its graphs; those without symbols have no row.
    """
    rows = [
        (function, graph, symbol)
        for function, own in graphs.items()
        for graph in own
        for symbol in graph.symbols
    ]
    table = TableBuilder("symbols", word("The symbols in each graph."))
    table.code(word("Function"), [function for function, _, _ in rows])
    table.counts(word("Graph"), [graph.index for _, graph, _ in rows])
    table.code(word("Symbol"), [symbol.name for _, _, symbol in rows])
    table.texts(word("Stands for"), [_stands_for(symbol) for _, _, symbol in rows])
    table.texts(word("First value"), [_hint(symbol) for _, _, symbol in rows])
    table.code(word("Range"), [_range(symbol) for _, _, symbol in rows])
    table.code(word("Assumed"), [_assumed(graph, symbol) for _, graph, symbol in rows])
    return table.build()


def _stands_for(symbol: Symbol) -> Text:
    return plain(symbol.stands_for) if symbol.stands_for else word("known at run time only")


def _hint(symbol: Symbol) -> Text:
    return plain("—" if symbol.hint is None else symbol.hint)


def _range(symbol: Symbol) -> str:
    low = "-∞" if symbol.low is None else str(symbol.low)
    # The space is one at which no line breaks.
    return f"[{low},\u00a0{'∞' if symbol.high is None else symbol.high}]"


def _assumed(graph: Graph, symbol: Symbol) -> str:
    return ", ".join(text for text in graph.conditions if symbol.name in text)


def ways_table(histories: Mapping[str, Mapping[str, History]]) -> Table:
    """Compare ways to treat lengths by the graphs that they compile.

    Args:
        histories: way -> name of a series of lengths -> what happened; the same series each.
    """
    series = list(next(iter(histories.values())))
    titles = {
        "twenty": word("20 lengths, 3 to 22"),
        "small": word("lengths 5, 7, 1, 0, 9"),
        "square": word("lengths 6, 5, 7, 9"),
    }
    table = TableBuilder("ways", word("Graphs that each way to treat lengths compiles."))
    table.code(word("Way"), [_WAYS.get(way, way) for way in histories])
    for name in series:
        own = [history[name] for history in histories.values()]
        table.texts(titles[name], [_graphs(history) for history in own])
    return table.build(
        notes=[
            word("The width is 6, so the first length of the last series makes a square."),
            word("Padding goes up to 8, 16 or 24."),
        ]
    )


_WAYS = {name: f"dynamic={name}" for name in ("None", "True", "False")}


def _graphs(history: History) -> Text:
    eager = history.count("eager")
    if eager == 1:
        return word("{graphs}, and one call eager", graphs=len(history.graphs))
    if eager:
        return word("{graphs}, and {eager} calls eager", graphs=len(history.graphs), eager=eager)
    return plain(len(history.graphs))


def cures_table(cures: Mapping[str, Cure]) -> Table:
    """List storms: the guard that fails, and the graphs before and after the cure."""
    all_cures = list(cures.values())
    table = TableBuilder("storms", word("Twelve calls each, before and after the cure."))
    table.texts(word("What changes"), [change_word(cure.name) for cure in all_cures])
    table.texts(word("Guard that fails first"), [_first_reason(cure) for cure in all_cures])
    table.counts(word("Graphs before"), [len(cure.before.graphs) for cure in all_cures])
    table.counts(word("after"), [len(cure.after.graphs) for cure in all_cures])
    table.texts(word("Cure"), [cure_word(cure.name) for cure in all_cures])
    eager = {cure.before.count("eager") for cure in all_cures if len(cure.before.graphs) == LIMIT}
    return table.build(
        notes=[
            word(
                "With {limit} graphs the limit is reached: the last {eager} of those calls ran "
                "eager.",
                limit=LIMIT,
                eager=max(eager, default=0),
            )
        ]
    )


def _first_reason(cure: Cure) -> Text:
    failed = next(call for call in cure.before.calls if call.failures)
    return reason(failed.failures[0])


def change_word(name: str) -> Word:
    """Name what changes from call to call in a storm."""
    return {
        "module-int": word("int attribute of a module"),
        "layer-index": word("index of a layer"),
        "global": word("global object"),
        "list-length": word("length of a list"),
        "string": word("string argument"),
        "learning-rate": word("learning rate, a float"),
        "dtype": word("dtype"),
        "layout": word("strides"),
    }[name]


def cure_word(name: str) -> Word:
    """Name the cure of a storm."""
    return {
        "module-int": word("keep it as a tensor buffer"),
        "layer-index": word("make a buffer of it"),
        "global": word("pass it as an argument"),
        "list-length": word("stack the list"),
        "string": word("look it up outside"),
        "learning-rate": word("make it a tensor"),
        "dtype": word("cast before the call"),
        "layout": word("call .contiguous() before"),
    }[name]


def twins_table(equal: Mapping[str, tuple[History, History]]) -> Table:
    """Compare histories call by call: ours, and torch's.

    Args:
        equal: name of a scenario -> our history and torch's, of the same calls.
    """
    pairs = list(equal.values())
    table = TableBuilder("twins", word("The guard cache by hand against torch.compile."))
    table.texts(word("Series of calls"), [scenario_word(name) for name in equal])
    table.counts(word("Calls"), [len(ours.calls) for ours, _ in pairs])
    table.counts(word("Entries by hand"), [ours.calls[-1].graphs_so_far for ours, _ in pairs])
    table.counts(word("Graphs of torch.compile"), [len(theirs.graphs) for _, theirs in pairs])
    table.counts(
        word("Guards that failed"),
        [sum(len(call.failures) for call in theirs.calls) for _, theirs in pairs],
    )
    table.texts(word("Verdict"), [_twin_verdict(ours, theirs) for ours, theirs in pairs])
    return table.build()


def _twin_verdict(ours: History, theirs: History) -> Word:
    if ours.decisions == theirs.decisions:
        return word("equal")
    return word("different")
