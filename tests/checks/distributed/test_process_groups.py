"""Layer 1, and layer 2 for the broadcast (3 and 4 gloo ranks). Oracles: bisection on predicted
times, rounds counted by hand. Each right answer has wrong ones that must fail."""

import re
from pathlib import Path
from typing import Any

import pytest

from fuseshard.checks.distributed import process_groups
from fuseshard.checks.distributed.process_groups import (
    check_broadcast,
    check_crossing,
    check_mismatch,
    check_ratio,
    crossing_bytes,
    first_mismatch,
    rounds_of,
)
from fuseshard.distributed.network.predict import predict_ring_all_reduce, predict_tree_all_reduce
from fuseshard.distributed.network.records import Link
from tests.checks.pages import exercise_names

CHECKS = [check_ratio, check_crossing, check_mismatch, check_broadcast]


@pytest.mark.parametrize("check", CHECKS)
def test_three_dots_are_no_answer_yet(check) -> None:
    assert check(...).state == "open"
    if check is not check_ratio:
        assert check(lambda *arguments: ...).state == "open"
        assert check("a tree").state == "wrong"


def test_the_ratio_is_worked_out_from_rounds() -> None:
    ring = 126 * (10e-6 + 64 / 10e9)
    tree = 12 * (10e-6 + 4096 / 10e9)
    assert check_ratio(ring / tree).state == "right"
    assert check_ratio(10.1).state == "right"


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (1 / 10.09, "tree's time over the ring's"),
        (2 * 10.09, "up and down again"),
        (10.09 / 2, "round twice"),
        (1260.8, "in µs"),
        (63.0, "too large"),
    ],
)
def test_wrong_ratios_are_rejected_with_their_reason(answer: float, hint: str) -> None:
    check = check_ratio(answer)
    assert check.state == "wrong" and hint in str(check.message)


@pytest.mark.parametrize("world_size", [4, 5, 8, 64])
def test_our_crossing_is_where_the_predictions_meet(world_size: int) -> None:
    link, low, high = Link.stated(8e-6, 1e9), 0.0, 1e9
    for _ in range(100):
        middle = (low + high) / 2
        ring = predict_ring_all_reduce(link, middle, world_size).value
        is_below = ring > predict_tree_all_reduce(link, middle, world_size).value
        low, high = (middle, high) if is_below else (low, middle)
    assert crossing_bytes(8e-6, 1e-9, world_size) == pytest.approx(low, rel=1e-6)


def test_the_right_crossing_is_accepted() -> None:
    def answer(alpha_s, beta_s_per_byte, world_size):
        depth = (world_size - 1).bit_length()
        fixed = (2 * (world_size - 1) - 2 * depth) * alpha_s
        return fixed / (2 * depth * beta_s_per_byte - 2 * (1 - 1 / world_size) * beta_s_per_byte)

    assert check_crossing(answer).state == "right"


@pytest.mark.parametrize(
    "answer",
    [
        lambda a, b, n: a / b,
        lambda a, b, n: crossing_bytes(b, a, n),
        lambda a, b, n: 2 * crossing_bytes(a, b, n),
        lambda a, b, n: crossing_bytes(a, b, 1 << (n.bit_length() - 1)),
        lambda a, b, n: (n - 1) * a / b,
    ],
    ids=["balance", "swapped", "twice", "rounded-down", "no-tree"],
)
def test_wrong_crossings_are_rejected(answer) -> None:
    assert check_crossing(answer).state == "wrong"


def test_the_right_mismatch_is_accepted() -> None:
    def answer(calls):
        longest = max(len(own) for own in calls)
        for index in range(longest):
            here = [own[index] if index < len(own) else None for own in calls]
            if any(call != here[0] for call in here):
                return index
        return None

    assert check_mismatch(answer).state == "right"


