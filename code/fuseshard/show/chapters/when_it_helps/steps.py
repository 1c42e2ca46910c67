"""Step through the code that Inductor writes as its switches are turned on, one by one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fuseshard.compiler.ledger.account import name_of
from fuseshard.compiler.ledger.records import EAGER, Ledger
from fuseshard.show.choices import Choice, choose
from fuseshard.show.numbers import duration, factor
from fuseshard.show.records import Source
from fuseshard.show.sources import Anchor, annotated_source, on
from fuseshard.show.words import Word, word

LOOPS_SHOWN = 2
"""of the loops of an unfused kernel; the others are like them"""


def stepper(made: Ledger) -> Choice:
    """Show the C++ of one state after the other, with its time in the caption.

    Args:
        made: by `switches.ledger`.
    """
    states: list[tuple[Word, frozenset[str]]] = [
        (word("plain loops"), frozenset()),
        (word("with vectors"), frozenset({"vectors"})),
        (word("with vectors and fusion"), frozenset({"vectors", "fusion"})),
    ]
    options = [
        (label, _source(made, on_now, index)) for index, (label, on_now) in enumerate(states)
    ]
    return choose("ledger-steps", word("Switched on"), options, control="slider")


def excerpt(code: str, loops: int = LOOPS_SHOWN) -> str:
    """Cut a kernel down to its first loops, and say in a comment how many follow.

    Args:
        code: C++ that Inductor wrote.
        loops: how many to keep.

    Raises:
        ValueError: there is no loop.
    """
    lines = code.splitlines()
    starts = [i for i, line in enumerate(lines) if re.match(r"\s*for ?\(int64_t", line)]
    if not starts:
        raise ValueError(
            "excerpt: the code has no loop, must have one (there would be nothing to show); pass "
            "the C++ of a kernel."
        )
    shown = [line for start in starts[:loops] for line in _block(lines[start:])]
    rest = len(starts) - loops
    return "\n".join(shown) + (f"\n// {rest} more loops" if rest > 0 else "")


def _block(lines: Sequence[str]) -> list[str]:
    """Take the loop that begins on the first line, to the brace that closes it, indented by 2."""
    margin, depth, taken = len(lines[0]) - len(lines[0].lstrip()), 0, []
    for line in lines:
        text = line[margin:]
        taken.append(" " * ((len(text) - len(text.lstrip())) // 2) + text.lstrip())
        depth += line.count("{") - line.count("}")
        if depth == 0 and len(taken) > 1:
            break
    return taken


def _source(made: Ledger, on_now: frozenset[str], index: int) -> Source:
    timing = made.comparison[name_of(on_now)]
    return annotated_source(
        f"ledger-step-{index}",
        word(
            "{time} a call, {ratio} of eager mode's time",
            time=duration(timing.median_s),
            ratio=factor(timing.median_s / made.comparison[EAGER].median_s),
        ),
        excerpt(made.code(on_now)),
        language="cpp",
        notes=_notes(on_now),
        folded=False,
    )


def _notes(on_now: frozenset[str]) -> list[Anchor]:
    """Explain what the state shows; a pattern that is missing fails the build."""
    if "vectors" not in on_now:
        return [
            on(r"^for", word("One number at a step, and a loop for each operation.")),
            on(r"out_ptr\w*\[", word("Its result goes to memory; the next loop reads it back.")),
        ]
    step = on(r"Vectorized<float>::loadu", word("One vector register is loaded at a step."))
    if "fusion" not in on_now:
        return [step, on(r"\.store\(", word("Its result goes to memory all the same."))]
    stored = word("The only store: everything between stayed in registers.")
    return [step, on(r"\.store\(", stored)]
