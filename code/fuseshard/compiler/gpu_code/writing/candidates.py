"""What max-autotune would time, and a choice that needs no clock."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

# Private, checked on torch 2.11 and 2.13: Inductor's own hook for lists of candidates, the class
# of those that call a library, and the one that numbers the others.
from torch._inductor import select_algorithm
from torch._inductor.select_algorithm import ExternKernelCaller, TritonTemplate

from fuseshard.compiler.gpu_code.records import Candidates
from fuseshard.compiler.gpu_code.writing.errors import UnsupportedProgramError


class Chooser:
    """Chooses among candidates by name, so that Inductor has nothing left to time.

    Args:
        wanted: name of a candidate; None, and where it isn't offered, means the library call.
    """

    def __init__(self, wanted: str | None) -> None:
        """Start with nothing offered."""
        self._wanted = wanted
        self._offered: list[Candidates] = []
        self._all: list[Candidates] = []

    def choose(self, choices: list[Any]) -> list[Any]:
        """Take Inductor's candidates for one call and return the only one that it may use.

        Args:
            choices: Inductor's, in its order; not modified.
        """
        chosen = next((choice for choice in choices if choice.name == self._wanted), None)
        if chosen is None:
            libraries = (c for c in choices if isinstance(c, ExternKernelCaller))
            chosen = next(libraries, choices[0] if choices else None)
        if len(choices) > 1:  # alone, a candidate isn't timed
            self._offered.append(_candidates(choices, chosen))
        return [] if chosen is None else [chosen]

    def taken(self) -> tuple[Candidates, ...]:
        """Return the lists offered since the last call."""
        offered, self._offered = tuple(self._offered), []
        self._all += offered
        return offered

    def require_wanted(self) -> None:
        """Refuse a name that no list held.

        Raises:
            UnsupportedProgramError: nothing of that name was offered.
        """
        names = list(dict.fromkeys(name for lists in self._all for name in lists.names))
        if self._wanted is None or self._wanted in names:
            return
        offered = (
            f"must be one of {names}"
            if names
            else "and nothing was offered (only max-autotune makes candidates, and only of matrix "
            'products and convolutions); pass mode="max-autotune-no-cudagraphs"'
        )
        raise UnsupportedProgramError(
            f"write: choose is {self._wanted!r}, {offered}, or None for the library call."
        )


@contextmanager
def choosing(chooser: Chooser) -> Iterator[None]:
    """Have a chooser asked instead of the clock while the block runs.

    Triton's candidates are numbered from 0. Inductor counts all that a process ever made, so a
    program's candidates would have other names the second time, and none could be asked for.
    """
    before = TritonTemplate.index_counter
    TritonTemplate.index_counter = itertools.count()
    select_algorithm.add_preprocessing_fn(chooser.choose)
    try:
        yield
    finally:
        select_algorithm.clear_preprocessing_fns()
        TritonTemplate.index_counter = before


def _candidates(choices: Sequence[Any], chosen: Any) -> Candidates:
    return Candidates(
        names=tuple(choice.name for choice in choices),
        descriptions=tuple(getattr(choice, "description", "") for choice in choices),
        chosen=chosen.name,
    )
