"""What is read off a joint graph, as plain data that drawing code can use without torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fuseshard.measure.records import Comparison, Origin

SOURCE, BACKWARD = "source", "backward"
"""the two ends of the network: where values come from, and who needs them"""

Kind = Literal["parameter", "input", "activation"]


@dataclass(frozen=True, kw_only=True)
class Saved:
    """One tensor that the forward graph keeps for the backward graph."""

    name: str
    """its node in the graph, e.g. addmm_1"""
    op: str
    """operator that made it, e.g. aten.addmm; "" for an input of the graph"""
    shape: tuple[int, ...]
    kind: Kind
    """parameter and input: memory that is there anyway; activation: kept for the backward alone"""
    num_bytes: int
    """bytes of the memory behind it"""


@dataclass(frozen=True, kw_only=True)
class Value:
    """One tensor of the joint graph as a node of the network that is cut."""

    name: str
    op: str
    """operator that made it; "" for an input of the graph"""
    shape: tuple[int, ...]
    num_bytes: int
    distance: int
    """steps to the nearest operator of the backward pass"""
    capacity: float
    """cost of saving it: its bytes, weighted; infinite where it can't be saved"""
    users: tuple[str, ...]
    """values computed from it without a tangent; BACKWARD among them if a gradient needs it"""
    pinned: str
    """why it must not be computed a second time; "" where it may be"""


@dataclass(frozen=True, kw_only=True)
class Path:
    """One step of the maximum flow: a way from the source to the sink with room left."""

    nodes: tuple[str, ...]
    """from the source to the sink"""
    amount: float
    """what the narrowest edge of the way still let through"""


@dataclass(frozen=True, kw_only=True)
class Flow:
    """A maximum flow, and the cheapest cut, which costs as much."""

    amount: float
    """flow of all paths together = capacity of the cut"""
    paths: tuple[Path, ...]
    """in the order in which they were found"""
    cut: tuple[tuple[str, str], ...]
    """edges of the cheapest cut; of several, the one nearest the sink"""


@dataclass(frozen=True, kw_only=True)
class Lowering:
    """The operators that one line of Python becomes."""

    python: str
    """the line, e.g. torch.softmax(x, -1)"""
    ops: dict[str, tuple[str, ...]]
    """table of decompositions -> operators of the forward pass"""
    num_joint_ops: dict[str, int]
    """table of decompositions -> operators of forward and backward pass together"""


@dataclass(frozen=True, kw_only=True)
class Transformed:
    """A transform of torch.func inside a compiled function."""

    name: str
    num_graphs: int
    """graphs that Dynamo captured"""
    num_ops: int
    """ATen operators of all of them"""
    difference: float
    """largest absolute difference from the same transform in eager mode"""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """The same thing tried in eager mode and compiled."""

    name: str
    eager: str
    """"" when it gave a gradient; otherwise the error's message"""
    compiled: str
    difference: float | None
    """largest absolute difference of the two gradients; None where one of them is an error"""


@dataclass(frozen=True, kw_only=True)
class BudgetPoint:
    """What one memory budget made of a joint graph."""

    budget: float
    saved: tuple[Saved, ...]
    recomputed: dict[str, int]
    """operator -> how many of its calls in the forward graph the backward graph repeats"""
    flop: int
    """floating-point operations of the matrix products in both graphs together"""

    @property
    def activation_bytes(self) -> int:
        """Bytes kept from the forward to the backward pass, parameters not counted."""
        return sum(tensor.num_bytes for tensor in self.saved if tensor.kind != "parameter")


@dataclass(frozen=True, kw_only=True)
class BudgetSweep:
    """One joint graph, cut at several memory budgets."""

    points: tuple[BudgetPoint, ...]
    """from budget 1 down to 0"""
    comparison: Comparison
    """time of both graphs, operator by operator; variants are named by their budgets, and budgets
    that saved the same share the variant of the first"""
    variants: dict[str, str]
    """budget -> name of its variant in `comparison`"""
    origin: Origin | None = None


@dataclass(frozen=True, kw_only=True)
class TrainingPoint:
    """Memory of one way to run a training step."""

    name: str
    """eager, checkpoint, or a budget"""
    saved_bytes: int
    """kept from the forward to the backward pass, parameters not counted"""
    peak_bytes: int | None
    """most that the allocator had given out at any time of the step, minus what it held before;
    None on a device that doesn't count"""


@dataclass(frozen=True, kw_only=True)
class TrainingSweep:
    """A training step of MiniGPT: eager, checkpointed, and compiled at several budgets."""

    device: str
    """what ran it: cpu or cuda"""
    dtype: str
    """of parameters and activations"""
    width: int
    num_layers: int
    batch: int
    """sequences"""
    tokens: int
    """tokens of a sequence"""
    points: tuple[TrainingPoint, ...]
    comparison: Comparison
    """time of a step; variants have the names of the points"""
    origin: Origin | None = None
