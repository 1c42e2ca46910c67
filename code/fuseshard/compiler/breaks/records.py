"""What the observers of graph breaks return, as plain data that is read without torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fuseshard.measure.records import Origin, Sweep

Ending = Literal["resumed", "rest skipped", "frame skipped"]
"""resumed = a new graph begins after the break; rest skipped = the function ends without one;
frame skipped = not even the part before the break is compiled"""

Status = Literal["one graph", "cut, captured", "cut, refused", "no graph, captured", "no graph"]
"""default mode, then fullgraph; "cut" has graphs on at least one side, "no graph" has none"""

Verdict = Literal["holds", "only by default", "recompiles instead", "another result", "no longer"]
"""of older advice that says "this breaks the graph" """

Cause = Literal[
    "if", "conditional", "assert", "print", "mutation", "library", "where", "nonzero", "python"
]
"""what older advice blames"""


@dataclass(frozen=True, kw_only=True)
class Break:
    """One place where Dynamo gave up, as Dynamo's own message says it."""

    kind: str
    """its stable name, e.g. "Data-dependent branching" """
    explanation: str
    hints: tuple[str, ...]
    aftermath: str
    """name of the second break that Dynamo met while it handled this one; "" if there was none"""
    line: int | None
    """in the function's source, 1 = its first line; None where the break is in another function"""
    ending: Ending | None
    """how Dynamo went on; None for an error, which ends everything"""

    @property
    def advice(self) -> str:
        """The shortest hint that names something of torch, else the first; "" if there is none."""
        naming = sorted((hint for hint in self.hints if "torch." in hint), key=len)
        return next(iter([*naming, *self.hints]), "")


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One function under torch.compile, called once or several times with the same arguments."""

    graphs: tuple[int, ...]
    """graphs captured by each call; after the first, each is a recompilation"""
    operations: tuple[int, ...]
    """calls in each graph of the first call"""
    breaks: tuple[Break, ...]
    """breaks of the first call, in order; one place may be met twice"""
    error: Break | None
    """what stopped the compiler; None if nothing did"""
    is_same: bool
    """result, arguments and lists or dictionaries among them are those of eager mode, bit for bit;
    False if there was an error"""
    printed: tuple[str, ...]
    """what each call printed"""

    @property
    def is_whole(self) -> bool:
        """The first call captured one graph, met no break and gave the result of eager mode."""
        return self.graphs[:1] == (1,) and not self.breaks and self.is_same


@dataclass(frozen=True, kw_only=True)
class Specimen:
    """One exhibit after its visit."""

    name: str
    """lower-case words joined by hyphens"""
    room: str
    title: str
    """the line of Python that it is about"""
    cause: Cause | None
    """what older advice blames; None where it says nothing"""
    source: str
    """its code"""
    default: Trial
    """several calls of torch.compile(fn)"""
    full: Trial
    """one call of torch.compile(fn, fullgraph=True)"""
    fixed: Trial | None
    """one call of the repaired version; None where nothing needs repair"""
    fixed_source: str
    """code of the repaired version; "" if only a setting changes, or nothing"""
    remedy: str
    """the repair in a few characters of code; "" where nothing needs repair"""

    @property
    def is_broken(self) -> bool:
        """Dynamo met a break by default."""
        return bool(self.default.breaks)

    @property
    def status(self) -> Status:
        """What becomes of it in both modes."""
        if not self.is_broken:
            return "one graph"
        if self.default.graphs[0]:
            return "cut, refused" if self.full.error else "cut, captured"
        return "no graph" if self.full.error else "no graph, captured"

    @property
    def message(self) -> Break | None:
        """Dynamo's first message, whichever mode made it speak."""
        return next(iter(self.default.breaks), self.full.error)

    @property
    def recompiles(self) -> int:
        """Calls after the first that captured something anew."""
        return sum(graphs > 0 for graphs in self.default.graphs[1:])

    @property
    def never_settles(self) -> bool:
        """Every call captured something anew, as far as the visit went."""
        return self.recompiles == len(self.default.graphs) - 1 > 0

    @property
    def verdict(self) -> Verdict | None:
        """Judge older advice that says it breaks; None where there is no such advice."""
        if self.cause is None:
            return None
        if self.is_broken:
            return "holds" if self.full.error else "only by default"
        if not self.default.is_same:
            return "another result"
        return "recompiles instead" if self.never_settles else "no longer"


@dataclass(frozen=True, kw_only=True)
class ToolTrial:
    """One tool put on the same function."""

    tool: str
    """the tool, as code"""
    trial: Trial


@dataclass(frozen=True, kw_only=True)
class Dissection:
    """What Inductor and Dynamo made of the chain, cut into some number of graphs."""

    graphs: int
    kernels: int
    """loops that Inductor wrote, in all graphs together"""
    written_bytes: int
    """results of the kernels, intermediate ones included"""
    guards: int
    """conditions checked at each call, in all frames together"""
    bytecode: str
    """what Dynamo put in place of the function's own"""


@dataclass(frozen=True, kw_only=True)
class BreakCost:
    """A chain of pointwise operations cut into more and more graphs, eager against compiled."""

    device: str
    """what ran it: cpu or cuda"""
    num_operations: int
    """pointwise operations in the chain"""
    elements: tuple[int, ...]
    """float32 numbers in the tensor, growing; one sweep each"""
    sweeps: tuple[Sweep, ...]
    """over the number of graphs"""
    origin: Origin | None = None
    """where all of it comes from"""
