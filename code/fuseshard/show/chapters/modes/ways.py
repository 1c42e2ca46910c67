"""What readers call the ways to run a model, and the clauses that several findings share."""

from __future__ import annotations

from collections.abc import Sequence

from fuseshard import palette
from fuseshard.compiler.modes.records import Candidate, ModeSweep
from fuseshard.palette import Mark
from fuseshard.show.charts.variants import Variant, as_value, known_variants
from fuseshard.show.words import Text, Word, plain, word

BY_HAND = "by hand"

_GRAPH_BY_HAND = Mark(palette.EAGER.light, palette.EAGER.dark, "dot", "circle-open", ".")


def variants(ways: Sequence[str]) -> dict[str, Variant]:
    """Return labels and marks of eager mode, of the graph by hand, and of any modes.

    Args:
        ways: names in a comparison; what isn't one of the first two is a mode.
    """
    known = {
        "eager": known_variants()["eager"],
        BY_HAND: Variant(
            word("graph by hand (eager)"),
            _GRAPH_BY_HAND,
            word("eager mode in a CUDA graph by hand"),
        ),
    }
    modes = {
        way: Variant(plain(way), palette.COMPILED, word("mode {mode}", mode=way))
        for way in ways
        if way not in known
    }
    return known | modes


def task_word(sweep: ModeSweep) -> Word:
    """Name what a sweep timed."""
    return {
        "inference": word("inference"),
        "training": word("training step"),
        "head": word("head and softmax"),
    }[sweep.task]


def size_word(sweep: ModeSweep) -> Word:
    """Say what a sweep's sizes count."""
    return word("Rows") if sweep.task == "head" else word("Sequences in the batch")


def maker_word(candidate: Candidate) -> Word:
    """Say who wrote a candidate of max_autotune."""
    if candidate.name.startswith("cpp_"):
        return word("Inductor's template")
    return word("the library")


def in_a_row(texts: Sequence[Text], *, apart: bool = False) -> Word:
    """Join texts with commas, or with semicolons where they hold commas themselves.

    Args:
        texts: at least one.
        apart: semicolons instead of commas.
    """
    first, *rest = texts
    joined = first if isinstance(first, Word) else word("{text}", text=str(first))
    for text in rest:
        joined = (
            word("{first}; {rest}", first=joined, rest=as_value(text))
            if apart
            else word("{first}, {rest}", first=joined, rest=as_value(text))
        )
    return joined
