"""Layer 1, and layer 2 for the accumulation (two gloo ranks). Oracles: torch's own bucket
assignment, one process with all samples. Each right answer has wrong ones that must fail."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist

from fuseshard.checks.distributed import ddp
from fuseshard.checks.distributed.ddp import (
    check_accumulation,
    check_buckets,
    check_bytes,
    check_weight,
    loss_factor,
    split_into_buckets,
)


@pytest.mark.parametrize("check", [check_bytes, check_weight, check_buckets, check_accumulation])
def test_three_dots_are_no_answer_yet(check) -> None:
    assert check(...).state == "open"


@pytest.mark.parametrize("check", [check_weight, check_buckets])
def test_a_function_that_returns_dots_is_no_answer_yet(check) -> None:
    assert check(lambda *arguments: ...).state == "open"


@pytest.mark.parametrize("check", [check_weight, check_buckets, check_accumulation])
def test_a_number_is_no_function(check) -> None:
    answer = check(2.5)
    assert answer.state == "wrong"
    assert "function" in str(answer.message)


@pytest.mark.parametrize("answer", [24.5, 24.4, 49 / 2])
def test_bytes_take_the_ring_formula(answer: float) -> None:
    assert check_bytes(answer).state == "right"


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (14, "size of the gradients"),
        (12.25, "two halves"),
        (28, "limit"),
        (196, "all ranks"),
        (49, "bfloat16"),
        (24.5e9, "far too large"),
        (3.5, "far too small"),
        ("24.5", "one number"),
    ],
)
def test_wrong_bytes_get_their_own_hint(answer: object, hint: str) -> None:
    check = check_bytes(answer)
    assert check.state == "wrong"
    assert hint in str(check.message)
    assert "24.5" not in str(check.message)


def test_weights_of_all_ranks_average_to_one() -> None:
    """What makes the factor right: DDP's average of weighted means is the mean of all samples."""
    losses = [torch.tensor([1.0, 2.0, 4.0]), torch.tensor([8.0])]
    weighted = [loss.mean() * loss_factor(len(loss), 4, 2) for loss in losses]
    assert sum(weighted) / 2 == torch.cat(losses).mean()
    assert sum(loss.mean() for loss in losses) / 2 != torch.cat(losses).mean()


def test_the_right_weight_is_accepted() -> None:
    assert check_weight(lambda own, total, ranks: own / (total / ranks)).state == "right"


@pytest.mark.parametrize(
    "answer",
    [
        lambda own, total, ranks: 1,
        lambda own, total, ranks: own / total,
        lambda own, total, ranks: total / (own or 1) / ranks,
        lambda own, total, ranks: own / ranks,
        lambda own, total, ranks: ranks,
        lambda own, total, ranks: own * ranks // total,
    ],
    ids=["none", "no-ranks", "upside-down", "no-total", "ranks-only", "floor"],
)
def test_wrong_weights_are_rejected(answer) -> None:
    assert check_weight(answer).state == "wrong"


def test_an_exception_in_an_answer_becomes_a_hint() -> None:
    def answer(own, total, ranks):
        return 1 / (own - 5) if own == 5 else loss_factor(own, total, ranks)

    check = check_weight(answer)
    assert check.state == "wrong"
    assert "ZeroDivisionError" in str(check.message)


def oracle_buckets(sizes: list[int], first_cap: int, cap: int) -> list[list[int]]:
    """Torch's own assignment, of tensors with one byte an element."""
    tensors = [torch.zeros(size, dtype=torch.uint8) for size in sizes]
    indices, _ = dist._compute_bucket_assignment_by_size(tensors, [first_cap, cap])
    return [[sizes[index] for index in bucket] for bucket in indices]


@pytest.mark.parametrize(
    ("sizes", "first_cap", "cap"),
    [
        ([4, 4, 4, 4], 4, 8),
        ([1, 9, 2, 2, 2, 2, 1], 2, 5),
        ([20, 1, 1, 1], 4, 2),
        ([3] * 11, 10, 7),
        ([5], 100, 100),
    ],
)
def test_our_buckets_are_torchs(sizes: list[int], first_cap: int, cap: int) -> None:
    assert split_into_buckets(sizes, first_cap, cap) == oracle_buckets(sizes, first_cap, cap)


def test_right_buckets_are_accepted() -> None:
    def answer(sizes, first_cap, cap):
        buckets, room = [], 0
        for size in sizes:
            if room <= 0:
                buckets.append([])
                room = first_cap if len(buckets) == 1 else cap
            buckets[-1].append(size)
            room -= size
        return buckets

    assert check_buckets(answer).state == "right"


