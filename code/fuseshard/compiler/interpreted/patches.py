"""Replacing names of other modules, and putting the old ones back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


class _Missing:
    """Stands for a name that the owner didn't have."""


@dataclass(frozen=True)
class Patch:
    """One name of a module or class, and what it shall mean."""

    owner: Any
    name: str
    value: Any


def put_in(patches: Sequence[Patch]) -> Callable[[], None]:
    """Give every patched name its new meaning.

    Args:
        patches: in order; of two for the same name the later one holds.

    Returns:
        A function that puts all of them back as they were.
    """
    # The owner's own dictionary: what a class inherits must not become its own when put back.
    before = [(p.owner, p.name, vars(p.owner).get(p.name, _Missing)) for p in patches]
    for patch in patches:
        setattr(patch.owner, patch.name, patch.value)

    def put_back() -> None:
        for owner, name, value in reversed(before):
            if value is _Missing:
                delattr(owner, name)
            else:
                setattr(owner, name, value)

    return put_back
