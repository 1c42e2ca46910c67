"""What becomes of a CUDA graph's results, and when a graph is left out, from a recording."""

from __future__ import annotations

from collections.abc import Sequence

from fuseshard.compiler.modes.records import Ending, GraphReport, SkipCase, TrapCase
from fuseshard.show.beside.draw import beside
from fuseshard.show.cards import origin_line
from fuseshard.show.choices import Choice
from fuseshard.show.numbers import number
from fuseshard.show.recorded import HasResult, nothing_recorded
from fuseshard.show.records import Source, Table
from fuseshard.show.sources import annotated_source
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Word, word


def trap_table(outcome: HasResult[GraphReport]) -> Table | Choice | Word:
    """Show for each case the first result, when it was new and after the second call.

    Args:
        outcome: of `compiler.modes.overwriting.gpu_graphs`.
    """
    return beside(outcome, _trap_table)


def _trap_table(report: GraphReport) -> Table:
    traps = report.traps
    caption = word("A first result of 2x + 1, looked at again after a second call.")
    table = TableBuilder("traps", caption)
    table.texts(word("Case"), [_case_word(trap) for trap in traps])
    table.code(word("First result"), [_values(trap.before) for trap in traps])
    table.code(word("The same tensor later"), [_values(trap.after) for trap in traps])
    table.texts(word("Ending"), [_ending_word(trap.ending) for trap in traps])
    return table.build(origin=origin_line(report.origin))


def skip_table(outcome: HasResult[GraphReport]) -> Table | Choice | Word:
    """Show which functions got a CUDA graph, and torch's reason where one didn't.

    Args:
        outcome: of `compiler.modes.overwriting.gpu_graphs`.
    """
    return beside(outcome, _skip_table)


def _skip_table(report: GraphReport) -> Table:
    skips = report.skips
    table = TableBuilder("skips", word("Functions compiled with CUDA graphs, and what they got."))
    table.texts(word("Function"), [_function_word(skip) for skip in skips])
    table.counts(word("CUDA graphs launched"), [skip.graph_launches for skip in skips])
    table.counts(word("CUDA graphs left out"), [skip.skips for skip in skips])
    table.code(word("What torch logs"), [skip.message for skip in skips])
    return table.build(origin=origin_line(report.origin))


def refusal_source(outcome: HasResult[GraphReport]) -> Source | Choice | Word:
    """Show the error with which torch refuses an overwritten result.

    Args:
        outcome: of `compiler.modes.overwriting.gpu_graphs`.
    """
    return beside(outcome, _refusal_source)


def _refusal_source(report: GraphReport) -> Source | Word:
    messages = [trap.message for trap in report.traps if trap.message]
    if not messages:
        return word("no case of this recording raised an error")
    caption = word("The error, broken into sentences")
    text = messages[0].replace(". ", ".\n")
    return annotated_source(
        "refusal", caption, text, language="text", folded=False, origin=origin_line(report.origin)
    )


def ending_finding(report: GraphReport | None, name: str) -> Word:
    """Say in a participle how the first result of a case ended.

    Args:
        report: recorded; None if it isn't yet.
        name: of the case; an older recording may lack it.
    """
    endings = {trap.name: trap.ending for trap in report.traps} if report else {}
    return _ending_word(endings[name]) if name in endings else nothing_recorded()


def size_finding(report: GraphReport | None) -> Word:
    """Say in a clause whether the recorded GPU is big enough for templates.

    Args:
        report: recorded; None if it isn't yet.
    """
    if report is None:
        return word("isn't known yet")
    if report.is_big:
        return word("has {n} of them, which is enough", n=report.multiprocessors)
    return word("has {n} of them, which is too few", n=report.multiprocessors)


def _values(values: Sequence[float]) -> str:
    return ", ".join(number(int(value)) for value in values) or "—"


def _ending_word(ending: Ending) -> Word:
    return {
        "kept": word("kept"),
        "overwritten": word("overwritten without a word"),
        "refused": word("refused with an error"),
    }[ending]


def _case_word(trap: TrapCase) -> Word:
    return {
        "default mode": word("default mode"),
        "first calls": word("reduce-overhead, in its first two calls"),
        "later calls": word("reduce-overhead, in later calls"),
        "marked each call": word("a step marked before each call"),
        "marked each call, first calls": word("a step marked before each of the first two calls"),
        "marked once": word("a step marked once before both calls"),
        "clone inside": word("cloned inside the compiled function"),
        "clone outside": word("cloned outside"),
        "fed back": word("the first result is the second input"),
        "by hand": word("graph by hand"),
        "by hand, clone": word("graph by hand, result cloned"),
    }[trap.name]


def _function_word(skip: SkipCase) -> Word:
    return {
        "pure": word("2x + 1"),
        "input changed": word("changes its input in place"),
        "CPU tensor": word("reads a tensor on the CPU as well"),
        "number read back": word("reads a number back to Python"),
    }[skip.name]
