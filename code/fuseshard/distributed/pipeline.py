"""Pipeline parallelism by hand: stages on ranks, activations sent on, gradients sent back.

B = sequences in a micro-batch, T = tokens in a sequence, D = width of the model, m = micro-batches,
s = index of a stage, i = index of a micro-batch.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn

from fuseshard.distributed.pipelines.split_backward import Owed, weights_owed
from fuseshard.distributed.schedules import Action, Event, Orders
from fuseshard.distributed.scheduling.records import neighbour

MicroBatch = tuple[torch.Tensor, torch.Tensor]
"""[B, T] inputs of the first stage, [B, T] targets of the last"""
LossFn = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""output of the last stage, targets -> mean over the micro-batch"""


@dataclass(frozen=True, kw_only=True)
class StepRecord:
    """What one rank did in one training step."""

    events: tuple[Event, ...]
    """seconds on the machine's monotonic clock; computation only, without waiting for messages"""
    loss: float | None
    """mean over all sequences, on the rank of the last stage; None elsewhere"""
    peak_held: int
    """pairs (stage, micro-batch) whose activations were held at the worst moment"""


class Pipeline:
    """One rank's part of a pipeline: its stages, and everybody's orders.

    Args:
        stages: this rank's, by their index in the model.
        orders: of all ranks, from `make_orders` or `parse_orders`; equal on all of them.
        width: D, the last dim of what stages send each other.
        loss_fn: applied to the last stage's output; a mean over the micro-batch.
        group: ranks of the pipeline; None means all.
    """

    def __init__(
        self,
        stages: Mapping[int, nn.Module],
        orders: Orders,
        *,
        width: int,
        loss_fn: LossFn,
        group: dist.ProcessGroup | None = None,
    ) -> None:
        """Check that this rank holds the stages that its orders speak of."""
        self.rank = dist.get_rank(group)
        self.rank_of = {a.stage: rank for rank, order in enumerate(orders) for a in order}
        mine = sorted(stage for stage, rank in self.rank_of.items() if rank == self.rank)
        if len(orders) != dist.get_world_size(group) or sorted(stages) != mine:
            raise ValueError(
                f"Pipeline: rank {self.rank} holds the stages {sorted(stages)}, required are "
                f"{mine} and {len(orders)} ranks (the orders say so); pass this rank's stages, or "
                "other orders"
            )
        self.stages, self.order = stages, orders[self.rank]
        self.width, self.loss_fn, self.group = width, loss_fn, group
        self.num_micro_batches = 1 + max(a.micro_batch for order in orders for a in order)
        params = (param for stage in stages.values() for param in stage.parameters())
        self.dtype = next((param.dtype for param in params), torch.get_default_dtype())

    def step(self, micro_batches: Sequence[MicroBatch]) -> StepRecord:
        """Carry out this rank's order; gradients of the batch's mean loss end up in `.grad`.

        Args:
            micro_batches: m of them, the same on all ranks; the first stage reads the inputs, the
                last one the targets, and all of them the shapes.

        Raises:
            ValueError: there are more or fewer than the orders say, or one has no sequence.

        Communicates:
            for each micro-batch and each pair of neighbouring stages on different ranks one
            activation forward and one gradient back, B T D elements each; see `Timeline.messages`.
        """
        lengths = [len(inputs) for inputs, _ in micro_batches]
        if len(lengths) != self.num_micro_batches or not all(lengths):
            raise ValueError(
                f"Pipeline.step: got micro-batches of {lengths} sequences, required are "
                f"{self.num_micro_batches} of at least one (so many the orders name; gradients "
                "would lack what they leave out); cut the batch differently, or drop it"
            )
        step = Step(self, micro_batches)
        with weights_owed(nn.ModuleList(self.stages.values())) as step.fresh:
            for action in self.order:
                step.carry_out(action)
        for work, _ in step.sends:
            work.wait()
        loss = sum(step.losses) if step.losses else None
        return StepRecord(events=tuple(step.events), loss=loss, peak_held=step.peak_held)


