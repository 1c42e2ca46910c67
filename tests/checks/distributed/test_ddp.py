"""Layer 1, and layer 2 for the accumulation (two gloo ranks). Oracles: torch's own bucket
assignment and sampler, a ticking clock, one process with all samples. Each right answer has
wrong ones that must fail."""

from contextlib import nullcontext

import pytest
import torch
import torch.distributed as dist
from torch.utils.data.distributed import DistributedSampler

from fuseshard.checks.distributed import ddp
from fuseshard.checks.distributed.ddp import (
    check_accumulation,
    check_buckets,
    check_bytes,
    check_overlap,
    check_samples,
    deal_samples,
    last_back,
    split_into_buckets,
)
from tests.checks.pages import exercise_names, solutions

CHECKS = (check_bytes, check_samples, check_buckets, check_overlap, check_accumulation)


@pytest.mark.parametrize("check", CHECKS)
def test_three_dots_are_no_answer_yet(check) -> None:
    assert check(...).state == "open"


@pytest.mark.parametrize("check", [check_samples, check_buckets, check_overlap])
def test_a_function_that_returns_dots_is_no_answer_yet(check) -> None:
    assert check(lambda *arguments: ...).state == "open"


@pytest.mark.parametrize("check", CHECKS[1:])
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


@pytest.mark.parametrize(("num_samples", "world_size"), [(6, 2), (7, 2), (10, 4), (2, 5), (1, 3)])
def test_our_deal_is_the_sampler_s(num_samples: int, world_size: int) -> None:
    samplers = [
        DistributedSampler(range(num_samples), world_size, rank, shuffle=False)  # type: ignore[arg-type]
        for rank in range(world_size)
    ]
    assert deal_samples(num_samples, world_size) == [list(sampler) for sampler in samplers]


def test_a_right_deal_is_accepted() -> None:
    def answer(num_samples, world_size):
        each = (num_samples + world_size - 1) // world_size
        return [
            [(turn * world_size + rank) % num_samples for turn in range(each)]
            for rank in range(world_size)
        ]

    assert check_samples(answer).state == "right"


def one_round_of_repeats(num_samples, world_size):
    """Right unless there are so few samples that they have to be repeated more than once."""
    missing = -num_samples % world_size
    places = [*range(num_samples), *range(min(missing, num_samples))]
    return [places[rank::world_size] for rank in range(world_size)]


def in_blocks(num_samples, world_size):
    each = -(-num_samples // world_size)
    return [
        [(rank * each + turn) % num_samples for turn in range(each)] for rank in range(world_size)
    ]


@pytest.mark.parametrize(
    "answer",
    [
        lambda samples, ranks: [list(range(rank, samples, ranks)) for rank in range(ranks)],
        lambda samples, ranks: [
            list(range(rank, samples // ranks * ranks, ranks)) for rank in range(ranks)
        ],
        in_blocks,
        one_round_of_repeats,
        lambda samples, ranks: [
            [min(place, samples - 1) for place in range(rank, samples + -samples % ranks, ranks)]
            for rank in range(ranks)
        ],
    ],
    ids=["no-padding", "dropped", "blocks", "one-round", "repeats-the-last"],
)
def test_wrong_deals_are_rejected(answer) -> None:
    assert check_samples(answer).state == "wrong"


def test_an_exception_in_an_answer_becomes_a_hint() -> None:
    def answer(num_samples, world_size):
        return 1 // (num_samples - 7) if num_samples == 7 else deal_samples(num_samples, world_size)

    check = check_samples(answer)
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


def test_buckets_that_leave_one_by_one_are_back_as_a_clock_says() -> None:
    """Oracle: a clock that ticks in quarters, one bucket on the way at a time."""
    ready, durations = [1.0, 1.25, 6.0, 6.25], [2.0, 0.5, 1.5, 0.25]
    clock, waiting, busy_until = 0.0, list(zip(ready, durations, strict=True)), 0.0
    while waiting or clock < busy_until:
        if waiting and clock >= busy_until and clock >= waiting[0][0]:
            busy_until = clock + waiting.pop(0)[1]
        clock += 0.25
    assert last_back(ready, durations) == busy_until == 7.75


def test_a_right_overlap_is_accepted() -> None:
    def answer(ready_s, all_reduce_s):
        rests = [sum(all_reduce_s[index:]) for index in range(len(ready_s))]
        return max(ready + rest for ready, rest in zip(ready_s, rests, strict=True))

    assert check_overlap(answer).state == "right"


@pytest.mark.parametrize(
    "answer",
    [
        lambda ready, durations: ready[-1] + durations[-1],
        lambda ready, durations: ready[0] + sum(durations),
        lambda ready, durations: ready[-1] + sum(durations),
        lambda ready, durations: max(r + d for r, d in zip(ready, durations, strict=True)),
        lambda ready, durations: max(ready[-1] + durations[-1], ready[0] + sum(durations)),
    ],
    ids=["last-only", "link-only", "no-overlap", "all-at-once", "two-ends"],
)
def test_wrong_overlaps_are_rejected(answer) -> None:
    assert check_overlap(answer).state == "wrong"


def good(model, micro_batches, loss_fn):
    count = torch.tensor(sum(len(inputs) for inputs, _ in micro_batches))
    dist.all_reduce(count)
    scale = dist.get_world_size() / count.item()
    *early, (inputs, targets) = micro_batches
    with model.no_sync():
        for early_inputs, early_targets in early:
            loss = loss_fn(model(early_inputs), early_targets)
            (loss * len(early_inputs) * scale).backward()
    (loss_fn(model(inputs), targets) * len(inputs) * scale).backward()


def weighs_micro_batches_alike(model, micro_batches, loss_fn):
    """Right if all micro-batches had the same size."""
    with model.no_sync():
        for inputs, targets in micro_batches[:-1]:
            (loss_fn(model(inputs), targets) / len(micro_batches)).backward()
    inputs, targets = micro_batches[-1]
    (loss_fn(model(inputs), targets) / len(micro_batches)).backward()


def weighs_ranks_alike(model, micro_batches, loss_fn):
    """The mean over this rank's samples, averaged over ranks."""
    count = sum(len(inputs) for inputs, _ in micro_batches)
    with model.no_sync():
        for inputs, targets in micro_batches[:-1]:
            (loss_fn(model(inputs), targets) * len(inputs) / count).backward()
    inputs, targets = micro_batches[-1]
    (loss_fn(model(inputs), targets) * len(inputs) / count).backward()


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
        (weighs_micro_batches_alike, "mean over all samples"),
        (weighs_ranks_alike, "mean over all samples"),
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
    assert [check(...).name for check in CHECKS] == NAMES


NAMES = [ddp.BYTES, ddp.SAMPLES, ddp.BUCKETS, ddp.OVERLAP, ddp.ACCUMULATION]
PAGES = ("book/distributed/ddp.md", "book/es/distributed/ddp.md")


@pytest.mark.parametrize("page", PAGES)
def test_the_worked_solutions_of_the_page_are_right(page: str) -> None:
    functions = solutions(page, torch=torch, dist=dist, nullcontext=nullcontext)
    assert check_samples(functions["deal_samples"]).state == "right"
    assert check_overlap(functions["last_back"]).state == "right"
    assert check_buckets(functions["split_into_buckets"]).state == "right"
    assert check_accumulation(functions["accumulate"]).state == "right"


@pytest.mark.parametrize("page", PAGES)
def test_the_page_asks_its_exercises_by_the_names_of_the_checks(page: str) -> None:
    named = exercise_names(page)
    assert named == NAMES
