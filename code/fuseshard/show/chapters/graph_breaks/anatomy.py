"""What the chapter shows of single breaks: bytecode, pieces, tools."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fuseshard.compiler.breaks.records import Dissection, ToolTrial
from fuseshard.show.records import Source, Table
from fuseshard.show.sources import annotated_source, on
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, plain, word

_CALLED = re.compile(r"\((?:NULL \+ )?(?P<name>__compiled_fn_\w+|__resume_at_\w+)")
_CALLING = re.compile(r"\b(?:LOAD_GLOBAL|CALL\w*|RETURN_VALUE)\b")
_INSTRUCTION = re.compile(r"^\s*(?:\d+\s+)?(?:>>\s+)?\d+\s+[A-Z_]{3,}")


def names_called(bytecode: str) -> tuple[str, ...]:
    """List the functions made by Dynamo that its bytecode loads, in order.

    Args:
        bytecode: of one frame, from `compiler.stages.capture`.
    """
    return tuple(match["name"] for match in _CALLED.finditer(bytecode))


def calls_source(bytecode: str) -> Source:
    """Show what the bytecode that Dynamo put in place of a function loads and calls.

    Args:
        bytecode: of the first frame of a function with one break, from `compiler.stages.capture`.
    """
    instructions = [line[line.index(found[0]) :] for line, found in _matches(_CALLING, bytecode)]
    notes = [
        on(r"__compiled_fn_", word("First the graph up to the break ...")),
        on(r"graph_break\)", word("... then the call that no graph can hold ...")),
        on(
            r"__resume_at_",
            word("... then a function for the rest, which Dynamo compiles when it is called."),
        ),
    ]
    caption = word(
        "Dynamo's bytecode for a function with one break: the {n} of {all} instructions that load "
        "or call a function",
        n=len(instructions),
        all=sum(1 for _ in _matches(_INSTRUCTION, bytecode)),
    )
    code = "\n".join(instructions)
    return annotated_source("bytecode", caption, code, language="text", notes=notes, folded=False)


def _matches(pattern: re.Pattern[str], text: str) -> Iterator[tuple[str, re.Match[str]]]:
    """Walk the lines in which a pattern is found."""
    for line in text.splitlines():
        found = pattern.search(line)
        if found:
            yield line, found


def losses_table(captured: Sequence[Dissection]) -> Table:
    """Show what the same operations cost as one graph and as two.

    Args:
        captured: one entry a function, in growing number of graphs.
    """
    table = TableBuilder("losses", word("The same sixteen operations in one graph and in two."))
    table.counts(word("Graphs"), [entry.graphs for entry in captured])
    table.counts(word("Kernels"), [entry.kernels for entry in captured])
    table.counts(word("Written"), [entry.written_bytes for entry in captured], unit="B")
    table.counts(word("Guards checked"), [entry.guards for entry in captured])
    return table.build()


def pieces_table(by_hand: Sequence[tuple[int, int]], library: Sequence[tuple[int, int]]) -> Table:
    """Compare the graphs cut by hand with Dynamo's.

    Args:
        by_hand: inputs and outputs of each graph of `compiler.breaks.split`.
        library: the same of `compiler.breaks.split.library_pieces`.
    """
    table = TableBuilder("pieces", word("What crosses the borders of each graph."))
    table.counts(word("Graph"), list(range(1, len(by_hand) + 1)))
    for label, counts in ((word("by hand"), by_hand), (word("by Dynamo"), library)):
        table.counts(word("Inputs, {who}", who=label), [inputs for inputs, _ in counts])
        table.counts(word("Outputs, {who}", who=label), [outputs for _, outputs in counts])
    return table.build()


def tools_table(trials: Sequence[ToolTrial]) -> Table:
    """Show what becomes of a print, and of the graph around it, under each tool.

    Args:
        trials: from `compiler.breaks.tools.try_tools`.
    """
    table = TableBuilder("tools", word("One print between two operations, under each tool."))
    table.code(word("Tool"), [trial.tool for trial in trials])
    table.texts(word("Graphs"), [_graphs(trial) for trial in trials])
    for index, title in enumerate((word("Call 1 prints"), word("Call 2 prints"))):
        table.texts(title, [_printed(trial, index) for trial in trials])
    return table.build()


def _graphs(trial: ToolTrial) -> Text:
    return word("error") if trial.trial.error else plain(trial.trial.graphs[0])


def _printed(trial: ToolTrial, call: int) -> Word:
    """Say in a word or two what one call printed."""
    printed = trial.trial.printed[call] if call < len(trial.trial.printed) else ""
    if not printed:
        return word("nothing")
    if re.search(r"\d\.\d", printed):
        return word("the value")
    return word("no value: {text}", text=printed.splitlines()[0].removeprefix("mean "))
