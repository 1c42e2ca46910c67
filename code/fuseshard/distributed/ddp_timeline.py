"""When each gradient was ready in a backward pass, and when each bucket was reduced.

A gradient is *ready* when autograd has added it up; a bucket is *launched* when its last
gradient is ready, and *reduced* when the average over all ranks has arrived.
Times are seconds since the backward pass began, on the clock of the rank that recorded them.
"""

import time
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.nn.parallel import DistributedDataParallel


@dataclass(frozen=True, kw_only=True)
class GradientReady:
    """One parameter whose gradient was complete."""

    name: str
    """the parameter's name in the wrapped module"""
    num_bytes: int
    """bytes of the gradient"""
    ready_s: float
    """seconds since the backward pass began"""


@dataclass(frozen=True, kw_only=True)
class BucketReduced:
    """One bucket: what it held, when it was sent off and when the average was there."""

    index: int
    """position in the order of reduction; 0 goes first"""
    names: tuple[str, ...]
    """parameters in the bucket, in the order of their gradients"""
    num_bytes: int
    """bytes of the bucket's flat buffer"""
    launched_s: float
    """seconds since the backward pass began, when the all-reduce was asked for"""
    reduced_s: float
    """seconds since the backward pass began, when the average was there"""


@dataclass(frozen=True, kw_only=True)
class BackwardTimeline:
    """One backward pass of one rank, as the hooks saw it."""

    rank: int
    """rank that recorded it"""
    step: int
    """1 for the first backward pass recorded"""
    bucket_cap_bytes: int
    """DDP closes a bucket when its gradients reach so many bytes"""
    gradients: tuple[GradientReady, ...]
    """in the order in which they became ready"""
    buckets: tuple[BucketReduced, ...]
    """in the order of their index"""
    backward_s: float
    """seconds; the whole call of `backward`, waiting for the last bucket included"""

    @property
    def last_ready_s(self) -> float:
        """Return when the last gradient was ready: from then on a rank only waits."""
        return max(gradient.ready_s for gradient in self.gradients)

    @property
    def launched_early(self) -> tuple[BucketReduced, ...]:
        """Return the buckets sent off while gradients were still being computed."""
        return tuple(b for b in self.buckets if b.launched_s < self.last_ready_s)


def default_first_bucket_bytes() -> int:
    """Return the cap of the bucket that DDP reduces first, as torch defines it.

    A private constant of torch (checked on 2.11 to 2.13): it has no public name.
    If it goes away this raises AttributeError, and the chapter's build says so.
    """
    first_bucket_bytes: int = dist._DEFAULT_FIRST_BUCKET_BYTES
    return first_bucket_bytes


class BackwardRecorder:
    """Record the backward passes of a DDP model: `with recorder: loss.backward()`.

    Uses two public hooks. `register_post_accumulate_grad_hook` says when a parameter's gradient
    is ready; `register_comm_hook` hands over each bucket, which is then averaged by the same
    all-reduce that DDP does without a hook. Gradients are therefore unchanged.

    Args:
        model: a DDP model without a communication hook of its own; gets one for good.

    Communicates:
        nothing more than DDP: one all-reduce per bucket.

    Source:
        torch.nn.parallel.DistributedDataParallel, checked on torch 2.13.
    """

    def __init__(self, model: DistributedDataParallel) -> None:
        self.timelines: list[BackwardTimeline] = []
        """one for each finished `with` block"""
        self._group = model.process_group
        self._bucket_cap_bytes = int(model.bucket_bytes_cap)
        self._names = {param: name for name, param in model.module.named_parameters()}
        self._gradients: list[GradientReady] = []
        self._launched: dict[int, BucketReduced] = {}
        self._reduced_s: dict[int, float] = {}
        self._start_s = time.perf_counter()
        for param in self._names:
            if param.requires_grad:
                param.register_post_accumulate_grad_hook(self._on_ready)
        model.register_comm_hook(self._group, self._on_bucket)

    def _elapsed_s(self) -> float:
        return time.perf_counter() - self._start_s

    def _on_ready(self, param: torch.Tensor) -> None:
        # The hook is given the parameter; its gradient is in `.grad`.
        assert param.grad is not None
        self._gradients.append(
            GradientReady(
                name=self._names[param], num_bytes=param.grad.nbytes, ready_s=self._elapsed_s()
            )
        )

    def _on_bucket(
        self, group: dist.ProcessGroup, bucket: dist.GradBucket
    ) -> torch.futures.Future[torch.Tensor]:
        index = bucket.index()
        self._launched[index] = BucketReduced(
            index=index,
            names=tuple(self._names[param] for param in bucket.parameters()),
            num_bytes=bucket.buffer().nbytes,
            launched_s=self._elapsed_s(),
            reduced_s=float("nan"),
        )

        def on_reduced(future: torch.futures.Future[torch.Tensor]) -> torch.Tensor:
            self._reduced_s[index] = self._elapsed_s()
            return future.value()

        return allreduce_hook(group, bucket).then(on_reduced)

    def __enter__(self) -> Self:
        self._gradients, self._launched, self._reduced_s = [], {}, {}
        self._start_s = time.perf_counter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        backward_s = self._elapsed_s()
        if error is not None:
            return  # half a backward pass is no timeline
        # `backward` returns after every bucket's future, so all of `_reduced_s` is there.
        buckets = (
            replace(bucket, reduced_s=self._reduced_s[index])
            for index, bucket in sorted(self._launched.items())
        )
        self.timelines.append(
            BackwardTimeline(
                rank=dist.get_rank(self._group),
                step=len(self.timelines) + 1,
                bucket_cap_bytes=self._bucket_cap_bytes,
                gradients=tuple(self._gradients),
                buckets=tuple(buckets),
                backward_s=backward_s,
            )
        )