def never_above_cap(sizes, first_cap, cap):
    buckets: list[list[int]] = [[]]
    for size in sizes:
        if buckets[-1] and sum(buckets[-1]) + size > (first_cap if len(buckets) == 1 else cap):
            buckets.append([])
        buckets[-1].append(size)
    return [bucket for bucket in buckets if bucket]


@pytest.mark.parametrize(
    "answer",
    [
        lambda sizes, first_cap, cap: split_into_buckets(sizes, cap, cap),
        lambda sizes, first_cap, cap: split_into_buckets(sizes[::-1], first_cap, cap),
        lambda sizes, first_cap, cap: split_into_buckets(sizes, first_cap + 1, cap + 1),
        lambda sizes, first_cap, cap: [list(sizes)],
        never_above_cap,
    ],
    ids=["one-cap", "reversed", "above-not-at", "one-bucket", "never-above"],
)
def test_wrong_buckets_are_rejected(answer) -> None:
    assert check_buckets(answer).state == "wrong"


def good(model, micro_batches, loss_fn):
    *early, (inputs, targets) = micro_batches
    with model.no_sync():
        for early_inputs, early_targets in early:
            (loss_fn(model(early_inputs), early_targets) / len(micro_batches)).backward()
    (loss_fn(model(inputs), targets) / len(micro_batches)).backward()


def reduces_each_time(model, micro_batches, loss_fn):
    for inputs, targets in micro_batches:
        (loss_fn(model(inputs), targets) / len(micro_batches)).backward()


def never_reduces(model, micro_batches, loss_fn):
    with model.no_sync():
        reduces_each_time(model, micro_batches, loss_fn)


def forgets_the_mean(model, micro_batches, loss_fn):
    with model.no_sync():
        for inputs, targets in micro_batches[:-1]:
            loss_fn(model(inputs), targets).backward()
    loss_fn(model(micro_batches[-1][0]), micro_batches[-1][1]).backward()


def only_the_last(model, micro_batches, loss_fn):
    loss_fn(model(micro_batches[-1][0]), micro_batches[-1][1]).backward()


def no_backward(model, micro_batches, loss_fn):
    return [loss_fn(model(inputs), targets) for inputs, targets in micro_batches]


def raises_on_rank_one(model, micro_batches, loss_fn):
    if dist.get_rank() == 1:
        raise KeyError("micro-batch 3")
    good(model, micro_batches, loss_fn)


def test_accumulation_with_one_reduction_is_accepted() -> None:
    assert check_accumulation(good).state == "right"


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (reduces_each_time, "3 times"),
        (never_reduces, "0 times"),
        (forgets_the_mean, "mean over all samples"),
        (only_the_last, "mean over all samples"),
        (no_backward, "no gradient"),
        (raises_on_rank_one, "rank 1 of 2 failed first"),
    ],
)
def test_wrong_accumulation_is_rejected_with_its_reason(answer, hint: str) -> None:
    check = check_accumulation(answer)
    assert check.state == "wrong"
    assert hint in str(check.message)


def test_an_accumulation_that_returns_dots_is_no_answer_yet() -> None:
    assert check_accumulation(lambda *arguments: ...).state == "open"


def test_names_are_those_of_the_exercises() -> None:
    names = {ddp.BYTES, ddp.WEIGHT, ddp.BUCKETS, ddp.ACCUMULATION}
    checks = (check_bytes, check_weight, check_buckets, check_accumulation)
    assert {check(...).name for check in checks} == names


PAGES = ("book/distributed/ddp.md", "book/es/distributed/ddp.md")


def solutions(page: str) -> dict[str, Any]:
    """Run the worked solutions of a page; return the functions that they define."""
    text = Path(__file__).parents[3].joinpath(page).read_text(encoding="utf-8")
    defined: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        exec(block, defined)  # the page's own code, which readers are told is right
    return defined


@pytest.mark.parametrize("page", PAGES)
def test_the_worked_solutions_of_the_page_are_right(page: str) -> None:
    functions = solutions(page)
    assert check_weight(functions["loss_factor"]).state == "right"
    assert check_buckets(functions["split_into_buckets"]).state == "right"
    assert check_accumulation(functions["accumulate"]).state == "right"


@pytest.mark.parametrize("page", PAGES)
def test_the_page_asks_its_exercises_by_the_names_of_the_checks(page: str) -> None:
    text = Path(__file__).parents[3].joinpath(page).read_text(encoding="utf-8")
    named = re.findall(r"^:name: (\S+)$", text, re.MULTILINE)
    assert named == [ddp.BYTES, ddp.WEIGHT, ddp.BUCKETS, ddp.ACCUMULATION]
