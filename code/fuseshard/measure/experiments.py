"""Measurements with a name: live where the machine has what they need, recorded elsewhere.

A page calls an experiment and shows what comes back; it needn't know which of the two it was.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, get_args, get_type_hints

import torch

from fuseshard.measure.provenance import environment
from fuseshard.measure.recordings import (
    RECORDINGS_FOLDER,
    Entry,
    Failure,
    entry_of,
    last_failure,
    newest,
    result_of,
)
from fuseshard.measure.records import Origin

R = TypeVar("R")

Needs = Literal["cpu", "cuda"]

State = Literal["live", "recorded", "not recorded yet"]


class NotRecordedError(LookupError):
    """This machine can't run the experiment, and no other has recorded it."""


@dataclass(frozen=True, kw_only=True)
class Outcome(Generic[R]):
    """What an experiment yields, here and now."""

    experiment_id: str
    state: State
    note: str
    """where the result comes from, or how to get one; English, one sentence."""
    available: R | None
    """the result; None if it isn't recorded yet."""
    failure: str | None = None
    """why the last attempt to record it yielded nothing, where one did; GPU and reason."""

    @property
    def result(self) -> R:
        """The result, for code that can't go on without one.

        Raises:
            NotRecordedError: there is none; the message says how to record it.
        """
        if self.available is None:
            raise NotRecordedError(self.note)
        return self.available


@dataclass(frozen=True)
class Experiment(Generic[R]):
    """A named measurement; calling it runs it live or reads its recording."""

    id: str
    needs: Needs
    function: Callable[[], R]
    result_type: type[R]
    processes: int = 1
    """in which a recording repeats it, each with a result of its own; see `measure.pooling`"""

    def can_run(self) -> bool:
        """Return whether this machine has what the experiment needs."""
        return self.needs == "cpu" or torch.cuda.is_available()

    def run(self) -> R:
        """Measure now, and mark the result as live."""
        result: Any = self.function()
        if result.origin is None:
            result = replace(result, origin=Origin(is_live=True, environment=environment()))
        return result

    def record(self) -> Entry:
        """Measure now, and return what a recording keeps of it."""
        result: Any = self.run()
        return entry_of(result, result.origin.environment)

    def __call__(self, folder: Path = RECORDINGS_FOLDER) -> Outcome[R]:
        """Measure where this machine can, otherwise take the newest recording.

        Args:
            folder: where recordings are.

        Returns:
            The outcome, also when there is nothing to show: a page says so, and still builds.

        Raises:
            RecordError: a recording doesn't fit; the message names file and field.
        """
        if self.can_run():
            note = "Measured on this machine while the page was built."
            return Outcome(experiment_id=self.id, state="live", note=note, available=self.run())
        found = newest(self.id, folder)
        if found is None:
            return self._not_recorded(last_failure(self.id, folder))
        name, entry = found
        result = result_of(self.result_type, entry, f"{name}: entries[{self.id!r}]")
        where = entry.environment.gpu or entry.environment.cpu
        note = f"Recorded on {where}, {entry.environment.date_utc}."
        return Outcome(experiment_id=self.id, state="recorded", note=note, available=result)

    def _not_recorded(self, failed: Failure | None) -> Outcome[R]:
        """Say how to get a result, and what came of the last attempt."""
        failure = f"{failed.environment.gpu}: {failed.reason}" if failed else None
        return Outcome(
            experiment_id=self.id,
            state="not recorded yet",
            note=f"{self.id} needs a CUDA GPU and has not been recorded yet; on a machine with "
            f"one, run `python -m fuseshard record --only {self.id}`."
            + (f" The last attempt failed: {failure}" if failure else ""),
            available=None,
            failure=failure,
        )


_REGISTRY: dict[str, Experiment[Any]] = {}

_ID = re.compile(r"[a-z0-9]+([.-][a-z0-9]+)*")


def experiment(
    experiment_id: str, *, needs: Needs, processes: int = 1
) -> Callable[[Callable[[], R]], Experiment[R]]:
    """Make a function without arguments an experiment, and enter it in the registry.

    Args:
        experiment_id: its name for ever: recordings are found by it. Words joined by "." and "-".
        needs: what a machine must have to run it live.
        processes: how many of them a recording repeats it in; 5 or more for what the host limits.

    Returns:
        The decorator. The function's return annotation, a dataclass with a field `origin`, says
        how recordings are read.

    Raises:
        ValueError: an id of another form or that is taken, unknown `needs`, fewer than one
            process, or an unusable return annotation.
    """
    if not _ID.fullmatch(experiment_id):
        raise ValueError(
            f"experiment {experiment_id!r}: the id must be lower-case words joined by '.' and '-', "
            "such as 'inductor.size-sweep' (it is typed on the command line)."
        )
    if needs not in get_args(Needs):
        raise ValueError(
            f"experiment {experiment_id!r}: needs is {needs!r}, must be one of {get_args(Needs)}."
        )
    if processes < 1:
        raise ValueError(
            f"experiment {experiment_id!r}: processes is {processes}, must be at least 1 (each "
            "yields one result); leave it out for one."
        )

    def enter(function: Callable[[], R]) -> Experiment[R]:
        result_type: Any = get_type_hints(function).get("return")
        if not _is_record(result_type):
            raise ValueError(
                f"experiment {experiment_id!r}: {function.__name__} returns {result_type}, must "
                "be annotated with a dataclass that has the field `origin: Origin | None`."
            )
        made = Experiment(experiment_id, needs, function, result_type, processes)
        _enter(made)
        return made

    return enter


def registered() -> tuple[Experiment[Any], ...]:
    """Return the experiments of all modules imported so far, in the order of their ids."""
    return tuple(_REGISTRY[name] for name in sorted(_REGISTRY))


def _is_record(kind: object) -> bool:
    return (
        isinstance(kind, type)
        and is_dataclass(kind)
        and any(field.name == "origin" for field in fields(kind))
    )


def _enter(made: Experiment[Any]) -> None:
    other = _REGISTRY.get(made.id)
    # The same function again is a cell that was run twice, or a module that was reloaded.
    if other is not None and _name(other) != _name(made):
        raise ValueError(
            f"experiment {made.id!r}: the id is taken by {_name(other)}, got {_name(made)}; ids "
            "must differ because recordings are found by them."
        )
    _REGISTRY[made.id] = made


def _name(entered: Experiment[Any]) -> str:
    return f"{entered.function.__module__}.{entered.function.__qualname__}"
