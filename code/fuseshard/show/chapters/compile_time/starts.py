"""Draw how processes came to their first result, and what the caches said on the way."""

from __future__ import annotations

from collections.abc import Mapping

from fuseshard import palette
from fuseshard.compiler.caches.records import Answer, Lookup, PackageReport, Start, Starts
from fuseshard.palette import Mark
from fuseshard.show.beside.draw import beside
from fuseshard.show.cards import origin_line
from fuseshard.show.chapters.compile_time.bars import Part, stacked_bars
from fuseshard.show.choices import Choice
from fuseshard.show.numbers import duration, factor, magnitude
from fuseshard.show.recorded import HasResult
from fuseshard.show.records import Figure, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, plain, word

# What eager mode pays too has its colour; what compiling adds has that of compiled.
_ONCE = Mark(palette.COMPILED.light, palette.COMPILED.dark, "dot", "square-open", "x")
_FIRST_CALL = Mark(palette.COMPILED.light, palette.COMPILED.dark, "solid", "square", "")


def way_word(way: str) -> Word:
    """Name a way to start, in legends and heads of rows."""
    return {
        "eager": word("eager"),
        "cold": word("cold"),
        "disk": word("from disk"),
        "artifacts": word("artifacts, empty folder"),
        "precompile": word("from disk, Dynamo too"),
        "package": word("package"),
    }[way]


def answer_word(answer: Answer) -> Word:
    """Name what a cache said."""
    if answer == "hit":
        return word("hit")
    if answer == "miss":
        return word("miss")
    return word("not asked")


def start_figure(starts: Starts, package: PackageReport | None = None) -> Figure:
    """Draw the seconds from the start of each process to its first result.

    Args:
        starts: from `compiler.caches.starts`.
        package: of the same stack; None where there is none.
    """
    shown = [*starts.starts, *([package.start] if package else [])]
    parts = [
        Part(word("import torch"), palette.EAGER, [start.import_s for start in shown]),
        Part(
            word("once a process: compiler's imports, trial compile"),
            _ONCE,
            [start.prepare_s for start in shown],
        ),
        Part(
            word("the model: load, first call"),
            _FIRST_CALL,
            [start.load_s + start.first_call_s for start in shown],
        ),
    ]
    return stacked_bars(
        f"starts-{starts.device}",
        word("Way to start"),
        [way_word(start.way) for start in shown],
        parts,
        caption=_caption(starts, shown),
        alt=_alt(shown),
        origin=origin_line(starts.origin, num_threads=1 if starts.device == "cpu" else None),
    )


def _caption(starts: Starts, shown: list[Start]) -> Word:
    quickest = min((s for s in shown if s.way != "eager"), key=lambda s: s.first_result_s)
    return word(
        "From the start of a process to the first result of a stack of {layers} layers: {cold} "
        "with cold caches, {disk} with what that process left on disk. Of those that run compiled "
        "code, {way} is first, after {time}.",
        layers=starts.num_layers,
        cold=duration(starts["cold"].first_result_s),
        disk=duration(starts["disk"].first_result_s),
        way=way_in_sentence(quickest.way),
        time=duration(quickest.first_result_s),
    )


def way_in_sentence(way: str) -> Word:
    """Name a way to start inside a sentence."""
    return {
        "eager": word("eager mode"),
        "cold": word("the cold start"),
        "disk": word("the start from disk"),
        "artifacts": word("the start from artifacts"),
        "precompile": word("the start with Dynamo's results on disk"),
        "package": word("the package"),
    }[way]


def _alt(shown: list[Start]) -> Word:
    first, *rest = [
        word(
            "{way} {time}, of it the model's first call {call}",
            way=way_word(start.way),
            time=duration(start.first_result_s),
            call=duration(start.load_s + start.first_call_s),
        )
        for start in shown
    ]
    for more in rest:
        first = word("{first}; {rest}", first=first, rest=more)
    return word("One bar for each start, of three parts: {bars}.", bars=first)


def lookup_table(starts: Starts) -> Table:
    """Show what each cache said at the model's first call, and what the call then took.

    Args:
        starts: from `compiler.caches.starts`.
    """
    ways = [way for way in ("cold", "disk", "artifacts", "precompile") if way in starts.lookups]
    found = [starts.lookups[way] for way in ways]
    table = TableBuilder(
        f"lookups-{starts.device}",
        word("What each cache said at the first call of {n} layers.", n=starts.num_layers),
    )
    table.texts(word("Way to start"), [way_word(way) for way in ways])
    table.texts(word("Dynamo's cache"), [answer_word(lookup.dynamo) for lookup in found])
    _answers(table, found)
    if starts.device == "cpu":
        table.counts(word("C++ files compiled"), [lookup.compiler_runs for lookup in found])
    table.seconds(word("First call"), [lookup.first_call_s for lookup in found])
    return table.build(
        origin=origin_line(starts.origin, num_threads=1 if starts.device == "cpu" else None)
    )


def _answers(table: TableBuilder, found: list[Lookup]) -> None:
    table.texts(word("AOTAutograd's cache"), [answer_word(lookup.autograd) for lookup in found])
    table.texts(word("FX-graph cache"), [answer_word(lookup.graph) for lookup in found])


def artifacts_finding(starts: Starts | None) -> Word:
    """Say in a clause what saved artifacts were worth in an empty folder.

    Args:
        starts: live or recorded; None if it isn't recorded yet.
    """
    if starts is None:
        return word("what the artifacts are worth there is not recorded yet")
    cold, elsewhere = (starts.lookups[way].first_call_s for way in ("cold", "artifacts"))
    return word(
        "the first call took {elsewhere} with the artifacts, and {cold} without ({ratio} the time)",
        elsewhere=duration(elsewhere),
        cold=duration(cold),
        ratio=factor(elsewhere / cold),
    )


def recorded_starts(outcome: HasResult[Starts]) -> Table | Choice | Word:
    """Show recorded lookups, another machine's beside them, or say how to record them.

    Args:
        outcome: of the experiment, called on any machine.
    """
    return beside(outcome, lookup_table)


def error_table(errors: Mapping[str, float], allowed: float) -> Table:
    """Show how far each way's results are from exact ones.

    Args:
        errors: name of the way -> largest error, relative to the largest value.
        allowed: the largest error that rounding explains.
    """
    labels: dict[str, Text] = {
        **{way: way_word(way) for way in ("cold", "disk", "artifacts", "precompile", "package")},
        "eager": word("eager"),
        "transposed": word("one weight transposed"),
    }
    explained = magnitude(allowed)
    table = TableBuilder(
        "errors", word("Errors against float64; rounding explains {x}.", x=explained)
    )
    table.texts(word("Way"), [labels[way] for way in errors])
    table.texts(word("Largest error"), [plain(magnitude(error)) for error in errors.values()])
    table.texts(
        word("Verdict"),
        [word("rounding") if error <= allowed else word("a bug") for error in errors.values()],
    )
    return table.build()
