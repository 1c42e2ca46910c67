"""Layer 1, and layer 2 for the operator (two gloo ranks). Oracles: the book's placements and
formulas, torch's own cat. Each right answer has wrong ones that must fail."""

import pytest
import torch
import torch.distributed as dist

from fuseshard.checks.distributed import tensor_parallel
from fuseshard.checks.distributed.tensor_parallel import (
    check_bytes,
    check_crossing,
    check_rows,
    check_slice,
    crossing_tokens,
    rows_of_rank,
)
from fuseshard.distributed.tensor.costs import block_bytes, data_parallel_bytes
from fuseshard.distributed.tensor.placements import minigpt_placements
from fuseshard.models.minigpt import MiniGPTConfig
from tests.checks.pages import exercise_names, solutions

NAMES = [
    tensor_parallel.BYTES,
    tensor_parallel.ROWS,
    tensor_parallel.CROSSING,
    tensor_parallel.SLICE,
]


@pytest.mark.parametrize("check", [check_bytes, check_rows, check_crossing])
def test_three_dots_are_no_answer_yet(check) -> None:
    assert check(...).state == "open"


@pytest.mark.parametrize("check", [check_rows, check_crossing])
def test_a_function_that_returns_dots_is_no_answer_yet(check) -> None:
    assert check(lambda *arguments: ...).state == "open"


@pytest.mark.parametrize("check", [check_rows, check_crossing, lambda f: check_slice(f, f)])
def test_a_number_is_no_function(check) -> None:
    answer = check(2.5)
    assert answer.state == "wrong"
    assert "function" in str(answer.message)


@pytest.mark.parametrize("answer", [469.8, 470, 7 * 8192 * 4096 * 2 / 1e6])
def test_bytes_take_four_all_reduces_of_an_activation(answer: float) -> None:
    assert check_bytes(answer).state == "right"


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (67.1, "size of one activation"),
        (234.9, "one direction"),
        (117.4, "one of the all-reduces"),
        (3758.1, "all ranks"),
        (939.5, "bfloat16"),
        (704.6, "data parallelism"),
        (469.8e6, "far too large"),
        (1.0, "far too small"),
        ("469.8", "one number"),
    ],
)
def test_wrong_bytes_get_their_own_hint(answer: object, hint: str) -> None:
    check = check_bytes(answer)
    assert check.state == "wrong"
    assert hint in str(check.message)
    assert "469" not in str(check.message)


@pytest.mark.parametrize(("num_ranks", "num_heads"), [(1, 3), (2, 4), (3, 6), (4, 4)])
def test_our_rows_are_those_of_the_placements(num_ranks: int, num_heads: int) -> None:
    sizes = MiniGPTConfig(width=5 * num_heads, num_heads=num_heads, num_layers=1)
    placement = minigpt_placements(sizes, num_ranks)["blocks.0.attention.qkv.weight"]
    for rank in range(num_ranks):
        held = [i for start, stop in placement.ranges[rank] for i in range(start, stop)]
        assert rows_of_rank(rank, num_ranks, num_heads, 5) == held


def contiguous(rank, num_ranks, num_heads, head_width):
    share = 3 * num_heads * head_width // num_ranks
    return list(range(rank * share, (rank + 1) * share))


def dealt_in_turn(rank, num_ranks, num_heads, head_width):
    heads = range(rank, num_heads, num_ranks)
    rows = [head * head_width + i for head in heads for i in range(head_width)]
    return [part * num_heads * head_width + row for part in range(3) for row in rows]


