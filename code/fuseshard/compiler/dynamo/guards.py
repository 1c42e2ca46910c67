"""The guards of a compiled function, one check a record, sorted by where its subject comes from."""

import re
from collections.abc import Callable
from types import CodeType, FunctionType, MethodType
from typing import Any

import torch

# Private, checked on torch 2.11 and 2.13: the compiled versions that hang on a code object.
from torch._dynamo.eval_frame import _debug_get_cache_entry_list

from fuseshard.compiler.dynamo.records import GuardLine, Origin
from fuseshard.compiler.isolate import isolated
from fuseshard.compiler.text import clean

_LINE = re.compile(r"^(?P<depth>(?:\| )*)\+- (?P<kind>\w+)(?:: (?P<rest>.*))?$")
_SUBJECT = re.compile(r"source=(?P<subject>.*?), accessed_by=")
_PLACE = re.compile(r"\s+# .*$")  # the line of the user's code, and of torch's


def guards_of(fn: Callable[..., Any], *args: Any) -> tuple[GuardLine, ...]:
    """Compile a function with no backend, call it once, and list the guards of that call.

    Args:
        fn: function to compile; a copy of it is compiled.
        args: its arguments; not modified unless `fn` modifies them.

    Returns:
        The checks in the order in which torch prints them.

    Raises:
        ValueError: nothing was compiled.
    """
    copy = isolated(fn)
    torch.compile(copy, backend="eager", dynamic=False)(*args)
    versions = version_guards(copy)
    if not versions:
        raise ValueError(
            f"guards_of: Dynamo compiled nothing of {getattr(fn, '__name__', fn)}, must compile a "
            "graph; pass a function that computes with tensors."
        )
    return parsed(versions[0], free_names=_code_of(copy).co_freevars)


def version_guards(fn: Callable[..., Any]) -> tuple[str, ...]:
    """Print the guards of every compiled version of a function, the one used last first.

    Args:
        fn: what was given to torch.compile.

    Returns:
        One text a version; none if nothing was compiled.
    """
    entries = _debug_get_cache_entry_list(_code_of(fn))
    return tuple(clean(str(entry.guard_manager)) for entry in entries)


def parsed(text: str, *, free_names: tuple[str, ...] = ()) -> tuple[GuardLine, ...]:
    """Read the checks out of a printed tree of guards.

    Args:
        text: one of `version_guards`.
        free_names: variables of the function's closure, which torch prints like arguments.

    Returns:
        Its leaves: the managers between them check nothing themselves.
    """
    subjects: dict[int, str] = {}
    lines = []
    for found in map(_LINE.match, text.splitlines()):
        if found is None:
            continue
        depth, kind, rest = len(found["depth"]), found["kind"], found["rest"] or ""
        if kind.endswith("GuardManager"):
            manager = _SUBJECT.search(rest)
            subjects[depth] = manager["subject"] if manager else ""
            continue
        subject = subjects.get(depth - 2, "") if depth else ""
        check = _PLACE.sub("", rest).strip()
        origin = _origin(subject or check, free_names)
        lines.append(GuardLine(kind=kind, subject=subject, check=check, origin=origin))
    return tuple(lines)


def _origin(subject: str, free_names: tuple[str, ...]) -> Origin:
    """Sort a subject: torch's own modules are its state, a dot leads into an object."""
    base = re.match(r"(?P<scope>[LG])\['(?P<name>\w+)'\](?P<inside>.*)", subject)
    if base is None or base["name"].startswith("__import_torch"):
        return "torch"
    if re.match(r"\.\w", base["inside"]) or base["inside"].startswith(".__dict__"):
        return "attribute"
    if base["scope"] == "G":
        return "global"
    return "closure" if base["name"] in free_names else "argument"


def _code_of(fn: Callable[..., Any]) -> CodeType:
    function = fn.__func__ if isinstance(fn, MethodType) else fn
    assert isinstance(function, FunctionType)
    return function.__code__
