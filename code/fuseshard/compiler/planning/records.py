"""What memory planning is read from, as plain data that drawing code can read without torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Deed = Literal["allocate", "free", "call"]


@dataclass(frozen=True, kw_only=True)
class Moment:
    """One line of the function that Inductor wrote, as far as memory is concerned."""

    deed: Deed
    """allocate and free change what is live; call runs a kernel or a library's function"""
    names: tuple[str, ...]
    """of the memory that begins or ends here, or of the function called"""
    live_bytes: int
    """bytes of buffers after this line; inputs don't count, since the caller owns them"""


@dataclass(frozen=True, kw_only=True)
class MemoryUse:
    """What one call asked an allocator for."""

    allocations: int
    """times that memory was asked for"""
    allocated_bytes: int
    """bytes of all of them together"""
    peak_bytes: int
    """most bytes alive at one time"""


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """Live memory along one call of a module, worked out from its text."""

    moments: tuple[Moment, ...]
    """in the order of the text; what is left when the function returns are the outputs"""
    use: MemoryUse

    @property
    def calls(self) -> tuple[str, ...]:
        """Names of the functions called, in order."""
        return tuple(m.names[0] for m in self.moments if m.deed == "call")

    @property
    def live_at_calls(self) -> tuple[int, ...]:
        """Bytes of buffers alive while each of those functions runs."""
        return tuple(m.live_bytes for m in self.moments if m.deed == "call")


@dataclass(frozen=True, kw_only=True)
class Buffer:
    """A tensor in the life of one call; steps count the calls of kernels and libraries."""

    name: str
    num_bytes: int
    first: int
    """step that writes it"""
    last: int
    """last step that reads it; one past the last step for an output"""
    is_output: bool
    """the caller gets it, so that nobody else may have its memory"""

    def overlaps(self, other: Buffer) -> bool:
        """Say whether both are needed at some step."""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True, kw_only=True)
class Packing:
    """Buffers laid out in one block of memory."""

    offsets: Mapping[str, int]
    """buffer -> byte at which it begins"""
    total_bytes: int
    """length of the block"""


@dataclass(frozen=True, kw_only=True)
class ProgramUse:
    """One program: eager, and as Inductor writes it with more and more planning."""

    name: str
    eager: MemoryUse
    """measured"""
    fused: MemoryUse
    """compiled, both kinds of reuse switched off"""
    handed: MemoryUse
    """compiled, dead memory handed on, no kernel in place"""
    default: MemoryUse
    """compiled as torch does it by itself"""
    pooled: MemoryUse
    """compiled with memory_planning"""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A plan, put into the text of a module that reuses nothing, and run."""

    plan: str
    handed_on: int
    """buffers that take over memory"""
    difference: float
    """largest absolute difference from what the module computes without it"""


@dataclass(frozen=True, kw_only=True)
class PlanCheck:
    """One program, planned by hand and by torch."""

    name: str
    buffers: int
    """buffers of the unplanned module, outputs included"""
    by_hand: Mapping[str, str]
    """new buffer -> buffer whose memory it takes over"""
    by_torch: Mapping[str, str]
    """the same, as torch decided"""
    packed_bytes: int
    """one block for all buffers, packed by hand"""
    pooled_bytes: int
    """all pools that torch makes for them"""
    bound_bytes: int
    """most bytes of them alive at one step: no packing can be smaller"""
