"""Read Dynamo's reason for a recompilation: whose guard failed, about what, and on which value.

The wordings are those of torch 2.13. One that isn't known keeps its text, as kind "other".
"""

from __future__ import annotations

import re

from fuseshard.compiler.recompiles.records import GuardFailure, Kind
from fuseshard.compiler.text import clean

_COMPILE_ID = re.compile(r"^\S*?/(\d+)(?:_\d+)?: ")
# After the guard itself: the line of code that it comes from, a hint, the user's stack.
_COMMENT = re.compile(r"\s+# |\s{2,}|\n| \(HINT: |\. Guard failed on a parameter")

_PATTERNS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    (
        "size",
        re.compile(
            r"tensor '(?P<subject>.+)' size mismatch at index (?P<dim>\d+)\. "
            r"expected (?P<expected>\S+), actual (?P<actual>\S+)"
        ),
    ),
    (
        "stride",
        re.compile(
            r"tensor '(?P<subject>.+)' stride mismatch at index (?P<dim>\d+)\. "
            r"expected (?P<expected>\S+), actual (?P<actual>\S+)"
        ),
    ),
    (
        "rank",
        re.compile(
            r"tensor '(?P<subject>.+)' rank mismatch\. expected (?P<expected>\S+), "
            r"actual (?P<actual>\S+)"
        ),
    ),
    (
        "dtype",
        re.compile(
            r"tensor '(?P<subject>.+)' dtype mismatch\. expected (?P<expected>\S+), "
            r"actual (?P<actual>\S+)"
        ),
    ),
    (
        "requires_grad",
        re.compile(
            r"tensor '(?P<subject>.+)' requires_grad mismatch\. "
            r"expected requires_grad=(?P<expected>\d)"
        ),
    ),
    ("state", re.compile(r"GLOBAL_STATE changed: (?P<subject>\w+)")),
    ("alias", re.compile(r"Duplicate tensors found: \[(?P<subject>.*)\]")),
    ("alias", re.compile(r"(?P<subject>\S+ is (?:not )?\S+)$")),
    ("length", re.compile(r"(?P<subject>len\(.+\)) == (?P<expected>\d+)$")),
    ("type", re.compile(r"___check_type_id\((?P<subject>.+?), ")),
    ("shape", re.compile(r"(?P<subject>.*\.(?:size|stride)\(\)\[\d+\].*)")),
    ("value", re.compile(r"(?P<subject>.+?) == (?P<expected>.+)$")),
)


def failure(reason: str) -> GuardFailure:
    """Take a reason apart.

    Args:
        reason: as Dynamo gives it, e.g. "0/1: tensor 'x' size mismatch at index 0. expected 5,
            actual 7": compile id (the entry is its last number), then the guard.

    Raises:
        ValueError: the reason doesn't begin with a compile id.
    """
    found = _COMPILE_ID.match(reason)
    if found is None:
        raise ValueError(
            f"failure: got {reason!r}, must begin with a compile id such as '0/1: ' (the entry is "
            "read from it); the wording of torch has changed, read it and correct the pattern."
        )
    entry, guard = int(found[1]), guard_text(reason[found.end() :])
    for kind, pattern in _PATTERNS:
        match = pattern.match(guard)
        if match:
            parts = match.groupdict()
            dim = parts.get("dim")
            return GuardFailure(
                entry=entry,
                guard=guard,
                kind=kind,
                subject=parts["subject"],
                dim=None if dim is None else int(dim),
                expected=parts.get("expected"),
                actual=parts.get("actual"),
            )
    return GuardFailure(entry=entry, guard=guard, kind="other", subject=guard)


def guard_text(text: str) -> str:
    """Keep of a guard's description the guard, without comment, hint, stack and object ids.

    Args:
        text: one guard as Dynamo prints it.
    """
    return clean(_COMMENT.split(text.strip(), maxsplit=1)[0]).strip()
