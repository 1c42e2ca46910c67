"""What the chapter on modes measures, as plain data that drawing code can read without torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fuseshard.measure.records import Comparison, Origin, Range

Task = Literal["inference", "training", "head"]
Effect = Literal["none", "around the kernels", "kernels", "refused"]
Ending = Literal["kept", "overwritten", "refused"]


@dataclass(frozen=True, kw_only=True)
class Switch:
    """One option of Inductor that some mode switches."""

    option: str
    """as torch.compile's `options` takes it"""
    default: str
    """its value without a mode, as Python prints it"""
    values: dict[str, str]
    """mode -> the value that it sets, for the modes that set it"""


@dataclass(frozen=True, kw_only=True)
class Written:
    """What Inductor wrote for one function."""

    source: str
    """the module, without what differs between two compiles of one function"""
    kernels: tuple[str, ...]
    """texts of the kernels in it, without their names"""
    library_calls: int
    """operators that it calls instead"""
    skips: int
    """times that torch counted a CUDA graph that was asked for and left out"""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """One way to compute a matrix product that max_autotune timed."""

    name: str
    """as Inductor calls it; names with "cpp_" are templates, others the libraries' """
    seconds: float
    """of one run, by Inductor's own clock"""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One option of one mode, switched alone on programs for the CPU."""

    option: str
    value: str
    effects: dict[str, Effect]
    """program -> what changed in the module that Inductor wrote"""
    error: str
    """first line of the error where a program was refused, else "" """

    @property
    def effect(self) -> Effect:
        """The strongest of the effects."""
        order: tuple[Effect, ...] = ("none", "around the kernels", "kernels", "refused")
        return max(self.effects.values(), key=order.index)


@dataclass(frozen=True, kw_only=True)
class DeviceTrace:
    """What one call made the host launch and the device run."""

    kernels: int
    """kernels that ran on the device"""
    library: int
    """of these, not written by Inductor"""
    templates: int
    """of these, matrix products that Inductor wrote from a template"""
    copies: int
    """copies and fills on the device"""
    launches: int
    """times that the host launched one kernel"""
    graph_launches: int
    """times that the host launched a whole CUDA graph"""
    busy_s: float
    """seconds in which the device ran kernels, added up"""


@dataclass(frozen=True, kw_only=True)
class ModePoint:
    """All ways to run a model at one batch size."""

    size: int
    """sequences in the batch; rows for the head"""
    comparison: Comparison
    """steady times; the first is eager mode, the others are named by their mode or "by hand" """
    first_calls_s: dict[str, tuple[float, ...]]
    """way -> seconds of its first calls, in order, with nothing to take from a cache; a way that
    may have found something in a cache is missing"""
    errors: dict[str, float]
    """way -> largest error against the same model in float64, relative to the largest value"""
    traces: dict[str, DeviceTrace]
    """way -> what one steady call launches; empty on a machine without a GPU"""


@dataclass(frozen=True, kw_only=True)
class ModeSweep:
    """MiniGPT under every mode, over batch sizes."""

    task: Task
    """inference: the forward pass without gradients; training: loss and all gradients; head: the
    last layer alone and a softmax, without gradients"""
    device: str
    """what ran it: cpu or cuda"""
    dtype: str
    """of parameters and activations"""
    tokens: int
    """in a sequence; 1 for the head, which takes rows"""
    parameters: int
    """numbers in the model"""
    points: tuple[ModePoint, ...]
    """growing; a way that found no time left is missing at a size"""
    origin: Origin | None = None


@dataclass(frozen=True, kw_only=True)
class LaunchRun:
    """One way to run a program of many small kernels."""

    way: str
    """eager, default, reduce-overhead, "graph of eager" or "graph of default" """
    host_s: float
    """seconds until the call returns to Python, the device perhaps still at work; median"""
    whole_s: float
    """seconds until the device is done as well; median"""
    whole_range: Range
    """seconds; the median of the fastest and of the slowest process"""
    trace: DeviceTrace
    is_equal: bool
    """the result is equal to eager mode's, bit for bit"""


@dataclass(frozen=True, kw_only=True)
class LaunchProgram:
    """A program of many small kernels, run in every way."""

    name: str
    """pointwise: can be fused into one kernel; products: matrix products in between"""
    steps: int
    """how often its two operations are repeated"""
    runs: tuple[LaunchRun, ...]


@dataclass(frozen=True, kw_only=True)
class LaunchReport:
    """What launching costs, and what fusion and CUDA graphs take away of it."""

    device: str
    programs: tuple[LaunchProgram, ...]
    origin: Origin | None = None


@dataclass(frozen=True, kw_only=True)
class TrapCase:
    """A first result that is looked at again after a second call."""

    name: str
    before: tuple[float, ...]
    """the first result when it was new"""
    after: tuple[float, ...]
    """the same tensor after the second call; empty where looking at it was refused"""
    second: tuple[float, ...]
    """the second result; empty where there was none"""
    ending: Ending
    message: str
    """the error, its first line; "" if there was none"""


@dataclass(frozen=True, kw_only=True)
class SkipCase:
    """A function compiled with CUDA graphs, and whether it got one."""

    name: str
    skips: int
    """times that torch counted a graph left out"""
    graph_launches: int
    """CUDA graphs that one steady call launched"""
    message: str
    """torch's reason, its first line; "" if it gave none"""


@dataclass(frozen=True, kw_only=True)
class GraphReport:
    """How CUDA graphs behave: results overwritten, and graphs left out."""

    device: str
    multiprocessors: int
    """of the GPU; 0 without one"""
    is_big: bool
    """whether torch finds it big enough for matrix products from templates"""
    traps: tuple[TrapCase, ...]
    skips: tuple[SkipCase, ...]
    origin: Origin | None = None
