"""Layer 1, and layer 2 for the steps (3 gloo ranks). Oracle: answers worked out by hand. Each
right answer has wrong ones that must fail."""

from collections import Counter

import pytest
import torch
import torch.distributed as dist

from fuseshard.checks.distributed import failures
from fuseshard.checks.distributed.failures import (
    check_common_steps,
    check_culprit,
    check_factor,
    check_odd_ranks,
    culprit,
    odd_ranks,
)
from tests.checks.pages import exercise_names, solutions

CHECKS = [check_factor, check_culprit, check_odd_ranks, check_common_steps]
PAGES = ("book/distributed/failures.md", "book/es/distributed/failures.md")


@pytest.mark.parametrize("check", CHECKS)
def test_three_dots_are_no_answer_yet(check) -> None:
    assert check(...).state == "open"
    if check is not check_factor:
        assert check(lambda *arguments: ...).state == "open"
        assert check("a rank").state == "wrong"


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (8, "ranks add up as well"),
        (4, "micro-batches add up as well"),
        (12, "multiplies"),
        (1 / 32, "right gradient over the wrong"),
        (64, "too large"),
    ],
)
def test_wrong_factors_are_rejected_with_their_reason(answer: float, hint: str) -> None:
    check = check_factor(answer)
    assert check.state == "wrong" and hint in str(check.message)
    assert check_factor(32).state == "right"


def test_the_right_culprit_is_accepted() -> None:
    def answer(reports):
        for rank, _, text in sorted(reports, key=lambda report: report[1]):
            if not any(word in text.lower() for word in ("connection", "timed out")):
                return rank
        return None

    assert check_culprit(answer).state == "right"


@pytest.mark.parametrize(
    "answer",
    [
        lambda reports: reports[0][0],
        lambda reports: min(reports, key=lambda report: report[1])[0],
        lambda reports: max(reports, key=lambda report: report[1])[0],
        lambda reports: next((r for r, _, text in reports if "onnection" not in text), None),
        lambda reports: next((r for r, _, text in reports if culprit([(r, 0, text)]) == r), None),
        lambda reports: culprit(reports) or 0,
        lambda reports: culprit([r for r in reports if "reset" not in r[2]] or reports) is not None,
        lambda reports: None,
    ],
    ids=["first", "earliest", "latest", "connections", "unsorted", "zero", "yes-no", "none"],
)
def test_wrong_culprits_are_rejected(answer) -> None:
    assert check_culprit(answer).state == "wrong"


def test_the_right_odd_ranks_are_accepted() -> None:
    def answer(marks):
        counts = Counter(marks)
        return tuple(i for i, mark in enumerate(marks) if counts[mark] < max(counts.values()))

    assert check_odd_ranks(answer).state == "right"


@pytest.mark.parametrize(
    "answer",
    [
        lambda marks: [],
        lambda marks: [rank for rank, mark in enumerate(marks) if mark != marks[0]],
        lambda marks: [rank for rank, mark in enumerate(marks) if marks.count(mark) == 1],
        lambda marks: odd_ranks(marks)[::-1],
        lambda marks: [rank + 1 for rank in odd_ranks(marks)],
        lambda marks: odd_ranks(marks)[:1],
        lambda marks: set(odd_ranks(marks)),
    ],
    ids=["nobody", "rank-0-is-right", "singles", "reversed", "from-one", "first-only", "set"],
)
def test_wrong_odd_ranks_are_rejected(answer) -> None:
    assert check_odd_ranks(answer).state == "wrong"


def reduced(op):
    def answer(num_batches):
        number = torch.tensor(num_batches)
        dist.all_reduce(number, op)
        return int(number)

    return answer


def of_rank_0(num_batches):
    number = torch.tensor(num_batches)
    dist.broadcast(number, src=0)
    return int(number)


def one_less(num_batches):
    return reduced(dist.ReduceOp.MIN)(num_batches) - 1


def as_a_float(num_batches):
    return float(reduced(dist.ReduceOp.MIN)(num_batches))


def alone(num_batches):
    return reduced(dist.ReduceOp.MIN)(num_batches) if num_batches == 3 else 3


def test_common_steps_are_accepted_however_they_are_found() -> None:
    def gathered(num_batches):
        held = [torch.tensor(0) for _ in range(dist.get_world_size())]
        dist.all_gather(held, torch.tensor(num_batches))
        return min(int(one) for one in held)

    assert check_common_steps(reduced(dist.ReduceOp.MIN)).state == "right"
    assert check_common_steps(gathered).state == "right"


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda num_batches: num_batches, "The ranks disagree"),
        (reduced(dist.ReduceOp.MAX), "With 5 steps, a rank runs out"),
        (of_rank_0, "With 5 steps, a rank runs out"),
        (one_less, "With 2 steps, batches go unused"),
        (as_a_float, "has to return an int"),
    ],
    ids=["own", "largest", "rank-0", "one-less", "float"],
)
def test_wrong_steps_are_rejected_with_their_reason(answer, hint: str) -> None:
    check = check_common_steps(answer)
    assert check.state == "wrong" and hint in str(check.message)


def test_a_rank_that_reduces_alone_is_rejected_in_time(monkeypatch) -> None:
    monkeypatch.setattr(failures, "_TIMEOUT_S", 3.0)
    check = check_common_steps(alone)
    assert check.state == "wrong" and "On 3 ranks" in str(check.message)


@pytest.mark.parametrize("page", PAGES)
def test_the_worked_solutions_of_the_page_are_right(page: str) -> None:
    defined = solutions(page, torch=torch, dist=dist)
    assert check_culprit(defined["culprit"]).state == "right"
    assert check_odd_ranks(defined["odd_ranks"]).state == "right"
    assert check_common_steps(defined["common_steps"]).state == "right"


@pytest.mark.parametrize("page", PAGES)
def test_the_page_asks_its_exercises_by_the_names_of_the_checks(page: str) -> None:
    named = exercise_names(page)
    assert named == [check(...).name for check in CHECKS]