def head_by_head(rank, num_ranks, num_heads, head_width):
    heads = range(rank * num_heads // num_ranks, (rank + 1) * num_heads // num_ranks)
    width = num_heads * head_width
    return [
        part * width + head * head_width + i
        for head in heads
        for part in range(3)
        for i in range(head_width)
    ]


@pytest.mark.parametrize(
    "answer",
    [
        contiguous,
        dealt_in_turn,
        head_by_head,
        lambda rank, *sizes: rows_of_rank(0, *sizes),
        lambda *sizes: rows_of_rank(*sizes)[: len(rows_of_rank(*sizes)) // 3],
        lambda *sizes: len(rows_of_rank(*sizes)),
    ],
    ids=["contiguous", "dealt", "head-by-head", "rank-0", "queries-only", "count"],
)
def test_wrong_rows_are_rejected(answer) -> None:
    assert check_rows(answer).state == "wrong"


def test_the_crossing_is_where_both_formulas_agree() -> None:
    """With 13 D biases and norms besides the 12 D² weights: hence the tolerance."""
    sizes = MiniGPTConfig(width=4096, num_heads=4)
    tokens = crossing_tokens(4096, 12)
    assert data_parallel_bytes(sizes, 8) == pytest.approx(
        tokens * block_bytes(1, 4096, 8), rel=1e-3
    )


@pytest.mark.parametrize(
    "answer",
    [
        lambda width, weights: 3 * width,
        lambda width, weights: weights * width,
        lambda width, weights: weights * width**2 / 4,
        lambda width, weights: weights / 4,
    ],
    ids=["only-12", "one-all-reduce", "squared", "no-width"],
)
def test_wrong_crossings_are_rejected(answer) -> None:
    assert check_crossing(answer).state == "wrong"


def own(x, rank, world_size):
    return x.chunk(world_size, dim=-1)[rank]


def gathered(gradient, rank, world_size):
    parts = [torch.empty_like(gradient) for _ in range(world_size)]
    dist.all_gather(parts, gradient)
    return torch.cat(parts, dim=-1)


def padded(gradient, rank, world_size):
    """Right too, at twice the bytes."""
    whole = torch.zeros(*gradient.shape[:-1], gradient.shape[-1] * world_size)
    own(whole, rank, world_size).copy_(gradient)
    dist.all_reduce(whole)
    return whole


def only_mine(gradient, rank, world_size):
    whole = torch.zeros(*gradient.shape[:-1], gradient.shape[-1] * world_size)
    own(whole, rank, world_size).copy_(gradient)
    return whole


def repeated(gradient, rank, world_size):
    return torch.cat([gradient] * world_size, dim=-1)


def along_first_dim(gradient, rank, world_size):
    return torch.cat(gathered(gradient, rank, world_size).chunk(world_size, -1), 0)


def first_piece(x, rank, world_size):
    return own(x, 0, world_size)


def rows_of_x(x, rank, world_size):
    return x.chunk(world_size, dim=0)[rank]


def raises_on_rank_one(gradient, rank, world_size):
    if rank == 1:
        raise KeyError("slice 7")
    return gathered(gradient, rank, world_size)


@pytest.mark.ranks
@pytest.mark.parametrize("backward", [gathered, padded])
def test_right_operators_are_accepted(backward) -> None:
    assert check_slice(own, backward).state == "right"


@pytest.mark.ranks
@pytest.mark.parametrize(
    ("forward", "backward", "hint"),
    [
        (own, only_mine, "gradient on rank 0"),
        (own, repeated, "gradient on rank 0"),
        (own, along_first_dim, "gradient on rank 0"),
        (own, lambda *arguments: None, "gradient on rank 0"),
        (first_piece, gathered, "Rank 1 has another slice"),
        (rows_of_x, gathered, "Rank 0 has another slice"),
        (own, raises_on_rank_one, "rank 1 of 2 failed first"),
    ],
    ids=["padded", "repeated", "dim-0", "none", "rank-0", "rows", "raises"],
)
def test_wrong_operators_are_rejected_with_their_reason(forward, backward, hint: str) -> None:
    check = check_slice(forward, backward)
    assert check.state == "wrong"
    assert hint in str(check.message)


@pytest.mark.ranks
def test_an_operator_with_dots_is_no_answer_yet() -> None:
    assert check_slice(..., gathered).state == "open"
    assert check_slice(lambda *arguments: ..., gathered).state == "open"
    assert check_slice(own, lambda *arguments: ...).state == "open"


def test_names_are_those_of_the_exercises() -> None:
    found = [check(...).name for check in (check_bytes, check_rows, check_crossing)]
    assert [*found, check_slice(..., ...).name] == NAMES


PAGES = ("book/distributed/tensor-parallel.md", "book/es/distributed/tensor-parallel.md")


@pytest.mark.ranks
@pytest.mark.parametrize("page", PAGES)
def test_the_worked_solutions_of_the_page_are_right(page: str) -> None:
    functions = solutions(page)
    assert check_rows(functions["rows_of_rank"]).state == "right"
    assert check_crossing(functions["crossing_tokens"]).state == "right"
    found = check_slice(functions["slice_forward"], functions["slice_backward"])
    assert found.state == "right"


@pytest.mark.parametrize("page", PAGES)
def test_the_page_asks_its_exercises_by_the_names_of_the_checks(page: str) -> None:
    assert exercise_names(page) == NAMES
