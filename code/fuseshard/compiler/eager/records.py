"""What the chapter on eager mode observes, as plain data that drawing code reads without torch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class OpSpan:
    """One operator call as the profiler saw it."""

    op: str
    """operator without its overload, e.g. aten::addmm"""
    depth: int
    """0 = called from Python; 1 = called by a call of depth 0; and so on"""
    start_s: float
    """seconds since the first call began"""
    end_s: float
    self_s: float
    """seconds in the call itself, without the operators that it called"""


@dataclass(frozen=True, kw_only=True)
class Profile:
    """One call of a function, profiled."""

    spans: tuple[OpSpan, ...]
    """in the order in which they began"""

    @property
    def whole_s(self) -> float:
        """Seconds from the start of the first operator to the end of the last."""
        return max(span.end_s for span in self.spans)

    @property
    def outside_s(self) -> float:
        """Seconds in which no operator ran: Python, and the way to the dispatcher."""
        return self.whole_s - sum(s.end_s - s.start_s for s in self.spans if s.depth == 0)

    def self_by_op(self) -> dict[str, float]:
        """Add up the seconds of each operator without those that it called, largest first."""
        total: dict[str, float] = {}
        for span in self.spans:
            total[span.op] = total.get(span.op, 0.0) + span.self_s
        return dict(sorted(total.items(), key=lambda item: -item[1]))


@dataclass(frozen=True, kw_only=True)
class Part:
    """The dispatcher calls of one part of a training step."""

    name: str
    """forward, backward or optimizer"""
    from_python: int
    """calls that Python made (the autograd engine's, for the backward pass)"""
    calls: int
    """all calls, those made by other operators included"""
    kernels: int
    """calls that compute and that no other kernel made on its own behalf"""
    allocated_bytes: int
    """of all results together"""
