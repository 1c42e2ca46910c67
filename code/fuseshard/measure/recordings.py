"""Results kept in JSON, one file a machine, for readers whose machine can't produce them.

Torch-free. A file: {"version": 1, "machine": ..., "entries": {experiment id: entry}, "failures":
{experiment id: failure}}.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from fuseshard.measure.records import Environment, Origin, to_json
from fuseshard.measure.schema import RecordError, read

R = TypeVar("R")

RECORDINGS_FOLDER = Path(__file__).parent.parent / "recordings"

MEND = "restore the file from git, or record again with `python -m fuseshard record`"

VERSION = 1


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One experiment's result as a file keeps it."""

    environment: Environment
    result: dict[str, object]
    """the experiment's result but its origin; `result_of` reads it, knowing the type."""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """An attempt that yielded no result."""

    environment: Environment
    reason: str
    """one line: the error's type and message, or that the time was over"""


@dataclass(frozen=True, kw_only=True)
class MachineFile:
    """Everything recorded on one machine."""

    version: int
    machine: str
    entries: dict[str, Entry]
    failures: dict[str, Failure] = field(default_factory=dict)
    """experiment id -> its last attempt, for experiments that failed since their last result"""


def machine_name(environment: Environment) -> str:
    """Return a machine's name for its file: the GPU's where there is one, else the CPU's.

    Args:
        environment: where the results were measured.

    Returns:
        Lower-case words joined by hyphens, such as "nvidia-h200".
    """
    model = environment.gpu or environment.cpu
    return re.sub(r"[^a-z0-9]+", "-", model.lower()).strip("-")


def load(path: Path, mend: str = MEND) -> MachineFile:
    """Read one machine's file and check it.

    Args:
        path: the JSON file.
        mend: what to do about a file that doesn't fit; ends the error message.

    Returns:
        Its content; results stay plain data, because only their experiment knows their type.

    Raises:
        RecordError: the file isn't JSON or doesn't fit; the message names file and field.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise RecordError(f"{path.name}: not JSON that can be read: {error}; {mend}") from error
    version = data.get("version", VERSION) if isinstance(data, dict) else VERSION
    if version != VERSION:  # looked at first: another version may have other fields
        raise RecordError(f"{path.name}: got version {version}, required {VERSION}; {mend}")
    return _read(MachineFile, data, path.name, mend)


def load_all(folder: Path = RECORDINGS_FOLDER) -> dict[str, MachineFile]:
    """Read every machine's file.

    Args:
        folder: where the files are.

    Returns:
        File name -> content, in the order of the names.

    Raises:
        RecordError: one of them doesn't fit.
    """
    return {path.name: load(path) for path in sorted(folder.glob("*.json"))}


def newest(experiment_id: str, folder: Path = RECORDINGS_FOLDER) -> tuple[str, Entry] | None:
    """Return the latest recording of an experiment.

    Args:
        experiment_id: which one.
        folder: where the files are.

    Returns:
        File name and entry; None when no machine recorded it.

    Raises:
        RecordError: a file doesn't fit.
    """
    found = [
        (name, machine.entries[experiment_id])
        for name, machine in load_all(folder).items()
        if experiment_id in machine.entries
    ]
    return max(found, key=lambda item: item[1].environment.date_utc, default=None)


def last_failure(experiment_id: str, folder: Path = RECORDINGS_FOLDER) -> Failure | None:
    """Return the latest attempt at an experiment that failed.

    Args:
        experiment_id: which one.
        folder: where the files are.

    Returns:
        None when no attempt has failed since a result was kept.

    Raises:
        RecordError: a file doesn't fit.
    """
    found = [
        machine.failures[experiment_id]
        for machine in load_all(folder).values()
        if experiment_id in machine.failures
    ]
    return max(found, key=lambda failure: failure.environment.date_utc, default=None)


def result_of(kind: type[R], entry: Entry, where: str, mend: str = MEND) -> R:
    """Rebuild the result of an entry, with its origin marked as recorded.

    Args:
        kind: the experiment's result type, a dataclass with the field `origin`.
        entry: what the file holds.
        where: file and experiment, for the error message.
        mend: what to do about a result that doesn't fit; ends the error message.

    Returns:
        The result.

    Raises:
        RecordError: the result doesn't fit its type; the message names file and field.
    """
    origin = to_json(Origin(is_live=False, environment=entry.environment))
    return _read(kind, {**_as_recorded(entry.result), "origin": origin}, f"{where}.result", mend)


def _read(kind: type[R], data: object, where: str, mend: str) -> R:
    try:
        return read(kind, data, where)
    except RecordError as error:
        raise RecordError(f"{error}; {mend}") from None


def entry_of(result: Any, environment: Environment) -> Entry:
    """Make the entry that a file keeps of a result.

    Args:
        result: what the experiment returned, a dataclass with the field `origin`.
        environment: where it was measured.

    Returns:
        The entry; the environment takes the place of the result's own origin.
    """
    fields = to_json(result)
    del fields["origin"]
    return Entry(environment=environment, result=_as_recorded(fields))


def save(
    path: Path,
    machine: str,
    entries: dict[str, Entry],
    *,
    failures: Mapping[str, Failure] | None = None,
) -> MachineFile:
    """Merge entries into a machine's file: new ones replace old ones, the rest stays.

    Args:
        path: the JSON file; made when missing, replaced in one step when there.
        machine: its name.
        entries: experiment id -> entry; an earlier failure of the same experiment is forgotten.
        failures: experiment id -> failure; an earlier result of the same experiment stays.

    Returns:
        What the file now holds.

    Raises:
        RecordError: the old file doesn't fit; it is left alone.
        ValueError: the old file belongs to another machine.
    """
    kept = _kept(path, machine)
    failed = {name: kept.failures[name] for name in kept.failures if name not in entries}
    content = MachineFile(
        version=VERSION,
        machine=machine,
        entries=dict(sorted({**kept.entries, **entries}.items())),
        failures=dict(sorted({**failed, **(failures or {})}.items())),
    )
    partial = path.with_suffix(".partial")
    text = json.dumps(to_json(content), indent=1, ensure_ascii=False, allow_nan=False)
    partial.write_text(text + "\n", encoding="utf-8")
    partial.replace(path)
    return content


def check_target(path: Path, machine: str) -> None:
    """Refuse a file that `save` couldn't write, before minutes are spent on measuring.

    Args:
        path: the JSON file, which needn't exist.
        machine: its name.

    Raises:
        RecordError: the file is there and doesn't fit.
        ValueError: it belongs to another machine.
        OSError: it is a folder, or its folder is missing or can't be written to.
    """
    _kept(path, machine)
    partial = path.with_suffix(".partial")
    partial.touch()
    partial.unlink()


def _kept(path: Path, machine: str) -> MachineFile:
    """What a machine's file holds; nothing where there is no file."""
    if not path.exists():
        return MachineFile(version=VERSION, machine=machine, entries={})
    kept = load(path)
    if kept.machine != machine:
        raise ValueError(
            f"{path.name}: got results of {machine!r}, the file holds those of {kept.machine!r}; "
            "one file a machine, so choose another --out."
        )
    return kept


def _as_recorded(value: Any) -> Any:
    """The same data, with every origin inside it marked as recorded: parts of a result, too."""
    if isinstance(value, list):
        return [_as_recorded(item) for item in value]
    if not isinstance(value, dict):
        return value
    marked = {key: _as_recorded(item) for key, item in value.items()}
    return {**marked, "is_live": False} if "is_live" in marked else marked
