"""Layer 1, and layer 2 for the norm (three gloo ranks). Oracles: the ZeRO paper's formula,
`torch.chunk`, one process with all gradients. Each right answer has wrong ones that must fail."""

import pytest
import torch
import torch.distributed as dist

from fuseshard.checks.distributed import fsdp
from fuseshard.checks.distributed.fsdp import (
    check_hybrid,
    check_memory,
    check_norm,
    check_rows,
    hybrid_bytes,
    shard_rows,
)
from tests.checks.pages import exercise_names, solutions

CHECKS = [check_memory, check_rows, check_hybrid, check_norm]


@pytest.mark.parametrize("check", CHECKS)
def test_three_dots_are_no_answer_yet(check) -> None:
    assert check(...).state == "open"


@pytest.mark.parametrize("check", [check_rows, check_hybrid])
def test_a_function_that_returns_dots_is_no_answer_yet(check) -> None:
    assert check(lambda *arguments: ...).state == "open"


@pytest.mark.parametrize("check", [check_rows, check_hybrid, check_norm])
def test_a_number_is_no_function(check) -> None:
    answer = check(2.5)
    assert answer.state == "wrong"
    assert "function" in str(answer.message)


@pytest.mark.parametrize("answer", [26.25, 26.2, 14 + 98 / 8])
def test_memory_takes_the_formula_of_stage_2(answer: float) -> None:
    assert check_memory(answer).state == "right"


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (112, "nothing sharded"),
        (38.5, "gradients as well"),
        (14, "parameters whole"),
        (105, "16-bit"),
        (26.25e9, "far too large"),
        (20, "a little too small"),
        ("26.25", "one number"),
    ],
)
def test_wrong_memory_gets_its_own_hint(answer: object, hint: str) -> None:
    check = check_memory(answer)
    assert check.state == "wrong"
    assert hint in str(check.message)
    assert "26.2" not in str(check.message)


@pytest.mark.parametrize("num_rows", [0, 1, 2, 5, 12, 13, 600])
@pytest.mark.parametrize("world_size", [1, 2, 3, 4, 7])
def test_our_rows_are_torchs(num_rows: int, world_size: int) -> None:
    chunks = [len(chunk) for chunk in torch.zeros(num_rows, 1).chunk(world_size)]
    assert shard_rows(num_rows, world_size) == chunks + [0] * (world_size - len(chunks))


def test_right_rows_are_accepted() -> None:
    def answer(num_rows, world_size):
        most, left, rows = -(-num_rows // world_size), num_rows, []
        for _ in range(world_size):
            rows.append(min(most, left))
            left -= rows[-1]
        return rows

    assert check_rows(answer).state == "right"


@pytest.mark.parametrize(
    "answer",
    [
        lambda rows, size: [rows // size] * size,
        lambda rows, size: [-(-rows // size)] * size,
        lambda rows, size: [rows // size + (rank < rows % size) for rank in range(size)],
        lambda rows, size: [n for n in shard_rows(rows, size) if n],
        lambda rows, size: shard_rows(rows, size)[::-1],
    ],
    ids=["floor", "ceiling", "as equal as they come", "empty left out", "reversed"],
)
def test_wrong_rows_are_rejected(answer) -> None:
    assert check_rows(answer).state == "wrong"


def test_hybrid_traffic_meets_its_two_ends() -> None:
    assert hybrid_bytes(1200, 4, 1) == 3 * 900
    assert hybrid_bytes(1200, 1, 4) == 2 * 900


@pytest.mark.parametrize(
    "answer",
    [
        lambda size, shards, copies: 3 * size * (shards - 1) / shards,
        lambda size, shards, copies: (
            3 * size * (shards - 1) / shards + 2 * size * (copies - 1) / copies
        ),
        lambda size, shards, copies: (
            2 * size * (shards - 1) / shards + 2 * size / shards * (copies - 1) / copies
        ),
        lambda size, shards, copies: 3 * size * (shards * copies - 1) / (shards * copies),
        lambda size, shards, copies: (
            3 * size * (shards - 1) / shards + size / shards * (copies - 1) / copies
        ),
    ],
    ids=["one term", "whole across", "no resharding", "all as shards", "half an all-reduce"],
)
def test_wrong_hybrid_traffic_is_rejected(answer) -> None:
    assert check_hybrid(answer).state == "wrong"


def good(shards):
    squares = sum(shard.square().sum() for shard in shards)
    dist.all_reduce(squares)
    return squares.sqrt()


def own_only(shards):
    return torch.cat(shards).norm()


def adds_norms(shards):
    norm = torch.cat(shards).norm()
    dist.all_reduce(norm)
    return norm


def averages(shards):
    squares = sum(shard.square().sum() for shard in shards)
    dist.all_reduce(squares)
    return (squares / dist.get_world_size()).sqrt()


def forgets_the_root(shards):
    squares = sum(shard.square().sum() for shard in shards)
    dist.all_reduce(squares)
    return squares


def first_shard_only(shards):
    squares = shards[0].square().sum()
    dist.all_reduce(squares)
    return squares.sqrt()


def gathers_everything(shards):
    mine = torch.zeros(7, dtype=torch.float64)
    flat = torch.cat(shards)
    mine[: len(flat)] = flat
    parts = [torch.zeros_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, mine)
    return torch.cat(parts).norm()


def returns_a_list(shards):
    return [float(shard.norm()) for shard in shards]


def raises_on_rank_two(shards):
    if dist.get_rank() == 2:
        raise KeyError("no second shard")
    return good(shards)


@pytest.mark.ranks
def test_a_norm_with_one_number_sent_is_accepted() -> None:
    assert check_norm(good).state == "right"


@pytest.mark.ranks
@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (own_only, "own shards alone"),
        (adds_norms, "don't add up"),
        (averages, "isn't the norm"),
        (forgets_the_root, "isn't the norm"),
        (first_shard_only, "isn't the norm"),
        (gathers_everything, "more than one number"),
        (returns_a_list, "isn't one number"),
        (raises_on_rank_two, "rank 2 of 3 failed first"),
    ],
)
def test_a_wrong_norm_is_rejected_with_its_reason(answer, hint: str) -> None:
    check = check_norm(answer)
    assert check.state == "wrong"
    assert hint in str(check.message)


@pytest.mark.ranks
def test_a_norm_that_returns_dots_is_no_answer_yet() -> None:
    assert check_norm(lambda shards: ...).state == "open"


PAGES = ("book/distributed/fsdp.md", "book/es/distributed/fsdp.md")


@pytest.mark.ranks
@pytest.mark.parametrize("page", PAGES)
def test_the_worked_solutions_of_the_page_are_right(page: str) -> None:
    functions = solutions(page)
    assert check_rows(functions["shard_rows"]).state == "right"
    assert check_hybrid(functions["hybrid_bytes"]).state == "right"
    assert check_norm(functions["gradient_norm"]).state == "right"


@pytest.mark.parametrize("page", PAGES)
def test_the_page_asks_its_exercises_by_the_names_of_the_checks(page: str) -> None:
    named = exercise_names(page)
    assert named == [fsdp.MEMORY, fsdp.ROWS, fsdp.HYBRID, fsdp.NORM]
    assert [check(...).name for check in CHECKS] == named
