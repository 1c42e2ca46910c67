"""Two memory planners by hand: one that hands memory on, and one that packs a block.

Steps count the calls of kernels and libraries; a buffer lives from the step that writes it to
the last one that reads it.
"""

from collections import defaultdict
from collections.abc import Sequence

from fuseshard.compiler.planning.records import Buffer, Packing

ALIGNMENT_BYTES = 64
"""of a buffer within a block; torch/_inductor/utils.py has the same number"""


def take_over(buffers: Sequence[Buffer]) -> dict[str, str]:
    """Let new buffers take over the memory of dead ones of the same size, as torch does.

    A buffer that dies leaves its memory in a pile for its size; one that begins takes the top
    of its pile. That may hold memory through steps in which it was free, so it is done only
    right after the death, or where the peak stays what it is.

    Args:
        buffers: of a module that reuses nothing, in the order of its text.

    Returns:
        New buffer -> the one whose memory it takes over.

    Source:
        torch/_inductor/codegen/wrapper.py, AllocateLine.plan. Checked on torch 2.13.
    """
    live = live_bytes(buffers)
    peak = max(live)
    piles: dict[int, list[Buffer]] = defaultdict(list)
    taken = {}
    for step in range(len(live)):
        for new in (b for b in buffers if b.first == step):
            pile = piles[new.num_bytes]
            gap = range(pile[-1].last + 1, step) if pile else range(0)
            if pile and all(live[i] + new.num_bytes <= peak for i in gap):
                taken[new.name] = pile.pop().name
                live = [size + new.num_bytes * (i in gap) for i, size in enumerate(live)]
        for old in (b for b in buffers if b.last == step):
            piles[old.num_bytes].append(old)
    return taken


def pack(buffers: Sequence[Buffer]) -> Packing:
    """Lay buffers out in one block, so that no two overlap in time and in space.

    The largest comes first, and of equals the one that lives longest; each goes to the lowest
    place that is free for the whole of its life.

    Args:
        buffers: in any order; their names differ.
    """
    offsets: dict[str, int] = {}
    placed: list[Buffer] = []
    for new in sorted(buffers, key=lambda b: (-b.num_bytes, b.first - b.last)):
        offset = 0
        for other in sorted(placed, key=lambda b: offsets[b.name]):
            if not new.overlaps(other):
                continue
            if offset + new.num_bytes <= offsets[other.name]:
                break
            offset = max(offset, _aligned(offsets[other.name] + other.num_bytes))
        offsets[new.name] = offset
        placed.append(new)
    ends = [offsets[b.name] + b.num_bytes for b in placed]
    return Packing(offsets=offsets, total_bytes=max(ends, default=0))


def live_bytes(buffers: Sequence[Buffer]) -> list[int]:
    """Add up what is alive at each step.

    Args:
        buffers: those that count.
    """
    steps = range(max((b.last for b in buffers), default=-1) + 1)
    return [sum(b.num_bytes for b in buffers if b.first <= i <= b.last) for i in steps]


def _aligned(offset: int) -> int:
    return -(-offset // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
