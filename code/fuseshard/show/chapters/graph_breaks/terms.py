"""The words of the chapter on graph breaks: rooms, outcomes, older advice and its verdicts."""

from __future__ import annotations

from fuseshard.compiler.breaks.records import Cause, Status, Verdict
from fuseshard.show.words import Text, Word, plain, word


def room_word(room: str) -> Word:
    """Name a room of the museum."""
    return {
        "control": word("Branches, loops, assertions"),
        "values": word("Values read out"),
        "effects": word("Side effects"),
        "libraries": word("Other libraries"),
        "language": word("Python's constructs"),
        "torch": word("Torch beyond operators"),
        "whole": word("Where no graph can resume"),
    }[room]


def status_word(status: Status) -> Word:
    """Say what becomes of an exhibit in both modes."""
    return {
        "one graph": word("one graph"),
        "cut, captured": word("breaks; one graph under fullgraph"),
        "cut, refused": word("breaks; an error under fullgraph"),
        "no graph, captured": word("no graph; one under fullgraph"),
        "no graph": word("no graph; an error under fullgraph"),
    }[status]


def cause_word(cause: Cause) -> Text:
    """Name what older advice blames."""
    words: dict[Cause, Text] = {
        "if": word("branches on values"),
        "conditional": word("complicated conditions"),
        "assert": word("assertions"),
        "print": word("printing a tensor"),
        "mutation": word("changing Python data"),
        "library": word("calls into libraries"),
        "where": plain("torch.where"),
        "nonzero": plain("torch.nonzero"),
        "python": word("Python constructs"),
    }
    return words[cause]


def verdict_word(verdict: Verdict | None) -> Word | None:
    """Judge the advice that one exhibit breaks; None where there is none."""
    if verdict is None:
        return None
    return {
        "holds": word("holds"),
        "only by default": word("only by default"),
        "recompiles instead": word("no break, but recompiles"),
        "another result": word("no break, but another result"),
        "no longer": word("no longer true"),
    }[verdict]
