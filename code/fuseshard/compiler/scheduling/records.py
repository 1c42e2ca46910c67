"""What Inductor's scheduler was given, what it decided, and why, as plain data."""

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["pointwise", "reduction", "extern", "nop"]
Relation = Literal["vertical", "horizontal", ""]
Verdict = Literal["fused", "overtaken", "refused"]

OTHER_RANGES = "ranges"
"""stands for the C++ backend's refusal, for which torch writes no reason"""


@dataclass(frozen=True, kw_only=True)
class Access:
    """One place in a node at which a buffer is read or written."""

    buffer: str
    index: str
    """formula of the element, in the node's loop variables d0, d1, ...; "" is the whole buffer"""
    sizes: tuple[int, ...]
    """how far each loop variable runs"""
    num_bytes: int
    """bytes of the elements reached, each once"""


@dataclass(frozen=True, kw_only=True)
class Node:
    """One operation before fusion: a loop body, or a call of a library."""

    name: str
    """Inductor's own, such as "op0" """
    kind: Kind
    ops: tuple[str, ...]
    """ATen operators whose work it does"""
    ranges: tuple[int, ...]
    """sizes of the loops whose every step has a result of its own"""
    reduced: tuple[int, ...]
    """sizes of the loops that a reduction runs over; () without one"""
    shape: tuple[int, ...]
    """of its result, from which the loops were made by joining and reordering; () for a library"""
    reads: tuple[Access, ...]
    writes: tuple[Access, ...]


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What became of one pair that the scheduler looked at."""

    first: tuple[str, ...]
    """nodes that were one group already"""
    second: tuple[str, ...]
    relation: Relation
    """vertical: one reads what the other writes; horizontal: they share a buffer; "": not asked"""
    score_bytes: int | None
    """memory traffic that the fusion saves, as torch counts it; None where it didn't count"""
    verdict: Verdict
    """overtaken: allowed, but a member joined another group first, or a nearer kin went before"""
    reason: str
    """why it was refused, in torch's words; `OTHER_RANGES` where torch has none"""


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """One graph before and after fusion."""

    nodes: tuple[Node, ...]
    """in the scheduler's order"""
    groups: tuple[tuple[str, ...], ...]
    """names of nodes fused, in the order of execution"""
    decisions: tuple[Decision, ...]
    """each pair once, with its last verdict, in the order of the first look"""
    bytes_before: int
    """memory traffic with each node by itself, as torch counts it"""
    bytes_after: int
    """memory traffic of the groups, as torch counts it"""
    source: str
    """the module that Inductor wrote"""

    def node(self, name: str) -> Node:
        """Look a node up by its name."""
        return next(node for node in self.nodes if node.name == name)

    @property
    def num_loops(self) -> int:
        """Count the groups that Inductor writes loops for."""
        return sum(self.node(group[0]).kind in ("pointwise", "reduction") for group in self.groups)

    @property
    def num_extern(self) -> int:
        """Count the groups that call a library."""
        return sum(self.node(group[0]).kind == "extern" for group in self.groups)

    @property
    def num_functions(self) -> int:
        """Count the C++ functions that were written."""
        return self.source.count("= async_compile.cpp")

    @property
    def num_nests(self) -> int:
        """Count the loop nests in those functions: the blocks that stand side by side."""
        return len(re.findall(r"^    \{$", self.source, re.MULTILINE))


@dataclass(frozen=True, kw_only=True)
class Exhibit:
    """One program of the gallery."""

    code: str
    schedule: Schedule


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """How often scheduling by hand gives Inductor's groups."""

    rules: str
    """all, or the rule that was left out: cycles or ranges"""
    equal: tuple[bool, ...]
    """one a program"""
