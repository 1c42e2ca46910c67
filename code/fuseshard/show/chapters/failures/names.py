"""The words of the lab of failures: its rooms, and who says that something is wrong."""

from __future__ import annotations

from fuseshard.distributed.lab.records import Observation, Room, Speaker, Specimen
from fuseshard.show.words import Text, Word, plain, word


def room_word(room: Room) -> Word:
    """Name a room of the lab."""
    words: dict[Room, Word] = {
        "calls": word("Other calls"),
        "absent": word("Absent ranks"),
        "replicas": word("Unequal replicas"),
        "shards": word("Shards"),
    }
    return words[room]


def speaker_word(speaker: Speaker) -> Word:
    """Say who noticed."""
    words: dict[Speaker, Word] = {
        "nobody": word("nobody"),
        "warning": word("torch, by a warning"),
        "torch": word("torch"),
        "gloo": word("gloo"),
        "system": word("the operating system"),
        "program": word("the program itself"),
        "check": word("our check"),
        "launcher": word("the launcher"),
    }
    return words[speaker]


def loudness_word(specimen: Specimen) -> Word:
    """Say whether a mistake is noticed at all."""
    if not specimen.is_silent:
        return word("loud")
    return word("a warning only") if specimen.broken.warned else word("silent")


def detail_word(detail: Observation | None) -> Text:
    """Say what the debug level DETAIL does about a mistake."""
    if detail is None:
        return plain("—")
    if detail.ending == "returned":
        return word("says nothing")
    if detail.speaker == "torch" and "mismatch" in detail.message:
        return word("names both calls")
    return word("ends it: {reason}", reason=detail.first_line)
