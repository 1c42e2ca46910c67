"""What the chapter on failures draws. Oracle: hand-made specimens."""

import dataclasses

import pytest

from fuseshard.distributed.lab.records import Observation, RecordedCall, Specimen
from fuseshard.show.chapters.failures.exhibits import exhibit_choice
from fuseshard.show.chapters.failures.names import detail_word, room_word, speaker_word
from fuseshard.show.chapters.failures.survey import (
    detail_table,
    recorder_table,
    silent_table,
    survey_table,
)

RIGHT = Observation(ending="returned", seconds=0.2, results=({"loss": 5.0}, {"loss": 5.0}))
WRONG = Observation(ending="returned", seconds=0.2, results=([1.23456, 2], [1.0, (True,)]))
WARNED = dataclasses.replace(WRONG, warned="key 'haed' fits nothing in M(\n")
RAISED = Observation(
    ending="raised", seconds=1.5, rank=1, reason="RuntimeError: Too late. Nobody came."
)
CHECK = Observation(ending="raised", seconds=0.1, rank=0, reason="a.CheckError: a differs: 1, 2")
MISMATCH = dataclasses.replace(RAISED, reason="RuntimeError: Detected mismatch between collectives")
HELPED = "class Helper:\n    pass\n\n\ndef a(rank, group):\n    return 1\n"


def specimen(name="a", broken=WRONG, room="calls", **more) -> Specimen:
    return Specimen(
        name=name,
        room=room,
        title=f"{name}()",
        remedy="b()",
        sources=(HELPED, "def b(rank, group):\n    return 2", more.pop("check", "")),
        broken=broken,
        fixed=RIGHT,
        **more,
    )


def texts(table):
    return [[str(getattr(c, "text", getattr(c, "code", c))) for c in row] for row in table.rows]


def test_the_survey_says_who_speaks_and_when() -> None:
    table = survey_table("s", [specimen(), specimen("b", RAISED), specimen("c", WARNED)])
    silent, loud, warned = texts(table)
    assert silent == ["a()", "silent", "—", "nobody", "—"]
    assert loud == ["b()", "loud", "1.5", "torch", "Too late"]
    assert warned[1] == "a warning only" and warned[2] == "—"
    assert warned[3:] == ["torch, by a warning", "key 'haed' fits nothing in M"]
    assert "Other calls" in str(table.caption)
    both = survey_table("s", [specimen(), specimen("b", RAISED, room="absent")])
    assert str(both.caption) == "All 2 exhibits: who notices what, and when."


def test_a_long_message_is_cut() -> None:
    long = dataclasses.replace(RAISED, reason="RuntimeError: " + "x" * 300)
    message = texts(survey_table("s", [specimen("b", long)]))[0][-1]
    assert len(message) == 110 and message.endswith("x…")


def test_silent_failures_stand_beside_what_is_right() -> None:
    both = [specimen(revealed=CHECK, check="def c(): ..."), specimen("b", RAISED)]
    assert texts(silent_table(both)) == [
        ["a()", "[1.235, 2] / [1, [True]]", "loss 5 on all", "a differs: 1, 2"]
    ]


def test_detail_is_told_for_those_that_were_tried() -> None:
    died = dataclasses.replace(RAISED, ending="died", reason="killed by SIGSEGV")
    tried = [
        specimen(name, detail=seen)
        for name, seen in zip("def", (MISMATCH, WRONG, died), strict=True)
    ]
    rows = texts(detail_table([specimen(), *tried]))
    assert [row[2] for row in rows] == [
        "names both calls",
        "says nothing",
        "ends it: killed by SIGSEGV",
    ]
    assert str(detail_word(None)) == "—"


def test_calls_stand_in_rows_of_their_number() -> None:
    first = RecordedCall(number=1, name="gloo:all_reduce", sizes=((3, 2), (1,)))
    second = RecordedCall(number=2, name="gloo:barrier", sizes=())
    assert texts(recorder_table([[first, second], [first]])) == [
        ["1", "gloo:all_reduce [3, 2], [1]", "gloo:all_reduce [3, 2], [1]"],
        ["2", "gloo:barrier ", "—"],
    ]


def test_notes_hang_on_the_functions_and_not_on_their_helpers() -> None:
    check = "def c(rank, group):\n    return 3"
    both = [specimen(check=check, revealed=CHECK), specimen("b", RAISED)]
    (_, silent), (_, loud) = exhibit_choice(both).options
    code = silent.code.splitlines()
    noted = [(code[note.first - 1], str(note.text)) for note in silent.notes]
    assert noted == [
        ("def a(rank, group):", "The mistake: all ranks return, and nobody says a word."),
        ("def b(rank, group):", "Repaired: b()."),
        ("def c(rank, group):", "The mistake with a check, which says: “a differs: 1, 2”."),
    ]
    assert str(loud.notes[0].text) == "The mistake. On rank 1, torch says: “Too late”."
    assert len(loud.notes) == 2


def test_a_warning_is_quoted() -> None:
    (_, warned), _ = exhibit_choice([specimen("b", WARNED), specimen()]).options
    assert "after a warning: “key 'haed' fits nothing in M”" in str(warned.notes[0].text)


@pytest.mark.parametrize(
    ("speaker", "words"), [("system", "the operating system"), ("program", "the program itself")]
)
def test_speakers_and_rooms_have_names(speaker, words: str) -> None:
    assert str(speaker_word(speaker)) == words
    assert str(room_word("absent")) == "Absent ranks"
