"""Put something else in an object's place for a while, and put back exactly what was there."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_ABSENT = object()


@contextmanager
def attributes(owner: Any, **values: object) -> Iterator[None]:
    """Set attributes while the block runs.

    What is put back is what the owner itself held: a static method as such and not the function
    in it, and nothing at all where the attribute was inherited or absent.

    Args:
        owner: a module, a class or another object with a `__dict__`; as before afterwards.
        values: attribute -> value.
    """
    before = {name: vars(owner).get(name, _ABSENT) for name in values}
    try:
        for name, value in values.items():
            setattr(owner, name, value)
        yield
    finally:
        for name, value in before.items():
            if value is not _ABSENT:
                setattr(owner, name, value)
            elif name in vars(owner):
                delattr(owner, name)


@contextmanager
def entry(table: dict[Any, Any], key: object, value: object) -> Iterator[None]:
    """Set one entry of a dictionary while the block runs.

    Args:
        table: as before afterwards, up to the order of its keys.
        key: of the entry.
        value: of the entry.
    """
    before = table.get(key, _ABSENT)
    table[key] = value
    try:
        yield
    finally:
        if before is _ABSENT:
            del table[key]
        else:
            table[key] = before