class Step:
    """The state of one step: what was received, what is held for the backward pass."""

    def __init__(self, pipeline: Pipeline, micro_batches: Sequence[MicroBatch]) -> None:
        self.of, self.micro_batches = pipeline, micro_batches
        self.num_sequences = sum(len(inputs) for inputs, _ in micro_batches)
        self.held: dict[tuple[int, int], tuple[torch.Tensor, torch.Tensor]] = {}
        self.owed: dict[tuple[int, int], list[Owed]] = {}
        self.fresh: list[Owed] = []
        self.handed_over: dict[Action, torch.Tensor] = {}
        self.sends: list[tuple[dist.Work, torch.Tensor]] = []
        self.events: list[Event] = []
        self.losses: list[float] = []
        self.peak_held = 0

    def carry_out(self, action: Action) -> None:
        """Wait for what an action needs, do it, and send its result on."""
        received = self.receive(action)
        start = time.perf_counter()
        result = self.compute(action, received)
        self.events.append(Event(self.of.rank, action, start, time.perf_counter()))
        if result is not None:
            self.send(action, result)

    def compute(self, action: Action, received: torch.Tensor | None) -> torch.Tensor | None:
        """Do an action; return what the neighbouring stage needs of it."""
        s, i = action.stage, action.micro_batch
        if action.kind == "F":
            return self.forward(s, i, received)
        gradient = None
        if action.kind in "BI":
            gradient = self.backward_input(s, i, received)
        if action.kind in "BW":
            for pay in self.owed.pop((s, i)):
                pay()
        return gradient

    def forward(self, s: int, i: int, received: torch.Tensor | None) -> torch.Tensor | None:
        """Run a stage, and keep both ends of its piece of the autograd graph."""
        inputs, targets = self.micro_batches[i]
        x = inputs if received is None else received.requires_grad_()
        output = self.of.stages[s](x)
        is_last = s + 1 not in self.of.rank_of
        if is_last:  # a mean over the batch, of which this is a part
            output = self.of.loss_fn(output, targets) * (len(inputs) / self.num_sequences)
            self.losses.append(output.item())
        self.held[s, i] = x, output
        self.peak_held = max(self.peak_held, len(self.held) + len(self.owed))
        return None if is_last else output.detach()

    def backward_input(self, s: int, i: int, received: torch.Tensor | None) -> torch.Tensor | None:
        """Go back through a stage; weights' gradients of linear layers stay owed."""
        x, output = self.held.pop((s, i))
        output.backward(received)
        self.owed[s, i], self.fresh[:] = list(self.fresh), []
        return x.grad

    def receive(self, action: Action) -> torch.Tensor | None:
        """Return what the neighbouring stage made for an action; None if it needs nothing."""
        s, i = action.stage, action.micro_batch
        source = s - 1 if action.kind == "F" else s + 1
        if action.kind == "W" or source not in self.of.rank_of:
            return None
        key = Action("F" if action.kind == "F" else "B", s, i)
        if self.of.rank_of[source] == self.of.rank:
            return self.handed_over.pop(key)
        tensor = torch.empty(*self.micro_batches[i][0].shape, self.of.width, dtype=self.of.dtype)
        dist.recv(tensor, group_src=self.of.rank_of[source], group=self.of.group, tag=self.tag(key))
        return tensor

    def send(self, action: Action, tensor: torch.Tensor) -> None:
        """Start sending a result to the rank of the neighbouring stage, without waiting."""
        key = Action("F" if action.kind == "F" else "B", neighbour(action), action.micro_batch)
        target = self.of.rank_of[key.stage]
        if target == self.of.rank:
            self.handed_over[key] = tensor
            return
        work = dist.isend(tensor, group_dst=target, group=self.of.group, tag=self.tag(key))
        assert work is not None  # this rank is in the group
        self.sends.append((work, tensor))  # B T D elements; the tensor must live until sent

    def tag(self, key: Action) -> int:
        """Number a message, so that the order in which ranks ask for messages doesn't matter."""
        index = 2 * key.stage + (key.kind == "F")
        return index * len(self.micro_batches) + key.micro_batch
