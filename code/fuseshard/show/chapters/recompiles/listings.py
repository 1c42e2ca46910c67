"""The programs of the storms, before and after their cures, each as it ran."""

from __future__ import annotations

from collections.abc import Mapping

from fuseshard.compiler.recompiles.records import Cure, History
from fuseshard.show.chapters.recompiles.tables import change_word
from fuseshard.show.choices import Choice, choose
from fuseshard.show.records import Source
from fuseshard.show.sources import lines
from fuseshard.show.words import Text, Word, word


def storm_listings(cures: Mapping[str, Cure]) -> Choice:
    """Show one storm at a time: what recompiled, what cured it, and how often each compiled."""
    options: list[tuple[Text, Source]] = [
        (change_word(cure.name), _listing(cure)) for cure in cures.values()
    ]
    return choose("storm", word("What changes from call to call"), options)


def _listing(cure: Cure) -> Source:
    before, after = cure.before_source.strip(), cure.after_source.strip()
    first_after = len(before.splitlines()) + 3
    return Source(
        f"storm-{cure.name}",
        word("Before the cure, and after it"),
        "python",
        f"{before}\n\n\n{after}",
        (
            lines(1, 1, _outcome(cure.before)),
            lines(first_after, first_after, _outcome(cure.after)),
        ),
        folded=False,
    )


def _outcome(history: History) -> Word:
    failed = [call for call in history.calls if call.failures]
    counts = {
        "calls": len(history.calls),
        "graphs": len(history.graphs),
        "eager": history.count("eager"),
    }
    if not failed:
        return word("{calls} calls: {graphs} graph, no guard fails, {eager} eager calls", **counts)
    return word(
        "{calls} calls: {graphs} graphs, {eager} eager calls; first guard to fail: {guard}",
        **counts,
        guard=failed[0].failures[0].guard,
    )