@pytest.mark.parametrize(
    "answer",
    [
        lambda calls: None,
        lambda calls: 0,
        lambda calls: first_mismatch([own[: min(map(len, calls))] for own in calls]),
        lambda calls: first_mismatch(calls[:2]),
        lambda calls: first_mismatch([[name for name, _ in own] for own in calls]),
        lambda calls: first_mismatch(calls) is not None,
        lambda calls: -1 if first_mismatch(calls) is None else first_mismatch(calls),
    ],
    ids=["never", "always", "shortest", "two-ranks", "names-only", "yes-no", "minus-one"],
)
def test_wrong_mismatches_are_rejected(answer) -> None:
    assert check_mismatch(answer).state == "wrong"


def by_tree(tensor, rank, world_size, send, recv):
    distance = 1
    while distance < world_size:
        if rank < distance and rank + distance < world_size:
            send(tensor, rank + distance)
        elif distance <= rank < 2 * distance:
            recv(tensor, rank - distance)
        distance *= 2


def from_far(tensor, rank, world_size, send, recv):
    """Also right: the largest distance first."""
    distance = 1 << (world_size - 1).bit_length()
    while distance > 1:
        half = distance // 2
        if rank % distance == 0 and rank + half < world_size:
            send(tensor, rank + half)
        elif rank % distance == half:
            recv(tensor, rank - half)
        distance = half


def star(tensor, rank, world_size, send, recv):
    for other in range(1, world_size):
        if rank == 0:
            send(tensor, other)
        elif rank == other:
            recv(tensor, 0)


def chain(tensor, rank, world_size, send, recv):
    if rank > 0:
        recv(tensor, rank - 1)
    if rank + 1 < world_size:
        send(tensor, rank + 1)


def only_neighbours(tensor, rank, world_size, send, recv):
    if rank == 0:
        send(tensor, 1)
    if rank == 1:
        recv(tensor, 0)


def powers_only(tensor, rank, world_size, send, recv):
    by_tree(tensor, rank, 1 << (world_size.bit_length() - 1), send, recv)


def all_receive(tensor, rank, world_size, send, recv):
    recv(tensor, (rank - 1) % world_size)


@pytest.mark.parametrize("answer", [by_tree, from_far])
def test_a_broadcast_in_few_rounds_is_accepted(answer) -> None:
    assert check_broadcast(answer).state == "right"


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (star, "after 3 rounds; it can be done in 2"),
        (chain, "after 3 rounds; it can be done in 2"),
        (only_neighbours, "rank 2 of 4 doesn't hold"),
        (powers_only, "rank 2 of 3 doesn't hold"),
    ],
)
def test_wrong_broadcasts_are_rejected_with_their_reason(answer, hint: str) -> None:
    check = check_broadcast(answer)
    assert check.state == "wrong" and hint in str(check.message)


def test_a_broadcast_that_waits_for_ever_is_rejected(monkeypatch) -> None:
    monkeypatch.setattr(process_groups, "_TIMEOUT_S", 3.0)
    check = check_broadcast(all_receive)
    assert check.state == "wrong" and "timed out" in str(check.message)


def test_rounds_are_counted_with_both_ends_busy() -> None:
    assert rounds_of([[], []]) == 0
    assert rounds_of([[("send", 1)], [("recv", 0)]]) == 1
    assert rounds_of([[("send", 1), ("send", 2)], [("recv", 0)], [("recv", 0)]]) == 2
    with pytest.raises(ValueError, match="are left over"):
        rounds_of([[("send", 1)], []])


PAGES = ("book/distributed/process-groups.md", "book/es/distributed/process-groups.md")


@pytest.mark.parametrize("page", PAGES)
def test_the_worked_solutions_of_the_page_are_right(page: str) -> None:
    text = Path(__file__).parents[3].joinpath(page).read_text(encoding="utf-8")
    defined: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        exec(block, defined)  # the page's own code, which readers are told is right
    assert check_crossing(defined["crossing_bytes"]).state == "right"
    assert check_mismatch(defined["first_mismatch"]).state == "right"
    assert check_broadcast(defined["tree_broadcast"]).state == "right"


@pytest.mark.parametrize("page", PAGES)
def test_the_page_asks_its_exercises_by_the_names_of_the_checks(page: str) -> None:
    named = exercise_names(page)
    assert named == [check(...).name for check in CHECKS]
