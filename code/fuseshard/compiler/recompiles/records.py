"""What happened at each call of a compiled function, as plain data that drawing code can read.

Legend: entry = one compiled version of a function, numbered from 0 in the order of compiling;
graph = what the backend was given for it. A function without graph breaks has one graph an entry.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from fuseshard.measure.records import Origin, Sweep

State = Literal["compile", "recompile", "hit", "eager"]
"""compile = first time, no guard failed; recompile = the guards of every entry failed; hit = the
guards of one held, and it ran; eager = nothing compiled ran"""

Kind = Literal[
    "size",
    "stride",
    "rank",
    "dtype",
    "requires_grad",
    "shape",
    "length",
    "alias",
    "type",
    "state",
    "value",
    "other",
]
"""what a guard is about; shape = a relation between symbolic sizes, state = global state such as
the gradient mode, value = a Python object's value"""


@dataclass(frozen=True, kw_only=True)
class GuardFailure:
    """One guard that didn't hold."""

    entry: int
    """whose guard it is"""
    guard: str
    """in Dynamo's words, without its comments"""
    kind: Kind
    subject: str
    """what the guard is about, e.g. "x", "n", "len(xs)", "grad_mode" """
    dim: int | None = None
    """dimension of the tensor, for sizes and strides"""
    expected: str | None = None
    """what the entry was compiled for"""
    actual: str | None = None
    """what the call brought, where Dynamo says so"""


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call: what came in, which entry served it, and why the others didn't."""

    index: int
    """0 for the first call"""
    inputs: str
    """short text of the arguments, e.g. "5×6" """
    state: State
    failures: tuple[GuardFailure, ...]
    """the first guard that failed of each entry tried, most recently used entry first; empty for
    a hit, and once Dynamo has given up asking"""
    compiled: tuple[int, ...]
    """graphs that were compiled at this call"""
    ran: tuple[int, ...]
    """graphs that ran"""
    graphs_so_far: int
    """graphs compiled up to and including this call"""
    warning: str | None = None
    """what torch logged meanwhile; None if nothing"""


@dataclass(frozen=True, kw_only=True)
class Symbol:
    """A size or number that stands for all values of a range."""

    name: str
    """as the graph spells it, e.g. s77; u0 where no value is known while compiling"""
    stands_for: str | None
    """the input that it is, e.g. "x.size()[0]"; None if it arises inside the graph"""
    hint: int | None
    """its value in the call that compiled the graph; None if it has none"""
    low: int | None
    """smallest value; None = no limit"""
    high: int | None
    """largest value; None = no limit"""


@dataclass(frozen=True, kw_only=True)
class Graph:
    """One graph: its inputs with their shapes, and the symbols in them."""

    index: int
    inputs: tuple[str, ...]
    """e.g. "x: float32[s77, 6]" """
    symbols: tuple[Symbol, ...]
    """empty for a graph whose sizes are all constants"""
    conditions: tuple[str, ...]
    """what tracing assumed of the symbols, e.g. "s77 <= 10" """


@dataclass(frozen=True, kw_only=True)
class History:
    """All calls of one function, and the graphs that they left behind."""

    function: str
    calls: tuple[Call, ...]
    graphs: tuple[Graph, ...]

    def count(self, *states: State) -> int:
        """Return how many calls ended in one of the states."""
        return sum(call.state in states for call in self.calls)

    @property
    def decisions(self) -> tuple[Call, ...]:
        """The calls without what was logged: what two guard caches can be compared by."""
        return tuple(replace(call, warning=None) for call in self.calls)


@dataclass(frozen=True, kw_only=True)
class Cure:
    """A function that recompiles, before and after its cure, on the same calls."""

    name: str
    """what changes from call to call, e.g. "module-int" """
    before: History
    after: History
    before_source: str
    after_source: str


@dataclass(frozen=True, kw_only=True)
class PaddingPlan:
    """Sequences padded to a few lengths: what is useful work, and what is wasted."""

    lengths: tuple[int, ...]
    """the padded lengths, growing"""
    sequences: tuple[int, ...]
    """how many sequences go to each length"""
    useful_flop: int
    """of all sequences at their own lengths"""
    done_flop: int
    """of all sequences at their padded lengths"""

    @property
    def wasted_share(self) -> float:
        """Part of the work done that padding adds, 0 to 1."""
        return 1.0 - self.useful_flop / self.done_flop


@dataclass(frozen=True, kw_only=True)
class ShapeCosts:
    """What static and symbolic code costs at each length, and the CUDA graphs recorded."""

    lengths: Sweep
    """eager, static, symbolic, and both of these with CUDA graphs"""
    recorded_static: int
    """CUDA graphs recorded for all lengths, one static compile a length"""
    recorded_symbolic: int
    """CUDA graphs recorded for all lengths, one symbolic compile"""
    origin: Origin | None = None
    """where all of it comes from"""
