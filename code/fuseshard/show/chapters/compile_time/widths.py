"""Show what became of a cache that was filled under another width of vectors."""

from __future__ import annotations

from collections.abc import Sequence

from fuseshard.compiler.caches.records import WidthTrial
from fuseshard.show.chapters.compile_time.starts import answer_word
from fuseshard.show.numbers import magnitude, number
from fuseshard.show.records import Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, plain, word


def widths_table(trials: Sequence[WidthTrial], bound: float) -> Table | Word:
    """Show three processes, or say that this processor can't play both parts.

    Args:
        trials: wide; narrow, behind the wide one; narrow, alone. Or none.
        bound: largest relative difference that rounding explains.
    """
    if not trials:
        return word("This processor has no AVX-512, so there is no second width to try here.")
    folders = [word("empty"), word("the first one's"), word("empty")]
    table = TableBuilder(
        "widths",
        word(
            "One softmax in three processes; rounding explains a difference of {bound}.",
            bound=magnitude(bound),
        ),
    )
    table.texts(word("Vectors"), [plain(trial.capability) for trial in trials])
    table.texts(word("Cache folder"), folders)
    table.texts(word("FX-graph cache"), [answer_word(trial.graph) for trial in trials])
    table.texts(word("Largest difference"), [_difference(trial) for trial in trials])
    table.texts(word("Verdict"), [_verdict(trial, bound) for trial in trials])
    return table.build()


def carried_finding(trials: Sequence[WidthTrial]) -> Word:
    """Say in a clause how the process ended that used a cache of wider vectors.

    Args:
        trials: as `widths_table` takes them.
    """
    if not trials:
        return word("this processor has one width only, so the page can't try it")
    carried = trials[1]
    if carried.difference is None:
        return word("the second process found the first one's cache and crashed")
    return word(
        "the second process found the first one's code, raised no error, and was off by up to "
        "{part} % of the right value",
        part=number(100 * carried.difference, 2),
    )


def _difference(trial: WidthTrial) -> Text:
    return word("none") if trial.difference is None else plain(magnitude(trial.difference))


def _verdict(trial: WidthTrial, bound: float) -> Word:
    if trial.difference is None:
        return word("crashed")
    return word("rounding") if trial.difference <= bound else word("a bug")
