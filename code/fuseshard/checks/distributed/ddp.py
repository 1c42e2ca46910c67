"""What the answers of the chapter on data parallelism are tested with."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.nn.functional import mse_loss
from torch.nn.parallel import DistributedDataParallel

from fuseshard.checks.common import (
    check_function,
    check_number,
    is_open,
    open_question,
    right,
    wrong,
)
from fuseshard.distributed.launcher import DistributedError, run
from fuseshard.show.records import Check
from fuseshard.show.words import Word, word

BYTES = "ddp-bytes"
SAMPLES = "ddp-samples"
BUCKETS = "ddp-buckets"
OVERLAP = "ddp-overlap"
ACCUMULATION = "ddp-accumulation"

_GB = 1e9
_NUM_PARAMETERS, _BYTES_PER_GRADIENT, _NUM_RANKS = 7e9, 2, 8  # of the exercise's text

MicroBatch = tuple[torch.Tensor, torch.Tensor]
"""inputs and targets of some samples"""
Accumulate = Callable[[DistributedDataParallel, Sequence[MicroBatch], Callable[..., Any]], object]
"""what a reader writes: backward passes over micro-batches"""


def check_bytes(answer: object) -> Check:
    """Check the GB that one of 8 ranks sends in a step of a model with 7e9 bfloat16 gradients.

    Args:
        answer: a number in GB (1e9 bytes), or `...`.
    """
    gradients = _NUM_PARAMETERS * _BYTES_PER_GRADIENT / _GB
    ring = 2 * (_NUM_RANKS - 1) / _NUM_RANKS
    slips: dict[float, Word] = {
        gradients: word("That is the size of the gradients, not what the ring sends of them."),
        gradients * ring / 2: word("That is one of the ring's two halves."),
        2 * gradients: word("That is the limit for very many ranks."),
        gradients * ring * _NUM_RANKS: word("That is what all ranks send together."),
        2 * gradients * ring: word("How many bytes does a bfloat16 number take?"),
    }
    what = word("Sent by one rank, in GB")
    return check_number(BYTES, answer, gradients * ring, what=what, slips=slips)


def deal_samples(num_samples: int, world_size: int) -> list[list[int]]:
    """Deal samples to ranks as `DistributedSampler` does without shuffling.

    Args:
        num_samples: samples in the data set, at least 1; may be fewer than ranks.
        world_size: number of ranks.

    Returns:
        For each rank the indices it gets; all ranks get the same number.
    """
    num_places = -(-num_samples // world_size) * world_size
    places = [place % num_samples for place in range(num_places)]
    return [places[rank::world_size] for rank in range(world_size)]


def check_samples(answer: object) -> Check:
    """Check a function like `deal_samples`.

    Args:
        answer: function of (num_samples, world_size), or `...`.
    """
    cases = [(6, 2), (7, 2), (10, 4), (2, 5), (1, 3), (9, 1)]
    return check_function(SAMPLES, answer, cases, deal_samples)


def split_into_buckets(
    gradient_bytes: Sequence[int], first_cap_bytes: int, cap_bytes: int
) -> list[list[int]]:
    """Group gradients, in the order in which they become ready, as DDP does.

    Args:
        gradient_bytes: bytes of each gradient, in that order.
        first_cap_bytes: the first bucket closes when it holds at least so many bytes.
        cap_bytes: the same for all others.

    Returns:
        For each bucket the sizes it holds; the last one may be below its cap.
    """
    buckets: list[list[int]] = []
    bucket: list[int] = []
    for num_bytes in gradient_bytes:
        bucket.append(num_bytes)
        if sum(bucket) >= (cap_bytes if buckets else first_cap_bytes):
            buckets.append(bucket)
            bucket = []
    return [*buckets, bucket] if bucket else buckets


def check_buckets(answer: object) -> Check:
    """Check a function like `split_into_buckets`.

    Args:
        answer: function of (gradient_bytes, first_cap_bytes, cap_bytes), or `...`.
    """
    cases = [
        ([4, 4, 4, 4], 4, 8),
        ([3, 3, 3, 3, 3, 3], 4, 8),
        ([1, 9, 2, 2, 2, 2, 1], 2, 5),
        ([20, 1, 1, 1], 4, 2),
        ([], 4, 8),
    ]
    return check_function(BUCKETS, answer, cases, split_into_buckets)


def last_back(ready_s: Sequence[float], all_reduce_s: Sequence[float]) -> float:
    """Return when the last bucket is back, if each leaves when the one before it is.

    Args:
        ready_s: seconds at which each bucket is full, in the order of leaving.
        all_reduce_s: seconds that its all-reduce takes.
    """
    back_s = 0.0
    for ready, duration in zip(ready_s, all_reduce_s, strict=True):
        back_s = max(back_s, ready) + duration
    return back_s


def check_overlap(answer: object) -> Check:
    """Check a function like `last_back`.

    Args:
        answer: function of (ready_s, all_reduce_s), or `...`.
    """
    cases = [
        ([2.0], [1.0]),
        ([1.0, 2.0, 3.0], [0.5, 0.5, 0.5]),
        ([1.0, 2.0, 3.0], [2.0, 2.0, 2.0]),
        ([1.0, 2.0, 9.0], [4.0, 4.0, 1.0]),
        ([1.0, 8.0, 9.0], [3.0, 2.0, 2.0]),
    ]
    return check_function(OVERLAP, answer, cases, last_back)


def check_accumulation(answer: object) -> Check:
    """Run a reader's gradient accumulation on two ranks; count its all-reduces.

    Args:
        answer: function of (model, micro_batches, loss_fn) that leaves in the DDP `model` the
            gradient of the mean over all samples of all ranks, or `...`.

    Communicates:
        what the answer does; right is one reduction by DDP for all micro-batches.
    """
    if is_open(answer):
        return open_question(ACCUMULATION)
    if not callable(answer):
        kind = type(answer).__name__
        return wrong(ACCUMULATION, word("This needs a function, got a {kind}.", kind=kind))
    try:
        outcomes = run(_accumulated, 2, args=(answer,))
    except DistributedError as error:
        hint = word("On two ranks it fails: {reason}", reason=error.reason)
        return wrong(ACCUMULATION, hint)
    if all(is_left_open for _, _, is_left_open in outcomes):
        return open_question(ACCUMULATION)
    return _judge_accumulation([(gradient, count) for gradient, count, _ in outcomes])


def _judge_accumulation(outcomes: Sequence[tuple[torch.Tensor | None, int]]) -> Check:
    """Judge gradient and number of all-reduces of each rank."""
    gradients = [gradient for gradient, _ in outcomes if gradient is not None]
    if len(gradients) < len(outcomes):
        return wrong(ACCUMULATION, word("After the call there is no gradient."))
    most = max(count for _, count in outcomes)
    if any(count != 1 for _, count in outcomes):
        hint = word("The gradients were reduced {count} times, must be once.", count=most)
        return wrong(ACCUMULATION, hint)
    expected = _whole_gradient()
    # Float64 sums of a dozen terms below 10: rounding stays under 1e-13, any slip is above 1e-3.
    if any((gradient - expected).abs().max() > 1e-12 for gradient in gradients):
        hint = word("One all-reduce, but the gradient isn't that of the mean over all samples.")
        return wrong(ACCUMULATION, hint)
    return right(ACCUMULATION, word("Right: one all-reduce, and the gradient of all samples."))


def _micro_batches(rank: int) -> list[MicroBatch]:
    """Make three micro-batches of different sizes, other ones on each rank."""
    generator = torch.Generator().manual_seed(1 + rank)
    sizes = ([3, 1, 2], [1, 4, 3])[rank]
    draw = torch.randn(sum(sizes), 4, generator=generator, dtype=torch.float64)
    return [(samples[:, :3], samples[:, 3:]) for samples in draw.split(sizes)]


def _model() -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(3, 1).double()


def _whole_gradient() -> torch.Tensor:
    """One process with all samples: the oracle."""
    model = _model()
    pairs = [pair for rank in (0, 1) for pair in _micro_batches(rank)]
    inputs, targets = (torch.cat(parts) for parts in zip(*pairs, strict=True))
    mse_loss(model(inputs), targets).backward()
    assert model.weight.grad is not None
    return model.weight.grad


def _accumulated(
    rank: int, world_size: int, accumulate: Accumulate
) -> tuple[torch.Tensor | None, int, bool]:
    """Run the answer on one rank; return gradient, all-reduces, and whether `...` came back."""
    counted: list[int] = []

    def count(
        group: dist.ProcessGroup, bucket: dist.GradBucket
    ) -> torch.futures.Future[torch.Tensor]:
        counted.append(bucket.index())
        return allreduce_hook(group, bucket)

    model = DistributedDataParallel(_model())
    model.register_comm_hook(model.process_group, count)
    returned = accumulate(model, _micro_batches(rank), mse_loss)
    return model.module.weight.grad, len(counted), is_open(returned)
