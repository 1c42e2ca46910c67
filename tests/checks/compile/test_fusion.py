"""Check of nodes and groups: the worked answer passes, listed wrong ones don't. Oracle: torch."""

import pytest

from fuseshard.checks.compile.fusion import check_groups, expected


@pytest.mark.task("inductor-groups")
def test_the_worked_answer_is_what_inductor_does() -> None:
    assert expected() == (3, 2)
    assert check_groups((3, 2)).state == "right"


@pytest.mark.task("inductor-groups")
@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        ((2, 3), "nodes come first"),
        ((4, 2), "computed inside its readers"),
        ((5, 3), "computed inside its readers"),
        ((2, 1), "so is a reduction"),
        ((3, 3), "share the loop over rows"),
        ((3, 1), "share the loop over rows"),
        (("three", 2), "have to be numbers"),
        (3, "two counts in a tuple"),
        ((3, 2, 1), "two counts in a tuple"),
    ],
)
def test_wrong_answers_get_a_hint(answer: object, hint: str) -> None:
    check = check_groups(answer)
    assert check.state == "wrong"
    assert hint in str(check.message)


@pytest.mark.task("inductor-groups")
def test_no_answer_is_open() -> None:
    assert check_groups(...).state == "open"
