"""The words for what a scheduler does: programs, kinds of pair, reasons."""

from __future__ import annotations

from fuseshard.compiler.scheduling.records import OTHER_RANGES, Decision, Node
from fuseshard.show.words import Text, Word, plain, word

NOT_ASKED = "not asked"
"""stands for a pair that the scheduler never looked at, since one node calls a library"""
NOTHING_SHARED = "nothing shared"
"""stands for a pair that the scheduler never looked at, since no buffer has both as users"""


def program_word(name: str) -> Word:
    """Say what is special about a program of the gallery."""
    return {
        "chain": word("a chain, element by element"),
        "siblings": word("two readers of one input"),
        "softmax": word("softmax of each row"),
        "moments": word("two means of each row"),
        "flattened": word("a table and the sum of its rows"),
        "transposed": word("a table and its transposed copy"),
        "columns": word("softmax of each column"),
        "cheap": word("a cheap table, summed twice"),
        "costly": word("an exponential, summed twice"),
        "slices": word("a table and half of it"),
        "joined": word("two tables joined by cat"),
        "matmul": word("a matrix product between"),
        "detour": word("a way round through a product"),
        "cycle": word("two pairs, of which one must wait"),
    }[name]


def short_reason(reason: str) -> Word:
    """Say in two or three words why a pair was not fused.

    Args:
        reason: torch's, or one of this book's for where torch has none.

    Raises:
        KeyError: a reason that no program of this chapter has met.
    """
    return {
        "no shared data": word("other indices"),
        "intermediate nodes between node1 & node2": word("third in between"),
        "will create cycle": word("circular wait"),
        "exceeds max fusion": word("more than allowed"),
        OTHER_RANGES: word("loops don't fit"),
        NOT_ASKED: word("library call"),
        NOTHING_SHARED: word("nothing shared"),
    }[reason]


def torch_reason(decision: Decision) -> Text:
    """Return torch's own reason, or say that it has none."""
    if decision.verdict != "refused":
        return plain("—")
    if decision.reason == OTHER_RANGES:
        return word("none; the C++ backend compares loops")
    return plain(decision.reason)


def verdict_word(decision: Decision) -> Word:
    """Say what became of a pair."""
    return {
        "fused": word("fused"),
        "refused": word("refused"),
        "overtaken": word("allowed, but another came first"),
    }[decision.verdict]


def relation_word(decision: Decision) -> Text:
    """Say how the two of a pair are related."""
    if decision.relation == "vertical":
        return word("one reads the other")
    return word("both use the same buffer") if decision.relation else plain("—")


def loops_text(node: Node) -> str:
    """Write a node's loops, those of a reduction in brackets: 384×[512]."""
    reduced = [f"[{size}]" for size in node.reduced]
    return "×".join([*(str(size) for size in node.ranges), *reduced])
