"""Tables of the lab: what is noticed, by whom and when, and what silent failures leave behind."""

from __future__ import annotations

from collections.abc import Sequence

from fuseshard.distributed.lab.records import RecordedCall, Specimen
from fuseshard.show.chapters.failures.names import (
    detail_word,
    loudness_word,
    room_word,
    speaker_word,
)
from fuseshard.show.records import Cell, Code, Column, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, plain, word

_MAX_MESSAGE = 110
"""characters of a message that a column has room for"""


def survey_table(name: str, specimens: Sequence[Specimen]) -> Table:
    """Show for each exhibit whether it is silent, who speaks after how long, and what is said.

    Args:
        name: unique on its page.
        specimens: from `tour`, of one room or of several.
    """
    table = TableBuilder(name, _caption(specimens))
    table.code(word("Exhibit"), [item.title for item in specimens])
    table.texts(word("Noticed"), [loudness_word(item) for item in specimens])
    seconds = [None if item.is_silent else item.broken.seconds for item in specimens]
    table.numbers(word("After"), seconds, "s", significant=2)
    table.texts(word("Who says it"), [speaker_word(item.broken.speaker) for item in specimens])
    table.texts(word("First line of the message"), [_message(item) for item in specimens])
    return table.build(
        notes=[word("Times run from the start of the ranks, which takes some of them itself.")]
    )


def silent_table(specimens: Sequence[Specimen]) -> Table:
    """Show what ranks of silent exhibits return, what is right, and what a check says.

    Args:
        specimens: from `tour`; loud ones are left out.
    """
    silent = [item for item in specimens if item.is_silent]
    table = TableBuilder(
        "silent-failures",
        word("{count} mistakes after which all ranks return.", count=len(silent)),
    )
    table.code(word("Exhibit"), [item.title for item in silent])
    table.texts(word("Ranks return"), [_results(item.broken.results) for item in silent])
    table.texts(word("Repaired"), [_results(item.fixed.results) for item in silent])
    table.texts(word("What the check says"), [_check(item) for item in silent])
    return table.build()


def detail_table(specimens: Sequence[Specimen]) -> Table:
    """Show what the debug level DETAIL does about mistakes that were tried under it.

    Args:
        specimens: from `tour`; those that weren't tried are left out.
    """
    tried = [item for item in specimens if item.detail is not None]
    table = TableBuilder("under-detail", word("The same mistakes under the debug level DETAIL."))
    table.code(word("Exhibit"), [item.title for item in tried])
    table.texts(word("Without"), [loudness_word(item) for item in tried])
    table.texts(plain("DETAIL"), [detail_word(item.detail) for item in tried])
    return table.build()


def recorder_table(calls: Sequence[Sequence[RecordedCall]]) -> Table:
    """Show what each rank's flight recorder holds, a row a collective.

    Args:
        calls: of each rank, in rank order.
    """
    heads: list[Text] = [word("rank {rank}", rank=rank) for rank in range(len(calls))]
    rows: list[tuple[Cell, ...]] = []
    for index in range(max(map(len, calls))):
        cells = [_call(own[index]) if index < len(own) else plain("—") for own in calls]
        rows.append((plain(index + 1), *cells))
    return Table(
        name="flight-recorder",
        caption=word("What the flight recorder of each rank noted, in the order of the calls."),
        columns=(Column(word("Call")), *(Column(head) for head in heads)),
        rows=tuple(rows),
    )


def _caption(specimens: Sequence[Specimen]) -> Word:
    rooms = {item.room for item in specimens}
    if len(rooms) == 1:
        return word("{room}: who notices what, and when.", room=room_word(rooms.pop()))
    return word("All {count} exhibits: who notices what, and when.", count=len(specimens))


def _message(item: Specimen) -> Text:
    line = item.broken.first_line
    if not line:
        return plain("—")
    return plain(line if len(line) <= _MAX_MESSAGE else line[: _MAX_MESSAGE - 1] + "…")


def _results(results: Sequence[object]) -> Text:
    texts = [_rounded(one) for one in results]
    if len(set(texts)) == 1:
        return word("{value} on all", value=texts[0])
    return plain(" / ".join(texts))


def _rounded(value: object) -> str:
    """Write plain data down with numbers of at most four digits."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_rounded, value)) + "]"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_rounded(one)}" for key, one in value.items())
    return str(value)


def _check(item: Specimen) -> Text:
    return plain(item.revealed.first_line if item.revealed else "—")


def _call(call: RecordedCall) -> Code:
    sizes = ", ".join(str(list(size)) for size in call.sizes)
    return Code(f"{call.name} {sizes}")
