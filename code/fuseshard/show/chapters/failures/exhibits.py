"""The exhibits of a room: code, what is said about it, and the repair, one at a time."""

from __future__ import annotations

from collections.abc import Sequence

from fuseshard.distributed.lab.records import Specimen
from fuseshard.show.chapters.failures.names import room_word, speaker_word
from fuseshard.show.choices import Choice, choose
from fuseshard.show.records import Note, Source
from fuseshard.show.sources import annotated_source, lines
from fuseshard.show.words import Word, plain, word

_GAP = "\n\n\n"


def exhibit_choice(specimens: Sequence[Specimen]) -> Choice:
    """Show the exhibits of a room one at a time.

    Args:
        specimens: from `tour`, all of one room, at least two.
    """
    room = specimens[0].room
    options = [(plain(item.title), _listing(item)) for item in specimens]
    return choose(f"lab-{room}", room_word(room), options)


def _listing(item: Specimen) -> Source:
    """Write the mistake, its repair and its check down, and hang on each what came of it."""
    broken, fixed, checked = item.sources
    notes: list[Note] = []
    parts: list[str] = []
    for code, text in (
        (broken, _broken_note(item)),
        (fixed, word("Repaired: {remedy}.", remedy=item.remedy)),
        (checked, _check_note(item)),
    ):
        if not code:
            continue
        first = 1 + len(_GAP.join([*parts, ""]).splitlines())
        parts.append(code)
        # The mistake's helpers stand above it.
        own = code.rstrip().rfind("\ndef ") + 1
        at = first + code[:own].count("\n")
        notes.append(lines(at, at, text))
    return annotated_source(
        f"exhibit-{item.name}",
        word("{name}: the mistake, its repair and, where it needs one, a check.", name=item.name),
        _GAP.join(parts),
        language="python",
        notes=notes,
        folded=False,
    )


def _broken_note(item: Specimen) -> Word:
    seen = item.broken
    if seen.ending == "returned" and not seen.warned:
        return word("The mistake: all ranks return, and nobody says a word.")
    if seen.ending == "returned":
        return word(
            "The mistake: all ranks return, after a warning: “{said}”.", said=seen.first_line
        )
    return word(
        "The mistake. On rank {rank}, {who} says: “{said}”.",
        who=speaker_word(seen.speaker),
        rank=-1 if seen.rank is None else seen.rank,
        said=seen.first_line,
    )


def _check_note(item: Specimen) -> Word:
    if item.revealed is None:
        return word("The mistake with a check.")
    return word("The mistake with a check, which says: “{said}”.", said=item.revealed.first_line)
