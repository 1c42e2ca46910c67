"""Names, marks and findings that figures and tables of this chapter share."""

from __future__ import annotations

from collections.abc import Sequence

from fuseshard import palette
from fuseshard.distributed.network.records import AllReduceTimes, Link
from fuseshard.distributed.network.standing import leaders
from fuseshard.palette import Mark
from fuseshard.show.words import Word, word

_DASHES = {"ring": "solid", "tree": "dash", "recursive doubling": "dot", "gloo": "dashdot"}
_SYMBOLS = {"ring": "circle", "tree": "square", "recursive doubling": "diamond", "gloo": "cross"}


def algorithm_word(name: str) -> Word:
    """Name an all-reduce.

    Args:
        name: as in `distributed.network.records.ALGORITHMS`.
    """
    return {
        "ring": word("ring"),
        "tree": word("tree"),
        "recursive doubling": word("recursive doubling"),
        "gloo": word("gloo's own"),
    }[name]


def predicted_mark(name: str) -> Mark:
    """Draw a prediction in the colour of formulas, told apart by its dash and symbol.

    Args:
        name: as in `distributed.network.records.ALGORITHMS`.
    """
    formula = palette.FORMULA
    return Mark(formula.light, formula.dark, _DASHES[name], _SYMBOLS[name], formula.pattern)


def measured_mark(name: str) -> Mark:
    """Draw a measured time in the colour of measurements, told apart by its symbol.

    Args:
        name: as in `distributed.network.records.ALGORITHMS`.
    """
    seen = palette.MEASURED
    return Mark(seen.light, seen.dark, _DASHES[name], _SYMBOLS[name], seen.pattern)


def link_finding(link: Link) -> Word:
    """Say in a clause whether latency and bandwidth stand out of the noise.

    Args:
        link: fitted to measured times.
    """
    return {
        "measured": word("both numbers stand out of the noise"),
        "no latency measured": word("the latency can't be told from noise"),
        "no bandwidth measured": word("the bandwidth can't be told from noise"),
        "nothing measured": word("neither number can be told from noise"),
    }[link.verdict]


def fastest_finding(times: Sequence[AllReduceTimes], payload_bytes: int) -> Word:
    """Say in a clause than which all-reduces nothing was measured to be faster at a size.

    Args:
        times: of one run with one world size.
        payload_bytes: one of its sizes.
    """
    names = leaders(times, payload_bytes)
    if len(names) == 1:
        return word("{name} is fastest", name=algorithm_word(names[0]))
    return word("between {names} no difference was measured", names=_together(names))


def _together(names: Sequence[str]) -> Word:
    """Join two or more names as a sentence does."""
    *first, last = [algorithm_word(name) for name in names]
    joined = first[0]
    for name in first[1:]:
        joined = word("{first}, {rest}", first=joined, rest=name)
    return word("{first} and {last}", first=joined, last=last)
