"""A scheduler by hand: Inductor's rules of fusion for a CPU, on plain nodes.

Read in torch's scheduler.py, choices.py and codegen/cpp.py, torch 2.13. Left out are the rules on
peak memory and on templates, and the one by which 16 times the bytes win over equal kinds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from fuseshard.compiler.scheduling.records import Access, Node

MIN_SHARED_BYTES, MAX_NODES, MAX_DISTANCE = 10, 64, 64
MAX_HORIZONTAL_NODES = 16  # of the C++ backend
Loops = tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class Group:
    """Nodes fused so far."""

    nodes: tuple[Node, ...]
    places: tuple[int, ...]
    """where its nodes stood before fusion"""
    parts: tuple[Loops, ...]
    """loops of its nests: those with a result each, and those reduced over"""
    depth: int = 0
    """loops around all parts; 0 while there is one nest"""

    @cached_property
    def reduces(self) -> bool:
        """Tell whether a reduction is among the nodes."""
        return any(node.kind == "reduction" for node in self.nodes)

    @cached_property
    def writes(self) -> set[Access]:
        """Collect what the nodes write."""
        return {access for node in self.nodes for access in node.writes}

    @cached_property
    def reads(self) -> set[Access]:
        """Collect what the nodes read from outside."""
        return {access for node in self.nodes for access in node.reads} - self.writes


def schedule(nodes: Sequence[Node], *, cycles: bool = False, ranges: bool = True) -> list[Group]:
    """Fuse pairs in rounds, the one that saves most first, until no pair may be fused.

    Args:
        nodes: before fusion, in an order in which they could run.
        cycles: True forgets that a group must not wait for itself, for comparison.
        ranges: False forgets that loops have to fit, for comparison.

    Returns:
        The groups, in an order in which they could run.
    """
    groups = [Group((n,), (i,), ((n.ranges, n.reduced),)) for i, n in enumerate(nodes)]

    def allowed(a: Group, b: Group) -> Group | None:
        fused = fuse(a, b, ranges=ranges)
        return fused if fused and (cycles or not detour(a, b, groups)) else None

    while True:
        pairs = [(a, b) for i, a in enumerate(groups) for b in groups[i + 1 :]]
        options = [(a, b, fused) for a, b in pairs if (fused := allowed(a, b))]
        if not options:
            return groups
        nests_first = min(fused.depth > 0 for *_, fused in options)
        turn = [(a, b) for a, b, fused in options if (fused.depth > 0) == nests_first]
        for pair in sorted(turn, key=lambda pair: score(*pair), reverse=True):
            # Either of the two may have been fused since, in this very round.
            a, b = (next(g for g in groups if set(old.nodes) <= set(g.nodes)) for old in pair)
            if a is not b and (fused := allowed(a, b)):
                groups = in_order([fused, *(group for group in groups if group not in (a, b))])


def score(a: Group, b: Group) -> tuple[bool, int, int]:
    """Rate a pair: equal kinds first, then bytes that need not move, then nearness."""
    shared = (a.reads | a.writes) & (b.reads | b.writes)
    return a.reduces == b.reduces, sum(access.num_bytes for access in shared), -distance(a, b)


def fuse(a: Group, b: Group, *, ranges: bool) -> Group | None:
    """Join two groups, `a` first; None if a rule forbids it."""
    if any(node.kind in ("extern", "nop") for node in a.nodes + b.nodes):
        return None  # a library's loops are closed to us
    shared_bytes = score(a, b)[1]
    if shared_bytes == 0 or len(a.nodes + b.nodes) > MAX_NODES:
        return None
    nodes, places = a.nodes + b.nodes, a.places + b.places
    vertical = depends(b, a)
    if vertical and not all(matches(read, a.writes) for read in b.reads):
        return None  # b needs elements of a that this step has not made
    if not vertical and (shared_bytes < MIN_SHARED_BYTES or is_large(a, b)):
        return None
    nest = None if vertical and a.reduces and ranges else one_nest(a, b)
    if nest or not ranges:
        return Group(nodes, places, (nest or b.parts[0],))
    depth = outer_depth(a, b) if vertical else 0
    return Group(nodes, places, a.parts + b.parts, depth) if depth else None


def one_nest(a: Group, b: Group) -> Loops | None:
    """Find the loops that run both groups' bodies, one after the other, at each step."""
    if len(a.parts) > 1 or len(b.parts) > 1:
        return None
    (loops, reduced), (others, others_reduced) = a.parts[0], b.parts[0]
    if (loops, reduced) == (others, others_reduced):
        return b.parts[0]
    if not reduced and loops == others + others_reduced:
        return b.parts[0]  # a computes element by element what b reduces
    if not reduced and not others_reduced and prod(loops) == prod(others):
        flat, cut = (a, b) if len(loops) < len(others) else (b, a)
        one_shape = len({node.shape for node in a.nodes + b.nodes}) == 1
        if len(flat.parts[0][0]) == 1 == len(flat.nodes) and one_shape:
            return cut.parts[0]  # one long loop is cut into the other's
    return None


def outer_depth(a: Group, b: Group) -> int:
    """Count the outer loops that two groups have in common, if that is all but their reductions."""
    (last, _), (first, _) = a.parts[-1], b.parts[0]
    depth = min(len(last), len(first))
    fits = last[:depth] == first[:depth] and {a.depth, b.depth} <= {0, depth}
    return depth if fits else 0


def matches(read: Access, writes: set[Access]) -> bool:
    """Tell whether a step reads nothing of these writes but what that very step writes."""
    same = [write for write in writes if write.buffer == read.buffer]
    return not same or any(
        write.index == read.index and read.sizes[: len(write.sizes)] == write.sizes
        for write in same
    )


def is_large(a: Group, b: Group) -> bool:
    """Tell whether two groups are too many nodes, or too far apart, to stand side by side."""
    return len(a.nodes + b.nodes) > MAX_HORIZONTAL_NODES or distance(a, b) > MAX_DISTANCE


def distance(a: Group, b: Group) -> int:
    """Count the places from one end of the fused group to the other."""
    return max(abs(min(a.places) - max(b.places)), abs(min(b.places) - max(a.places)))


def depends(b: Group, a: Group) -> bool:
    """Tell whether `b` reads a buffer that `a` writes."""
    return bool({read.buffer for read in b.reads} & {write.buffer for write in a.writes})


def detour(a: Group, b: Group, groups: Sequence[Group]) -> bool:
    """Tell whether a third group waits for `a` while `b` waits for it; fused, all would wait."""
    waiting, reached = [a], set[Group]()
    while waiting:
        group = waiting.pop()
        found = {c for c in groups if c not in (a, b) and depends(c, group)} - reached
        reached |= found
        waiting += found
    return any(depends(b, c) for c in reached)


def in_order(groups: Sequence[Group]) -> list[Group]:
    """Put groups into an order in which each runs after those that it reads from."""
    waiting, done = sorted(groups, key=lambda group: min(group.places)), []
    while waiting:
        ready = [g for g in waiting if not any(depends(g, w) for w in waiting if w is not g)]
        done.append(ready[0] if ready else waiting[0])  # none is ready: they wait for one another
        waiting.remove(done[-1])
    return done
