"""`torch.distributed.pipelining` with our names for schedules, and a clock beside its stages."""

import time
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed import pipelining
from torch.distributed.pipelining.schedules import PipelineScheduleMulti, PipelineScheduleSingle

from fuseshard.distributed.pipeline import LossFn
from fuseshard.distributed.schedules import SCHEDULES, Action, Event
from fuseshard.distributed.scheduling.records import Kind

LIBRARY_SCHEDULES: dict[str, type[PipelineScheduleSingle] | type[PipelineScheduleMulti]] = {
    "gpipe": pipelining.ScheduleGPipe,
    "1f1b": pipelining.Schedule1F1B,
    "interleaved_1f1b": pipelining.ScheduleInterleaved1F1B,
    "looped_bfs": pipelining.ScheduleLoopedBFS,
    "zb_h1": pipelining.ScheduleInterleavedZeroBubble,
    "interleaved_zb": pipelining.ScheduleInterleavedZeroBubble,
    "zbv": pipelining.ScheduleZBVZeroBubble,
    "dualpipev": pipelining.schedules.ScheduleDualPipeV,
}
"""our name -> torch's class; zb_h1 is the interleaved one with one stage a rank; none is naive"""


class TimedStage(pipelining.PipelineStage):
    """A stage of the library that notes when the schedule calls it.

    The three methods are those that every schedule of torch 2.11 to 2.13 calls to compute.

    Args:
        module: the stage's layers.
        stage_index: which stage of the model this is.
        num_stages: stages of the whole model.
        group: ranks of the pipeline; None means all.
    """

    def __init__(
        self,
        module: nn.Module,
        stage_index: int,
        num_stages: int,
        group: dist.ProcessGroup | None = None,
    ) -> None:
        """Make a stage on the CPU."""
        super().__init__(module, stage_index, num_stages, torch.device("cpu"), group=group)
        self.events: list[Event] = []
        """seconds on the machine's monotonic clock, in the order of the calls"""

    def forward_one_chunk(self, fwd_chunk_id: int, *args: Any, **kwargs: Any) -> Any:
        """Run one micro-batch forward, as the library does, and note it."""
        start = time.perf_counter()
        output = super().forward_one_chunk(fwd_chunk_id, *args, **kwargs)
        self._note("F", fwd_chunk_id, start)
        return output

    def backward_one_chunk(self, bwd_chunk_id: int, *args: Any, **kwargs: Any) -> Any:
        """Run one micro-batch back, or the input half of that, and note it."""
        start = time.perf_counter()
        output = super().backward_one_chunk(bwd_chunk_id, *args, **kwargs)
        # All schedules name this argument; its default is the whole backward pass.
        self._note("B" if kwargs.get("full_backward", True) else "I", bwd_chunk_id, start)
        return output

    def backward_weight_one_chunk(self, bwd_chunk_id: int, *args: Any, **kwargs: Any) -> Any:
        """Run the weight half of one micro-batch's backward pass, and note it."""
        start = time.perf_counter()
        output = super().backward_weight_one_chunk(bwd_chunk_id, *args, **kwargs)
        self._note("W", bwd_chunk_id, start)
        return output

    def _note(self, kind: Kind, micro_batch: int, start: float) -> None:
        action = Action(kind, self.stage_index, micro_batch)
        self.events.append(Event(self.group_rank, action, start, time.perf_counter()))


def make_library_schedule(
    name: str, stages: Sequence[pipelining.PipelineStage], num_micro_batches: int, loss_fn: LossFn
) -> PipelineScheduleSingle | PipelineScheduleMulti:
    """Make the library's schedule of one of our names from a rank's stages.

    Args:
        name: one of `LIBRARY_SCHEDULES`.
        stages: this rank's stages, in the order of the model.
        num_micro_batches: m.
        loss_fn: mean over a micro-batch; the schedule divides gradients by m.

    Raises:
        ValueError: the library has no such schedule, or it takes another number of stages.
    """
    if name not in LIBRARY_SCHEDULES:
        raise ValueError(
            f"make_library_schedule: name is {name!r}, required is one of "
            f"{', '.join(LIBRARY_SCHEDULES)} (torch has classes for these); run the others by "
            "`fuseshard.distributed.pipeline`"
        )
    least, most = SCHEDULES[name].least_chunks, SCHEDULES[name].most_chunks
    if not least <= len(stages) <= (most or len(stages)):
        raise ValueError(
            f"make_library_schedule: got {len(stages)} stages for {name}, required are {least} to "
            f"{most or 'any number'} on a rank (others would be left out); cut the model so, or "
            "use another schedule"
        )
    made: Any = LIBRARY_SCHEDULES[name]
    is_single = issubclass(made, PipelineScheduleSingle)
    schedule: PipelineScheduleSingle | PipelineScheduleMulti = made(
        stages[0] if is_single else list(stages), n_microbatches=num_micro_batches, loss_fn=loss_fn
    )
    return schedule
