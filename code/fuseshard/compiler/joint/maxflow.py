"""Maximum flow by hand, and the cheapest cut that it leads to (Edmonds and Karp)."""

from collections import deque
from collections.abc import Mapping
from itertools import pairwise
from math import inf

from fuseshard.compiler.joint.records import Flow, Path

Capacities = Mapping[tuple[str, str], float]
"""edge -> what it lets through; infinite for edges that no cut may cross"""

_Room = dict[str, dict[str, float]]


def max_flow(capacities: Capacities, source: str, sink: str) -> Flow:
    """Send as much as possible from the source to the sink, shortest ways first.

    Each path uses up the room of its narrowest edge, and makes as much room in the other
    direction, so that a later path may take an earlier decision back. When no way is left, the
    edges into the part from which the sink can still be reached are full: they are the cheapest
    cut, since every flow has to cross them.

    Args:
        capacities: of a graph with at least one way from the source to the sink; not modified.
        source: where the flow begins.
        sink: where it ends.

    Returns:
        The flow and the cut; of several cheapest cuts, the one nearest the sink.

    Raises:
        ValueError: a way from the source to the sink has no finite edge, so that no cut exists.

    Source:
        Edmonds and Karp 1972, doi:10.1145/321694.321699.
    """
    room: _Room = {}
    for (start, end), capacity in capacities.items():
        room.setdefault(start, {})[end] = capacity
        room.setdefault(end, {}).setdefault(start, 0)
    paths = []
    while (nodes := _shortest_way(room, source, sink)) is not None:
        amount = min(room[start][end] for start, end in pairwise(nodes))
        if amount == inf:
            raise ValueError(
                f"max_flow: the way {' -> '.join(nodes)} has no finite edge, must have one (what "
                "can be neither saved nor computed again can't reach the backward pass); give one "
                "of its edges a finite capacity."
            )
        for start, end in pairwise(nodes):
            room[start][end] -= amount
            room[end][start] += amount
        paths.append(Path(nodes=nodes, amount=amount))
    near_sink = _that_reach(room, sink)
    cut = tuple((a, b) for a, b in capacities if a not in near_sink and b in near_sink)
    return Flow(amount=sum(path.amount for path in paths), paths=tuple(paths), cut=cut)


def _shortest_way(room: _Room, source: str, sink: str) -> tuple[str, ...] | None:
    """Find a way with room on each edge, and as few edges as possible; None if there is none."""
    came_from = {source: source}
    waiting = deque([source])
    while waiting and sink not in came_from:
        node = waiting.popleft()
        for neighbour, left in room[node].items():
            if left > 0 and neighbour not in came_from:
                came_from[neighbour] = node
                waiting.append(neighbour)
    if sink not in came_from:
        return None
    way = [sink]
    while way[-1] != source:
        way.append(came_from[way[-1]])
    return tuple(reversed(way))


def _that_reach(room: _Room, sink: str) -> set[str]:
    """Collect the nodes from which there is still a way to the sink."""
    found = {sink}
    waiting = deque([sink])
    while waiting:
        node = waiting.popleft()
        for neighbour in room[node]:  # every edge has its opposite in `room`
            if room[neighbour][node] > 0 and neighbour not in found:
                found.add(neighbour)
                waiting.append(neighbour)
    return found
