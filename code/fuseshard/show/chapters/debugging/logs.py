"""Logs and traces of the compiler: one entry at a time, and events in order."""

from __future__ import annotations

from collections.abc import Sequence

from fuseshard.compiler.debugging.records import LogEntry, TraceEvent
from fuseshard.show.choices import Choice, choose
from fuseshard.show.records import Source, Table
from fuseshard.show.sources import annotated_source, on
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Word, plain, word


def entries_choice(entries: Sequence[LogEntry]) -> Choice:
    """Let the reader pick one of TORCH_LOGS' artifacts and read its first entry.

    Args:
        entries: from `logs.log_entries`, with the artifacts of `_captions` among them.
    """
    captions = _captions()
    first: dict[str, LogEntry] = {}
    for entry in entries:
        if entry.artifact in captions:
            first.setdefault(entry.artifact, entry)
    options = [
        (plain(name), _entry_source(first[name], caption))
        for name, caption in captions.items()
        if name in first
    ]
    return choose("logs", word("Artifact"), options)


def events_table(events: Sequence[TraceEvent]) -> Table:
    """List what a structured trace keeps of the first compile of the first function.

    Args:
        events: from `logs.trace_events`, of one frame.
    """
    meanings = _meanings()
    known = [event for event in events if event.name in meanings]
    table = TableBuilder("events", word("What the trace keeps of one compile, in order."))
    table.code(word("Event"), [event.name for event in known])
    table.texts(word("What it holds"), [meanings[event.name] for event in known])
    table.counts(word("Lines"), [event.payload_lines or None for event in known])
    rest = len(events) - len(known)
    return table.build(
        notes=[word("{n} further events hold times, tensors' descriptions and the like.", n=rest)]
    )


def _entry_source(entry: LogEntry, caption: Word) -> Source:
    notes = {
        "graph_breaks": [
            on(r"Reason", word("A stable name: search for it, and you find others who met it.")),
            on(r"Hint: Use", word("What to write instead.")),
        ],
        "recompiles": [
            on(r"- \d+/\d+", word("Which version was tried, and which of its guards failed."))
        ],
        "graph_code": [on(r"L_x_: ", word("Shapes, strides and device of the input."))],
    }.get(entry.artifact, [])
    return annotated_source(
        f"log-{entry.artifact.replace('_', '-')}",
        caption,
        entry.text + "\n",
        language="text",
        notes=notes,
        folded=False,
    )


def _captions() -> dict[str, Word]:
    return {
        "graph_breaks": word("graph_breaks: where a graph ended, and why"),
        "recompiles": word("recompiles: which guard failed"),
        "graph_code": word("graph_code: what Dynamo captured"),
    }


def _meanings() -> dict[str, Word]:
    return {
        "dynamo_start": word("the stack from which compiling began"),
        "dynamo_graph_break_reason": word("why the graph ended"),
        "dynamo_output_graph": word("Dynamo's graph"),
        "aot_inference_graph": word("AOTAutograd's graph, without a backward pass"),
        "fx_graph_runnable": word("a program that runs this graph alone"),
        "inductor_post_grad_graph": word("the graph after Inductor's own rewriting"),
        "inductor_output_code": word("what Inductor wrote"),
        "fx_graph_cache_hit": word("the compiled graph was found on disk"),
        "fx_graph_cache_miss": word("the compiled graph was not found on disk"),
        "dynamo_cpp_guards_str": word("the guards"),
        "compilation_metrics": word("times and counters of this compile"),
    }
