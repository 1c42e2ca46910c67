"""What the measurements of training yield, as plain data that drawing code reads without torch."""

from __future__ import annotations

from dataclasses import dataclass

from fuseshard.measure.records import Comparison, Origin, Sweep


@dataclass(frozen=True, kw_only=True)
class StepCapture:
    """How much of a training step was captured."""

    name: str
    """which way it was handed over"""
    graphs: int
    """graphs that Dynamo captured"""
    breaks: dict[str, int]
    """first line of Dynamo's reason -> how often it broke off for it"""
    operations: dict[str, int]
    """kind of graph that reached the backend, "forward", "backward" or "inference" -> operations"""


@dataclass(frozen=True, kw_only=True)
class CastGraphs:
    """What autocast makes of a loss and its gradient, as ATen graphs."""

    forward: str
    backward: str
    forward_casts: int
    """changes of precision in the forward graph"""
    backward_casts: int
    """changes of precision in the backward graph"""


@dataclass(frozen=True, kw_only=True)
class Loop:
    """What a plain timer saw of a loop of calls."""

    calls_s: tuple[float, ...]
    """seconds between two readings of the host's clock, one value a call"""
    wait_s: float
    """seconds from the end of the loop until the device had nothing left to do"""

    def __post_init__(self) -> None:
        if not self.calls_s:
            raise ValueError("Loop: got no calls, required at least 1 (a mean of none is nothing).")

    def after_first(self) -> Loop:
        """Return the loop without its first call."""
        return Loop(calls_s=self.calls_s[1:], wait_s=self.wait_s)

    @property
    def stopped_s(self) -> float:
        """Seconds per call by a timer that stops when the loop ends."""
        return sum(self.calls_s) / len(self.calls_s)

    @property
    def finished_s(self) -> float:
        """Seconds per call by a timer that waits for the device before it stops."""
        return (sum(self.calls_s) + self.wait_s) / len(self.calls_s)


@dataclass(frozen=True, kw_only=True)
class LoopPair:
    """The same loop eager and compiled, one after the other."""

    eager: Loop
    compiled: Loop

    @property
    def stopped_speedup(self) -> float:
        """How many times faster the compiled loop is by a timer that doesn't wait."""
        return self.eager.stopped_s / self.compiled.stopped_s

    @property
    def finished_speedup(self) -> float:
        """How many times faster the compiled loop is by a timer that waits."""
        return self.eager.finished_s / self.compiled.finished_s


@dataclass(frozen=True, kw_only=True)
class Repair:
    """One published benchmark, from its own timing to one that can be trusted, step by step."""

    batch: int
    """rows of the input"""
    published: LoopPair
    """as published: the first call is in the loop"""
    warmed: tuple[LoopPair, ...]
    """the same loops after a warm-up, repeated; empty where the published one was long enough"""
    interleaved: Comparison
    """"eager" and "compiled" in rounds"""

    @property
    def after_first(self) -> LoopPair:
        """A loop without a first call in it: repeated after a warm-up, or cut."""
        if self.warmed:
            return self.warmed[0]
        eager, compiled = self.published.eager, self.published.compiled
        return LoopPair(eager=eager.after_first(), compiled=compiled.after_first())


@dataclass(frozen=True, kw_only=True)
class Repairs:
    """The repair at one batch size or several."""

    device: str
    """what ran it: cpu or cuda"""
    points: tuple[Repair, ...]
    """by growing batch"""
    origin: Origin | None = None


@dataclass(frozen=True, kw_only=True)
class OptimizerTimes:
    """A step of AdamW in several ways over the same parameters."""

    device: str
    """what ran it: cpu or cuda"""
    num_tensors: int
    """parameters"""
    num_elements: int
    """numbers in all of them"""
    comparison: Comparison
    """"loop" first, then the other ways"""
    origin: Origin | None = None


@dataclass(frozen=True, kw_only=True)
class Trajectories:
    """Losses of the same training, step by step, four ways."""

    double: tuple[float, ...]
    """eager in float64: the reference"""
    eager: tuple[float, ...]
    compiled: tuple[float, ...]
    step_left_out: tuple[float, ...]
    """eager, with one update missing: it has to be told apart"""

    def drift(self, series: tuple[float, ...]) -> tuple[float, ...]:
        """Return how far each loss is from the reference, absolutely."""
        return tuple(abs(a - b) for a, b in zip(series, self.double, strict=True))

    def largest_drift(self, series: tuple[float, ...]) -> float:
        """Return the largest distance from the reference."""
        return max(self.drift(series))


@dataclass(frozen=True, kw_only=True)
class ClassifierSweep:
    """A training step of the classifier, eager against compiled, over batch sizes."""

    device: str
    """what ran it: cpu or cuda"""
    length: int
    """tokens in every text"""
    width: int
    """features of a token"""
    num_layers: int
    """encoder layers"""
    sweeps: dict[str, Sweep]
    """precision, "float32" or "bfloat16" -> "eager" and "compiled" in the same rounds"""
    origin: Origin | None = None


@dataclass(frozen=True, kw_only=True)
class LengthRun:
    """One way to feed texts of varying lengths."""

    graphs: int
    """graphs captured for all batches of a pass"""
    tokens: int
    """tokens of a pass, padding included"""
    first_pass_s: float
    """seconds of the first pass, with all its compiles and none of them from a cache"""


@dataclass(frozen=True, kw_only=True)
class LengthRuns:
    """Training over batches of varying lengths, fed in several ways."""

    device: str
    """what ran it: cpu or cuda"""
    batch: int
    """texts in a batch"""
    lengths: tuple[int, ...]
    """longest text of each batch of a pass, in order"""
    context: int
    """tokens that padding to the maximum fills up to"""
    real_tokens: int
    """tokens of a pass without any padding"""
    ways: dict[str, LengthRun]
    """name of a variant of `comparison` -> what it captured and computed"""
    comparison: Comparison
    """one call is one pass, after the first"""
    origin: Origin | None = None
