"""The museum's exhibits. Oracle: eager mode, bit for bit; the statuses are those of torch 2.13.

One visit an exhibit, of four calls with a backend that compiles nothing.
"""

import functools

import pytest
import torch

from fuseshard.compiler.breaks import museum
from fuseshard.compiler.breaks.exhibit import CALLS, Exhibit, numbers, source_of, visit
from fuseshard.compiler.breaks.observe import observe
from fuseshard.compiler.breaks.records import Specimen
from fuseshard.compiler.dynamo.fresh import fresh
from fuseshard.compiler.graphs import graphs_captured

EXHIBITS = {entry.name: (room, entry) for room, row in museum.ROOMS.items() for entry in row}

# What the chapter says; a release that changes one of these changes the chapter.
CUT_AND_REFUSED = [
    "data-if",
    "tensor-and",
    "data-while",
    "bool-of-all",
    "raise-on-nan",
    "assert-message",
    "tolist-of-floats",
    "print-tensor",
    "log-call",
    "warn",
    "random-float",
    "clock",
    "read-file",
    "parse-json",
    "deepcopy-tensor",
    "c-extension",
    "local-class",
    "backward",
    "autograd-grad",
    "disabled",
    "print-in-no-grad",
    "print-in-helper",
]
CUT_AND_CAPTURED = ["item", "int-as-size", "nonzero", "boolean-mask", "where-one", "unique"]
NO_GRAPH = ["print-in-loop", "print-in-try", "print-in-context", "lstm"]
STATUSES = {
    **dict.fromkeys(EXHIBITS, "one graph"),
    **dict.fromkeys(CUT_AND_REFUSED, "cut, refused"),
    **dict.fromkeys(CUT_AND_CAPTURED, "cut, captured"),
    **dict.fromkeys(NO_GRAPH, "no graph"),
    "item-in-loop": "no graph, captured",
}
NEVER_SETTLE = {"list-append", "dict-count", "module-count", "local-class"}
# An assertion that fails on other numbers stops eager mode too.
OTHER_INPUT = sorted(
    name
    for name, (_, entry) in EXHIBITS.items()
    if entry.fixed is not None and entry.make_args is numbers and entry.cause != "assert"
)


@functools.cache
def visited(name: str) -> Specimen:
    room, entry = EXHIBITS[name]
    return visit(entry, room)


def test_there_are_enough_exhibits_and_each_has_a_name_of_its_own() -> None:
    assert len(EXHIBITS) == sum(map(len, museum.ROOMS.values())) >= 60
    assert set(STATUSES) == set(EXHIBITS)


@pytest.mark.parametrize("name", EXHIBITS)
def test_an_exhibit_has_its_status_and_eager_modes_result(name: str) -> None:
    specimen = visited(name)
    assert specimen.status == STATUSES[name]
    assert len(specimen.default.graphs) == CALLS
    # NumPy's random numbers are torch's once they are traced, and the chapter says so.
    assert specimen.default.is_same == (name != "numpy-random")
    assert specimen.never_settles == (name in NEVER_SETTLE)


@pytest.mark.parametrize("name", [name for name in EXHIBITS if STATUSES[name] != "one graph"])
def test_what_breaks_says_why_and_has_a_repair_that_is_one_graph(name: str) -> None:
    specimen = visited(name)
    assert specimen.message is not None
    assert specimen.message.kind
    assert specimen.remedy
    assert specimen.fixed is not None
    assert specimen.fixed.is_whole


@pytest.mark.parametrize("name", [name for name in EXHIBITS if STATUSES[name] == "one graph"])
def test_what_does_not_break_needs_no_repair_and_passes_under_fullgraph(name: str) -> None:
    specimen = visited(name)
    assert not specimen.remedy
    assert specimen.message is None
    assert specimen.full.graphs == (1,)


@pytest.mark.parametrize("name", OTHER_INPUT)
def test_a_repair_is_right_on_the_other_side_of_a_condition_too(name: str) -> None:
    _, entry = EXHIBITS[name]
    trial = observe(
        entry.fixed, lambda: (-numbers()[0],), settings=entry.settings, reference=entry.code
    )
    assert trial.is_same


def test_a_wrong_repair_is_found() -> None:
    def wrong(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        return torch.where(y.sum() > 0, y - 1, y * 2)

    _, entry = EXHIBITS["data-if"]
    specimen = visit(Exhibit(title="", code=entry.code, fixed=wrong, remedy="wrong"), "control")
    assert specimen.fixed is not None
    assert specimen.fixed.graphs == (1,)
    assert not specimen.fixed.is_whole


def test_the_place_of_a_break_is_the_line_that_breaks() -> None:
    for name, text in (("data-if", "if y.sum() > 0"), ("print-in-loop", 'print("round"')):
        specimen = visited(name)
        assert specimen.message is not None
        assert text in specimen.source.splitlines()[(specimen.message.line or 0) - 1]


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("data-if", "holds"),
        ("nonzero", "only by default"),
        ("list-append", "recompiles instead"),
        ("numpy-random", "another result"),
        ("try-except", "no longer"),
        ("item", None),
    ],
)
def test_older_advice_gets_its_verdict(name: str, verdict: str | None) -> None:
    assert visited(name).verdict == verdict


def test_a_loop_with_a_print_stays_eager_and_nobody_says_so(
    capfd: pytest.CaptureFixture[str],
) -> None:
    _, entry = EXHIBITS["print-in-loop"]
    compiled = torch.compile(fresh(entry.code), backend="eager")
    assert graphs_captured(lambda: compiled(*numbers())) == 0  # a warning would fail the test
    assert capfd.readouterr() == ("round 0\nround 1\nround 2\n", "")


def test_an_exhibit_is_found_by_its_name() -> None:
    specimens = (visited("item"), visited("data-if"))
    assert museum.find(specimens, "data-if") is specimens[1]
    with pytest.raises(KeyError, match="no exhibit 'data-of'; there are item, data-if"):
        museum.find(specimens, "data-of")


def test_a_listing_shows_helpers_and_no_notes_to_checkers() -> None:
    _, entry = EXHIBITS["disabled"]
    text = source_of(entry.code, *entry.helpers)
    assert "@torch.compiler.disable\n" in text
    assert "type: ignore" not in text
