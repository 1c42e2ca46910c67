"""Measurements with a name: live where the machine has what they need, recorded elsewhere.

A page calls an experiment and shows what comes back; it needn't know which of the two it was.
A second machine's result comes with it where there is one: a reader's own recording, or the
book's where the reader's machine measures live.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, get_args, get_type_hints

import torch

from fuseshard.measure import reader
from fuseshard.measure.provenance import environment
from fuseshard.measure.recordings import (
    RECORDINGS_FOLDER,
    Entry,
    Failure,
    entry_of,
    last_failure,
    load,
    machine_name,
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
    beside: R | None = None
    """another machine's result, to be shown beside the first; its origin says whose it is."""
    recording: R | None = None
    """the book's own recording, whatever is shown, for prose that speaks of one card."""
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

        A second machine's result comes beside it: without a GPU the reader's, on a GPU the
        reader's if it is of another machine, else the book's.

        Args:
            folder: where the book's recordings are.

        Returns:
            The outcome, also when there is nothing to show: a page says so, and still builds.

        Raises:
            RecordError: a recording doesn't fit; the message names file and field.
        """
        ours = self._read(newest(self.id, folder))
        readers = self._read(reader.entry_of_reader(self.id), reader.MEND)
        if readers == ours:  # the book's own file, named by the reader
            readers = None
        if self.can_run():
            note = "Measured on this machine while the page was built."
            live = self.run()
            return self._outcome("live", note, (live, _second(live, readers, ours)), ours)
        first, second = (readers, None) if ours is None else (ours, readers)
        if first is None:
            return self._not_recorded(last_failure(self.id, folder))
        return self._outcome("recorded", f"Recorded on {_where(first)}.", (first, second), ours)

    def _read(self, found: tuple[str, Entry] | None, *mend: str) -> R | None:
        """Rebuild a recorded result."""
        if found is None:
            return None
        name, entry = found
        return result_of(self.result_type, entry, f"{name}: entries[{self.id!r}]", *mend)

    def _outcome(
        self, state: State, note: str, results: tuple[R, R | None], ours: R | None
    ) -> Outcome[R]:
        first, second = results
        return Outcome(
            experiment_id=self.id,
            state=state,
            note=note if second is None else f"{note} Beside it: {_where(second)}.",
            available=first,
            beside=second,
            recording=ours,
        )

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


def fitting(path: Path, mend: str) -> tuple[str, ...]:
    """Check a file's results against the experiments of all modules imported so far.

    Args:
        path: of recordings.
        mend: what to do about a result that doesn't fit; ends the error message.

    Returns:
        The ids of its results that belong to an experiment which needs a GPU: others run live
        everywhere.

    Raises:
        RecordError: a result doesn't fit its experiment; the message names file and field.
    """
    entries = load(path, mend).entries
    known = [item for item in registered() if item.id in entries]
    for item in known:
        item._read((path.name, entries[item.id]), mend)
    return tuple(item.id for item in known if item.needs == "cuda")


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


def _second(live: Any, readers: R | None, ours: R | None) -> R | None:
    """Choose what stands beside a live result: a reader's file of this very machine adds least."""
    if readers is not None and (_machine(readers) != _machine(live) or ours is None):
        return readers
    return ours


def _machine(result: Any) -> str:
    return machine_name(result.origin.environment)


def _where(result: Any) -> str:
    """Machine and date, as a note has them."""
    made = result.origin.environment
    return f"{made.gpu or made.cpu}, {made.date_utc}"


def _name(entered: Experiment[Any]) -> str:
    return f"{entered.function.__module__}.{entered.function.__qualname__}"
