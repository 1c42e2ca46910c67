"""What the lab reads off a run, without ranks. Oracle: messages as torch 2.13 wrote them."""

import pytest

from fuseshard.distributed.lab.records import (
    Observation,
    RecordedCall,
    Specimen,
    first_difference,
    first_sentence,
    readable,
)

GLOO = "/__w/pytorch/pytorch/third_party/gloo/gloo/transport/tcp"
WAITED = f"RuntimeError: [{GLOO}/unbound_buffer.cc:78] Timed out waiting 1500ms for recv operation"
ABORTED = (
    "killed by SIGABRT after a C++ exception: "
    f"[enforce fail at {GLOO}/pair.cc:456] op.preamble.length <= op.nbytes. 8 vs 4. Received data"
)
CHECKED = "fuseshard.distributed.lab.detect.CheckError: the shape differs"


@pytest.mark.parametrize(
    ("ending", "reason", "warned", "speaker", "message"),
    [
        ("returned", "", "", "nobody", ""),
        ("returned", "", "key 'haed'", "warning", "key 'haed'"),
        ("raised", WAITED, "", "gloo", "Timed out waiting 1500ms for recv operation"),
        ("died", ABORTED, "", "gloo", "op.preamble.length <= op.nbytes. 8 vs 4. Received data"),
        ("died", "killed by SIGSEGV", "", "system", "killed by SIGSEGV"),
        ("raised", CHECKED, "", "check", "the shape differs"),
        ("raised", "RuntimeError: shape '[2]' is invalid", "", "torch", "shape '[2]' is invalid"),
        ("raised", "torch.distributed.DistStoreError: late", "", "torch", "late"),
        ("raised", "KeyError: 'sample 7'", "", "program", "KeyError: 'sample 7'"),
        ("stopped", "still running", "", "launcher", "still running"),
    ],
)
def test_who_says_what(ending, reason, warned, speaker, message) -> None:
    seen = Observation(ending=ending, seconds=1.0, reason=reason, warned=warned)
    assert (seen.speaker, seen.message) == (speaker, message)


def test_a_sentence_ends_at_its_point_or_line_but_not_within_a_number() -> None:
    assert first_sentence("RuntimeError: It failed [0]. Rank 1 did too.") == "It failed [0]"
    assert first_sentence("RuntimeError: no module in M(\n  (a): B") == "no module in M"
    assert first_sentence("8 vs 4. Received") == "8 vs 4. Received"
    assert readable(CHECKED) == "the shape differs"


def specimen(broken, fixed) -> Specimen:
    return Specimen(
        name="a",
        room="calls",
        title="a()",
        remedy="b()",
        sources=("def a(): ...", "def b(): ...", ""),
        broken=broken,
        fixed=fixed,
    )


def test_silent_and_wrong_are_told_apart() -> None:
    right = Observation(ending="returned", seconds=1.0, results=(1.0, 1.0))
    wrong = Observation(ending="returned", seconds=1.0, results=(1.0, 2.0))
    raised = Observation(ending="raised", seconds=1.0, rank=0, reason="KeyError: 1")
    assert specimen(wrong, right).is_silent and specimen(wrong, right).is_wrong
    assert specimen(right, right).is_silent and not specimen(right, right).is_wrong
    assert not specimen(raised, right).is_silent and not specimen(raised, right).is_wrong


def calls(*sizes, name="gloo:all_reduce"):
    numbered = enumerate(sizes, start=1)
    return [RecordedCall(number=i, name=name, sizes=((size,),)) for i, size in numbered]


@pytest.mark.parametrize(
    ("by_rank", "expected"),
    [
        ([calls(3, 4), calls(3, 4)], None),
        ([calls(3, 4), calls(3)], 2),
        ([calls(3, 4), calls(3, 5)], 2),
        ([calls(3), calls(3), calls(3, name="gloo:broadcast")], 1),
        ([[], calls(3)], 1),
        ([], None),
        ([[], []], None),
    ],
)
def test_the_first_difference_is_found(by_rank, expected) -> None:
    assert first_difference(by_rank) == expected
