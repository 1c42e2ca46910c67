"""All rooms of the lab, and a tour through one."""

from collections.abc import Mapping

from fuseshard.distributed.lab import absent, calls, replicas, shards
from fuseshard.distributed.lab.exhibit import Exhibit, visit
from fuseshard.distributed.lab.records import Room, Specimen

ROOMS: Mapping[Room, tuple[Exhibit, ...]] = {
    "calls": calls.EXHIBITS,
    "absent": absent.EXHIBITS,
    "replicas": replicas.EXHIBITS,
    "shards": shards.EXHIBITS,
}
"""room -> what stands in it"""


def tour(room: Room) -> tuple[Specimen, ...]:
    """Visit every exhibit of a room; takes seconds, since some wait for a time limit.

    Args:
        room: one of ROOMS.

    Raises:
        ValueError: there is no such room.
    """
    if room not in ROOMS:
        raise ValueError(f"tour: room is {room!r}, required is one of {', '.join(ROOMS)}")
    return tuple(visit(exhibit, room) for exhibit in ROOMS[room])


def find(specimens: tuple[Specimen, ...], name: str) -> Specimen:
    """Return the exhibit of a name.

    Args:
        specimens: from `tour`.
        name: e.g. "other-order".

    Raises:
        KeyError: there is no such exhibit.
    """
    for specimen in specimens:
        if specimen.name == name:
            return specimen
    known = ", ".join(specimen.name for specimen in specimens)
    raise KeyError(f"no exhibit {name!r}; there are {known}")
