"""Exercises on layouts: pure data. Oracles: brute force and arithmetic; wrong answers must fail."""

import itertools
import re
from pathlib import Path
from typing import Any

import pytest

from fuseshard.checks.distributed import choosing
from fuseshard.checks.distributed.choosing import (
    check_bubble,
    check_inside,
    check_meshes,
    check_state,
)

CHECKS = (check_state, check_bubble, check_inside, check_meshes)


@pytest.mark.parametrize("check", CHECKS)
def test_three_dots_are_no_answer_yet(check) -> None:
    assert check(...).state == "open"


@pytest.mark.parametrize("check", [check_inside, check_meshes])
def test_a_function_that_returns_dots_is_no_answer_yet(check) -> None:
    assert check(lambda *arguments: ...).state == "open"


def test_the_state_of_one_gpu_is_accepted() -> None:
    assert check_state(26).state == "right"
    assert check_state(26.1).state == "right"


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (13, "Replicas divide nothing"),
        (52, "TP divides parameters"),
        (104, "FSDP divides all"),
        (208, "undivided"),
        (3.25, "Those are the weights"),
        (27, "a little too large"),
        ("26 GB", "needs one number"),
    ],
)
def test_wrong_states_are_rejected_with_their_reason(answer, hint: str) -> None:
    check = check_state(answer)
    assert check.state == "wrong"
    assert hint in str(check.message)


def test_enough_micro_batches_are_accepted() -> None:
    assert check_bubble(70).state == "right"


@pytest.mark.parametrize(
    ("answer", "hint"),
    [(63, "total time"), (80, "waits for the others"), (69, "too small"), (71, "too large")],
)
def test_wrong_numbers_of_micro_batches_are_rejected(answer: int, hint: str) -> None:
    check = check_bubble(answer)
    assert check.state == "wrong"
    assert hint in str(check.message)


def by_listing_ranks(gpus_per_node: int, stride: int, degree: int) -> bool:
    """Go through enough ranks that blocks and nodes both come out even."""
    block = stride * degree
    for first in range(0, block * gpus_per_node, block):
        for offset in range(stride):
            members = [first + offset + stride * i for i in range(degree)]
            if len({rank // gpus_per_node for rank in members}) > 1:
                return False
    return True


def test_listing_the_ranks_of_each_group_is_accepted() -> None:
    assert check_inside(by_listing_ranks).state == "right"


@pytest.mark.parametrize(
    "answer",
    [
        lambda node, stride, degree: stride * degree <= node,
        lambda node, stride, degree: node % degree == 0,
        lambda node, stride, degree: degree <= node,
        lambda node, stride, degree: (stride * degree) % node == 0,
        lambda node, stride, degree: True,
    ],
)
def test_wrong_rules_for_nodes_are_rejected(answer) -> None:
    assert check_inside(answer).state == "wrong"


def by_force(num_gpus: int) -> list[list[int]]:
    ways = range(1, num_gpus + 1)
    tried = itertools.product(ways, repeat=4)
    return [list(m) for m in tried if m[0] * m[1] * m[2] * m[3] == num_gpus]


def test_meshes_found_by_force_are_accepted_in_any_order() -> None:
    assert check_meshes(by_force).state == "right"
    assert check_meshes(lambda n: by_force(n)[::-1]).state == "right"


@pytest.mark.parametrize(
    "answer",
    [
        lambda n: by_force(n)[1:],
        lambda n: by_force(n) * 2,
        lambda n: [m for m in by_force(n) if m == sorted(m)],
        lambda n: [m[:3] for m in by_force(n)],
        lambda n: [(n, 1, 1, 1), (1, n, 1, 1), (1, 1, n, 1), (1, 1, 1, n)],
        lambda n: n,
        lambda n: 1 / 0,
    ],
)
def test_wrong_meshes_are_rejected(answer) -> None:
    assert check_meshes(answer).state == "wrong"


PAGES = ("book/distributed/choosing.md", "book/es/distributed/choosing.md")


def text_of(page: str) -> str:
    return Path(__file__).parents[3].joinpath(page).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_the_worked_solutions_of_the_page_are_right(page: str) -> None:
    defined: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```$", text_of(page), re.DOTALL | re.MULTILINE):
        exec(block, defined)  # the page's own code, which readers are told is right
    assert check_inside(defined["is_inside"]).state == "right"
    assert check_meshes(defined["meshes"]).state == "right"


@pytest.mark.parametrize("page", PAGES)
def test_the_page_asks_its_exercises_by_the_names_of_the_checks(page: str) -> None:
    named = re.findall(r"^:name: (\S+)$", text_of(page), re.MULTILINE)
    assert named == [choosing.STATE, choosing.BUBBLE, choosing.INSIDE, choosing.MESHES]
    assert named == [check(...).name for check in CHECKS]
