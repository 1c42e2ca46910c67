"""The museum of graph breaks: rooms of exhibits, and a tour that runs them all."""

from collections.abc import Mapping

from fuseshard.compiler.breaks.exhibit import Exhibit, visit
from fuseshard.compiler.breaks.records import Specimen
from fuseshard.compiler.breaks.rooms import (
    control,
    effects,
    language,
    libraries,
    torch_calls,
    values,
    whole,
)

ROOMS: Mapping[str, tuple[Exhibit, ...]] = {
    "control": control.EXHIBITS,
    "values": values.EXHIBITS,
    "effects": effects.EXHIBITS,
    "libraries": libraries.EXHIBITS,
    "language": language.EXHIBITS,
    "torch": torch_calls.EXHIBITS,
    "whole": whole.EXHIBITS,
}
"""room -> what stands in it, in the order of the tour"""


def tour() -> tuple[Specimen, ...]:
    """Visit every exhibit, room by room."""
    return tuple(visit(exhibit, room) for room, exhibits in ROOMS.items() for exhibit in exhibits)


def find(specimens: tuple[Specimen, ...], name: str) -> Specimen:
    """Return the exhibit of a name.

    Args:
        specimens: from `tour`.
        name: e.g. "data-if".

    Raises:
        KeyError: there is no such exhibit.
    """
    for specimen in specimens:
        if specimen.name == name:
            return specimen
    known = ", ".join(specimen.name for specimen in specimens)
    raise KeyError(f"no exhibit {name!r}; there are {known}")
