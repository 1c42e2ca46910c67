"""Rebuild records from JSON, and say which field of which file doesn't fit."""

import math
import types
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

R = TypeVar("R")


class RecordError(ValueError):
    """Data that doesn't fit its record; the message names the place, the value and the rule."""


def read(kind: type[R], data: object, where: str) -> R:
    """Rebuild a record of type `kind` from what JSON holds.

    Args:
        kind: a dataclass whose fields are dataclasses, str, int, float, bool, Literal, `X | None`,
            `X | Y` of dataclasses whose fields have different names, `tuple[X, ...]`,
            `dict[str, X]`, complex for any number or truth value, or object for data that is
            checked later.
        data: what `json.loads` returned.
        where: name of the file, and the place in it, for the error message.

    Returns:
        The record.

    Raises:
        RecordError: a field is missing, unknown, of the wrong type or breaks the record's rules.
    """
    return cast(R, _value(kind, data, where))


def _value(kind: Any, data: object, where: str) -> Any:
    if kind is object:
        return data
    origin, options = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        is_missing = data is None and type(None) in options
        return None if is_missing else _value(_option(options, data), data, where)
    if origin is Literal:
        if data not in options:
            raise _error(where, data, "one of " + ", ".join(map(repr, options)))
        return data
    if origin is tuple:
        return tuple(
            _value(options[0], item, f"{where}[{index}]")
            for index, item in enumerate(_expect(list, data, where, "a list"))
        )
    if origin is dict:
        return {
            key: _value(options[1], item, f"{where}[{key!r}]")
            for key, item in _expect(dict, data, where, "an object").items()
        }
    return _record(kind, data, where) if is_dataclass(kind) else _scalar(kind, data, where)


def _record(kind: Any, data: object, where: str) -> Any:
    entries = _expect(dict, data, where, f"an object with the fields of {kind.__name__}")
    hints = get_type_hints(kind)
    known = {field.name: field for field in fields(kind)}
    for name in entries:
        if name not in known:
            raise _error(f"{where}.{name}", entries[name], f"no such field in {kind.__name__}")
    values = {}
    for name, field in known.items():
        if name in entries:
            values[name] = _value(hints[name], entries[name], f"{where}.{name}")
        elif field.default is MISSING and field.default_factory is MISSING:
            raise RecordError(f"{where}.{name}: got nothing, required by {kind.__name__}")
    try:
        return kind(**values)
    except ValueError as error:
        raise RecordError(f"{where}: {error}") from error


def _scalar(kind: Any, data: object, where: str) -> Any:
    is_number = isinstance(data, int | float) and not isinstance(data, bool)
    if kind is float and is_number and _is_finite(cast(float, data)):
        return float(cast(float, data))
    if kind is int and is_number and isinstance(data, int):
        return data
    if kind in (str, bool) and isinstance(data, kind):
        return data
    if kind is complex and isinstance(data, int | float):
        return data
    required = {
        float: "a finite number",
        int: "a whole number",
        str: "text",
        bool: "true or false",
        complex: "a number",
    }
    if kind not in required:
        raise TypeError(f"schema: got a field of type {kind}, which read doesn't know")
    raise _error(where, data, required[kind])


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # a whole number beyond what a float can hold
        return False


def _option(options: tuple[Any, ...], data: object) -> Any:
    """Pick the type that data is meant to have: of several records, by the names of its fields."""
    kinds = [option for option in options if option is not type(None)]
    names = set(data) if isinstance(data, dict) else set()
    return max(kinds, key=lambda kind: len(names & _field_names(kind)))


def _field_names(kind: Any) -> set[str]:
    return {field.name for field in fields(kind)} if is_dataclass(kind) else set()


def _expect(kind: type[R], data: object, where: str, required: str) -> R:
    if not isinstance(data, kind):
        raise _error(where, data, required)
    return data


def _error(where: str, data: object, required: str) -> RecordError:
    shown = repr(data)
    if len(shown) > 60:
        shown = shown[:57] + "..."
    return RecordError(f"{where}: got {shown} ({type(data).__name__}), required {required}")
