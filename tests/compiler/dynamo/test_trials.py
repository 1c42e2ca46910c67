"""Trials and passes. Oracle: functions for which reuse is right, needed anew, or wrong."""

from functools import partial

import pytest
import torch

from fuseshard.compiler.dynamo.changes import changes
from fuseshard.compiler.dynamo.fresh import fresh
from fuseshard.compiler.dynamo.passes import broken, count_passes, whole
from fuseshard.compiler.dynamo.records import Trial
from fuseshard.compiler.dynamo.trials import Change, trial

NEW, REUSED = "compiled", "reused"


@pytest.fixture(scope="module")
def trials() -> dict[str, Trial]:
    return {change.name: trial(change) for change in changes()}


def outcomes(found: Trial) -> tuple[str, ...]:
    return tuple(call.outcome for call in found.calls)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tensor-data", (NEW, REUSED, REUSED)),
        ("tensor-shape", (NEW, NEW, REUSED)),
        ("tensor-dtype", (NEW, NEW, NEW)),
        ("tensor-gradient", (NEW, NEW, REUSED)),
        ("float-argument", (NEW, NEW, REUSED)),
        ("int-argument", (NEW, NEW, REUSED)),
        ("string-argument", (NEW, NEW, NEW)),
        ("list-length", (NEW, NEW, NEW)),
        ("unused-argument", (NEW, REUSED, REUSED)),
        ("float-global", (NEW, NEW, REUSED)),
        ("int-global", (NEW, NEW, NEW)),
        ("int-closure", (NEW, NEW, REUSED)),
        ("int-attribute", (NEW, NEW, NEW)),
        ("parameter", (NEW, REUSED, REUSED)),
        ("sign-of-zero", (NEW, REUSED, REUSED)),
        ("forward-hook", (NEW, REUSED, REUSED)),
    ],
)
def test_each_change_has_the_outcome_that_the_chapter_tells(
    trials: dict[str, Trial], name: str, expected: tuple[str, ...]
) -> None:
    assert outcomes(trials[name]) == expected


def test_only_the_two_blind_spots_are_wrong(trials: dict[str, Trial]) -> None:
    """Positive control: their first calls are right."""
    wrong = {name for name, found in trials.items() if not all(c.is_right for c in found.calls)}
    assert wrong == {"sign-of-zero", "forward-hook"}
    assert all(found.calls[0].is_right for found in trials.values())


def test_a_new_version_names_the_guard_that_failed_and_what_became_of_it(
    trials: dict[str, Trial],
) -> None:
    first, second, third = trials["float-argument"].calls
    assert (first.failed, second.failed, third.failed) == ("", "k == 2.0", "")
    assert first.graph.endswith("* 2.0")
    assert second.graph.endswith("* item")
    assert "s77" in trials["tensor-shape"].calls[1].graph


def test_the_same_experiment_twice_has_the_same_outcome() -> None:
    """Else Dynamo's memory of the first run would make the second one symbolic from the start."""
    again = [each for each in changes() if each.name == "float-argument"]
    assert [outcomes(trial(each)) for each in (*again, *again)] == [(NEW, NEW, REUSED)] * 2


def test_a_fresh_copy_has_a_name_of_its_own_and_does_the_same() -> None:
    copies = [fresh(twice), fresh(twice)]
    assert len({copy.__code__.co_name for copy in [twice, *copies]}) == 3
    assert all(torch.equal(copy(torch.ones(3)), twice(torch.ones(3))) for copy in copies)


def twice(x):
    return x * 2


def test_a_change_in_nothing_that_is_compiled_is_an_error() -> None:
    change = Change(
        name="empty", fn=lambda x: x, code="x", calls=[("x", partial(tuple, [torch.ones(3)]))]
    )
    with pytest.raises(ValueError, match="empty compiled no graph"):
        trial(change)


def test_a_line_is_read_once_a_version_and_twice_before_a_break() -> None:
    one, two = count_passes(whole), count_passes(broken)
    assert (one.first, one.again, one.reshaped) == (1, 0, 1)
    assert (two.first, two.again, two.reshaped) == (2, 0, 2)
    assert one.kinds == ("FakeTensor",)
    assert one.shapes[0] == "3×4"
    assert one.shapes[1].endswith("×4")
    assert one == count_passes(whole)
