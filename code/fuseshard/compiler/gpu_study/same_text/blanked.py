"""Two texts of Inductor's, without what differs between any two runs, compared. Torch-free."""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Iterator, Sequence

from fuseshard.compiler.gpu_study.same_text.records import CardKernel, SameText
from fuseshard.compiler.text import clean

BLANKS = {
    "kernel path": re.compile(r"^# kernel path: .*$", re.MULTILINE),
    "graph counter": re.compile(r"(?<=AOT ID: \[')\d+"),
    "hash of Triton's files": re.compile(r"(?<='backend_hash': )'[0-9A-Fa-f]+'"),
    "whether caches are used": re.compile(r"(?<='force_disable_caches': )\w+"),
    "address of a constant": re.compile(r"(?<== None  # )device.*$", re.MULTILINE),
    "name of who compiled": re.compile(r"(?<=compiled_module_main\(')[^']*"),
}
"""name -> pattern; what it matches is blanked. The first is where a file lies; the second counts
the graphs of a process; the third depends on Python's version as well; the fourth is a setting of
whoever runs the compiler; the fifth is where a tensor lies in memory; the sixth is the name of
the process's script, or of an experiment. None is read by a kernel."""

SHOWN = 12
"""lines of a difference that are kept"""
BEFORE, LONGEST = 60, 160
"""characters that a long line shows before the place where it differs, and in all"""


def blanked(text: str) -> str:
    """Blank what differs between two runs of Inductor on the same program.

    Args:
        text: a module that Inductor wrote.
    """
    text = clean(text)
    for pattern in BLANKS.values():
        text = pattern.sub("", text)
    return text


def compared(
    program: str,
    with_card: Sequence[str],
    without_card: Sequence[str],
    kernels: Sequence[CardKernel] = (),
) -> SameText:
    """Compare the modules that were written for one program.

    Args:
        program: its key.
        with_card: modules in the order in which they were written.
        without_card: the same, without the card.
        kernels: what was found on the card.
    """
    left = [line for text in with_card for line in blanked(text).splitlines()]
    right = [line for text in without_card for line in blanked(text).splitlines()]
    difference = list(_difference(left, right))
    return SameText(
        program=program,
        graphs=len(with_card),
        num_kernels=sum(text.count("async_compile.triton(") for text in with_card),
        is_identical=len(with_card) == len(without_card) and not difference,
        difference=tuple(difference[:SHOWN]),
        num_different=len(difference),
        kernels=tuple(kernels),
    )


def first_lines(left: str, right: str) -> tuple[str, ...]:
    """Return the first lines that only one of two texts has, cut as those of modules are.

    Args:
        left: the card's.
        right: the other's.

    Returns:
        At most `SHOWN` lines; none where the texts are the same, line by line.
    """
    return tuple(itertools.islice(_difference(left.splitlines(), right.splitlines()), SHOWN))


def _difference(left: Sequence[str], right: Sequence[str]) -> Iterator[str]:
    """List the lines that only one side has: "- " before the card's, "+ " before the other's."""
    for tag, a, b, c, d in difflib.SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        gone, new = left[a:b], right[c:d]
        for index, line in enumerate(gone):
            yield "- " + _shortened(line, new[index] if index < len(new) else "")
        for index, line in enumerate(new):
            yield "+ " + _shortened(line, gone[index] if index < len(gone) else "")


def _shortened(line: str, other: str) -> str:
    """Cut out of a long line the part around the first place where it differs from another."""
    if len(line) <= LONGEST:
        return line
    place = next((i for i, (x, y) in enumerate(zip(line, other, strict=False)) if x != y), 0)
    start = max(0, place - BEFORE)
    return ("… " if start else "") + line[start : start + LONGEST]
