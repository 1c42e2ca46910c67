"""Which layouts of a cluster a model can train in, how long their steps take, and what binds them.

    for layout in plan(model_preset("llama3-70b"), cluster_preset("h200x8", num_nodes=4))[:5]:
        print(layout.degrees, layout.step_s, layout.limit, layout.blocked)

Everything is arithmetic on the sizes of model and cluster, without torch: bytes by
`planning.memory`, messages by `planning.communication`, seconds by `planning.step_time`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from fuseshard.distributed.planning.candidates import layouts, meshes, obstacle
from fuseshard.distributed.planning.communication import traffic
from fuseshard.distributed.planning.memory import memory
from fuseshard.distributed.planning.records import (
    Cluster,
    Degrees,
    Layout,
    Memory,
    ModelShape,
    Reason,
    Refusal,
    Times,
)
from fuseshard.distributed.planning.step_time import limit, times

NOTABLY_FASTER = 0.99
"""share of a step's time: less of a difference is below what such arithmetic can tell"""


@dataclass(frozen=True)
class Survey:
    """All layouts of a cluster, with what became of each."""

    feasible: tuple[Layout, ...]
    "those that fit, fastest first"
    too_large: tuple[Refusal, ...]
    "those that are right but for memory, fastest first"
    obstacles: Mapping[Reason, int]
    "size that a degree doesn't divide -> meshes that fail at it first"

    @property
    def nearest(self) -> Refusal | None:
        """The one that lacks least memory; None where all fit."""
        return min(self.too_large, key=lambda refusal: refusal.needed_bytes, default=None)


def plan(model: ModelShape, cluster: Cluster) -> list[Layout]:
    """Rank the layouts in which a model can train on a cluster.

    A step's time leaves out what all layouts share or what needs a measurement: the optimizer's
    update, loading data, and that small products reach less of the peak.

    Args:
        model: sizes of model and batch; refused with the field's name if no model can have them.
        cluster: the machines; refused in the same way.

    Returns:
        Feasible layouts, fastest first; none if none fits (`survey` tells why).

    Raises:
        ValueError: an argument isn't of the kind that it should be.
    """
    return list(survey(model, cluster).feasible)


def survey(model: ModelShape, cluster: Cluster) -> Survey:
    """Judge every layout of a cluster.

    Args:
        model: sizes of model and batch.
        cluster: the machines.

    Raises:
        ValueError: an argument isn't of the kind that it should be.
    """
    _check("model", model, ModelShape)
    _check("cluster", cluster, Cluster)
    obstacles: Counter[Reason] = Counter()
    fitting: list[tuple[Degrees, Memory, Times]] = []
    too_large: list[Refusal] = []
    for mesh in meshes(cluster.num_gpus):
        reason = obstacle(model, mesh)
        if reason:
            obstacles[reason] += 1
            continue
        for degrees in layouts(model, mesh):
            held, found = memory(model, degrees), times(model, cluster, degrees)
            if held.total_bytes <= cluster.usable_bytes:
                fitting.append((degrees, held, found))
            else:
                too_large.append(Refusal(degrees, held.total_bytes, found.step_s))
    too_large.sort(key=lambda refusal: (refusal.step_s, refusal.needed_bytes, refusal.degrees))
    fitting.sort(key=lambda item: (item[2].step_s, item[1].total_bytes, item[0]))
    wanted = _Wanted(too_large)
    feasible = (
        Layout(
            degrees=degrees,
            memory=held,
            traffic=traffic(model, degrees),
            times=found,
            limit=limit(found, cluster, degrees),
            blocked=wanted.faster_than(found.step_s),
        )
        for degrees, held, found in fitting
    )
    return Survey(tuple(feasible), tuple(too_large), dict(obstacles))


def _check(name: str, value: object, kind: type) -> None:
    if not isinstance(value, kind):
        raise ValueError(
            f"plan: {name} is {value!r}, must be a {kind.__name__} (its sizes are what is "
            f"planned); pass {name}_preset(...) of planning.presets, or sizes of your own"
        )


class _Wanted:
    """The refused layouts, asked for the one that would be faster and lacks least memory."""

    def __init__(self, too_large: Sequence[Refusal]) -> None:
        """Take the refused layouts, fastest first."""
        self._speeds = [refusal.step_s for refusal in too_large]
        self._smallest = list(accumulate(too_large, _smaller))

    def faster_than(self, step_s: float) -> Refusal | None:
        """Return the smallest of those that take notably less than so many seconds."""
        place = bisect_left(self._speeds, step_s * NOTABLY_FASTER)
        return self._smallest[place - 1] if place else None


def _smaller(first: Refusal, second: Refusal) -> Refusal:
    return second if second.needed_bytes < first.needed_bytes else first
