"""How many ways a step is split along which axis of a mesh, as plain data. No torch here.

An *axis* of a mesh has a name and a *degree*, the number of ranks along it. A rank's *coordinate*
on an axis is its place there; ranks that differ in that coordinate alone form the axis's group.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import prod

AXES = ("pp", "dp", "fsdp", "tp")
"""from the outermost to the innermost: the further right, the more is sent at a time"""


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The degree of each axis; checked when it is made."""

    pp: int = 1
    "pipeline stages"
    dp: int = 1
    "replicas, each with other samples and all of the weights"
    fsdp: int = 1
    "ranks with other samples that share out the weights"
    tp: int = 1
    "ranks with the same samples that share out each matrix"

    def __post_init__(self) -> None:
        """Refuse degrees that no mesh can have."""
        for field in fields(self):
            degree = getattr(self, field.name)
            if isinstance(degree, bool) or not isinstance(degree, int) or degree < 1:
                raise ValueError(
                    f"Layout: {field.name} is {degree!r}, required is a whole number of at least 1 "
                    f"(it is a number of ranks); use {field.name}=1 for an axis that isn't there"
                )

    @property
    def degrees(self) -> dict[str, int]:
        """Degree by axis, outermost first, without axes of one rank; "dp": 1 if there are none."""
        found = {axis: getattr(self, axis) for axis in AXES if getattr(self, axis) > 1}
        return found or {"dp": 1}

    @property
    def world_size(self) -> int:
        """Number of ranks: the product of the degrees."""
        return prod(self.degrees.values())

    @property
    def num_shares(self) -> int:
        """Into how many parts a batch is shared out: dp times fsdp."""
        return self.dp * self.fsdp

    @property
    def name(self) -> str:
        """The axes with their degrees, such as "pp 2 × tp 2"."""
        return " × ".join(f"{axis} {degree}" for axis, degree in self.degrees.items())

    def coordinate(self, rank: int) -> dict[str, int]:
        """Find a rank's place on each axis: its number written with the degrees as its base.

        Args:
            rank: 0 to `world_size` - 1.

        Returns:
            axis -> place, outermost first.

        Raises:
            ValueError: there is no such rank.
        """
        if not 0 <= rank < self.world_size:
            raise ValueError(
                f"coordinate: rank is {rank}, required is 0 to {self.world_size - 1} (the layout "
                f"{self.name} has so many ranks); pass one of them"
            )
        found = {}
        for axis, degree in reversed(self.degrees.items()):
            rank, found[axis] = divmod(rank, degree)
        return dict(reversed(found.items()))

    def group(self, rank: int, axis: str) -> tuple[int, ...]:
        """List the ranks that a rank talks to along an axis, itself included.

        Args:
            rank: 0 to `world_size` - 1.
            axis: one of `degrees`.

        Returns:
            ranks in ascending order; they differ in this coordinate alone.

        Raises:
            ValueError: the layout has no such axis, or no such rank.
        """
        if axis not in self.degrees:
            raise ValueError(
                f"group: axis is {axis!r}, required is one of {list(self.degrees)} (the layout "
                f"{self.name} has these); pass one of them"
            )
        own = _without(self.coordinate(rank), axis)
        everyone = range(self.world_size)
        return tuple(one for one in everyone if _without(self.coordinate(one), axis) == own)

    def share(self, rank: int) -> int:
        """Number the part of the batch that a rank computes: by dp and fsdp, not by pp and tp.

        Args:
            rank: 0 to `world_size` - 1.

        Returns:
            0 to `num_shares` - 1.
        """
        place = self.coordinate(rank)
        return place.get("dp", 0) * self.fsdp + place.get("fsdp", 0)


@dataclass(frozen=True, kw_only=True)
class AxisBytes:
    """What is sent along one axis in a training step."""

    axis: str
    "one of `AXES`"
    counted: float
    "bytes that a rank sends, mean over all ranks, by the meter"
    formula: float
    "the same by formula"
    num_calls: int
    "collectives and sends that rank 0 takes part in"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One layout against one process."""

    layout: Layout
    "how the step was split"
    spoiled: str
    'what was done wrong on purpose; "" if nothing'
    loss: float
    "of the whole batch, float32"
    loss_apart: Mapping[str, float]
    "dtype -> |difference| from one process's loss"
    gradient_apart: Mapping[str, float]
    "dtype -> largest |difference| of a gradient's number"
    in_epsilons: Mapping[str, float]
    "dtype -> largest difference in units of what the dtype tells apart at the tensor's scale"
    is_rounding: bool
    "the rule's verdict, over both dtypes"
    axes: tuple[AxisBytes, ...]
    "one for each axis of the layout"


@dataclass(frozen=True, kw_only=True)
class OrderTrial:
    """One order of compiling and wrapping, run for two steps on all ranks; what rank 0 saw."""

    name: str
    "key of the order"
    code: str
    "the order, as code"
    refused: str
    'the exception that ended it; "" if it ran'
    num_graphs: int
    "graphs that the backend was given in the first step"
    later_graphs: int
    "graphs that it was given in the second step"
    num_operations: int
    "operations that compiled graphs ran in the forward pass of the second step"
    is_fullgraph: bool
    "whether it also runs with `fullgraph=True`"
    is_equal: bool
    "whether the results are those of one process without compiling, up to rounding"


def _without(place: Mapping[str, int], axis: str) -> dict[str, int]:
    """A coordinate without one axis."""
    return {name: index for name, index in place.items() if name != axis}
