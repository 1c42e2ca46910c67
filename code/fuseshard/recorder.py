"""Run experiments one after another, each in a process of its own, and keep what they yield.

A process of its own starts with empty caches and cool clocks, and a GPU that one experiment left
unusable is usable again for the next.
"""

import re
import sys
import tempfile
import timeit
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fuseshard.measure import experiments, recordings
from fuseshard.measure.commands import run
from fuseshard.measure.pooling import pool
from fuseshard.measure.provenance import environment
from fuseshard.measure.records import Environment
from fuseshard.measure.schema import RecordError

TIMEOUT_S = 900.0
"""seconds for one experiment; the longest takes a third of it on an H200"""

REASON_LENGTH = 300

Command = Callable[[str, Path], Sequence[str]]
"""experiment id and file -> the command that measures it and writes the file"""


@dataclass(frozen=True, kw_only=True)
class Target:
    """The file that results are merged into."""

    path: Path
    machine: str
    commit: str | None
    """the book's commit, where the files came without git"""


def measure_here(experiment_id: str, target: Target) -> None:
    """Measure one experiment in this process and keep its result.

    Args:
        experiment_id: a registered one that can run here.
        target: where the result goes.

    Raises:
        Exception: whatever the experiment raises; nothing is written then.
    """
    known = {item.id: item for item in experiments.registered()}
    entry = known[experiment_id].record()
    if target.commit is not None:
        entry = replace(entry, environment=replace(entry.environment, commit=target.commit))
    recordings.save(target.path, target.machine, {experiment_id: entry})


def measure_all(
    experiment_ids: Iterable[str],
    target: Target,
    *,
    command: Command,
    say: Callable[[str], None],
    timeout_s: float = TIMEOUT_S,
) -> int:
    """Measure experiments in processes of their own; one that fails doesn't stop the others.

    Each result is kept as soon as it is there, so an interrupt loses only the one under way.

    Args:
        experiment_ids: in this order.
        target: where results go, failures too.
        command: starts the process of one experiment.
        say: gets one line before and one after each experiment.
        timeout_s: seconds after which an experiment is stopped and has failed.

    Returns:
        How many yielded a result.
    """
    num_recorded = 0
    for experiment_id in experiment_ids:
        say(f"{experiment_id}: measuring ...")
        begin_s = timeit.default_timer()
        reason = _measure_apart(
            experiment_id, target, command=command, say=say, timeout_s=timeout_s
        )
        elapsed_s = timeit.default_timer() - begin_s
        if reason is None:
            num_recorded += 1
            say(f"{experiment_id}: recorded after {elapsed_s:.0f} s")
            continue
        failure = recordings.Failure(environment=_environment(target), reason=reason)
        recordings.save(target.path, target.machine, {}, failures={experiment_id: failure})
        say(f"{experiment_id}: failed after {elapsed_s:.0f} s: {reason}")
    return num_recorded


def _measure_apart(
    experiment_id: str,
    target: Target,
    *,
    command: Command,
    say: Callable[[str], None],
    timeout_s: float,
) -> str | None:
    """Measure one experiment in its processes, keep its result; return why there is none."""
    known = {item.id: item for item in experiments.registered()}
    num_processes = known[experiment_id].processes if experiment_id in known else 1
    entries = []
    for index in range(num_processes):
        if index:
            say(f"{experiment_id}: process {index + 1} of {num_processes} ...")
        try:
            entries.append(_entry_apart(experiment_id, target.path.name, command, timeout_s))
        except _FailedError as error:
            return str(error)
    entry = entries[0]
    if num_processes > 1:
        try:
            entry = _pooled(known[experiment_id], entries)
        except ValueError as error:
            return reason_of(f"ValueError: {error}")
    recordings.save(target.path, target.machine, {experiment_id: entry})
    return None


class _FailedError(Exception):
    """A process yielded no result; the message is the reason, fit for a page."""


def _entry_apart(
    experiment_id: str, file_name: str, command: Command, timeout_s: float
) -> recordings.Entry:
    """Measure one experiment once, in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="fuseshard-record-") as folder:
        part = Path(folder) / file_name
        status, output = run(command(experiment_id, part), timeout_s=timeout_s)
        if status != 0:
            raise _FailedError(reason_of(output))
        try:
            return recordings.load(part).entries[experiment_id]
        except (OSError, KeyError, RecordError) as error:
            raise _FailedError(reason_of(f"its result can't be read: {error}")) from error


def _pooled(
    measured: experiments.Experiment[Any], entries: Sequence[recordings.Entry]
) -> recordings.Entry:
    """Merge the results of several processes into the entry of the first."""
    results = [recordings.result_of(measured.result_type, entry, "part") for entry in entries]
    here = replace(entries[0].environment, num_processes=len(entries))
    return recordings.entry_of(pool(results), here)


def reason_of(output: str) -> str:
    """Cut down what a failed process printed to one line without paths of this machine.

    Args:
        output: everything it printed, a traceback at its end.

    Returns:
        The last line that isn't empty, shortened; a traceback ends in error and message.
    """
    # A message of several lines ends in advice; the line of the error's type says what it was.
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Interrupt)\b", line)]
    reason = (errors or lines or ["it ended without a word"])[-1]
    for folder, name in ((str(Path.cwd()), "."), (sys.prefix, "python"), (str(Path.home()), "~")):
        reason = reason.replace(folder, name) if len(folder) > 1 else reason
    return reason if len(reason) <= REASON_LENGTH else reason[: REASON_LENGTH - 3] + "..."


def _environment(target: Target) -> Environment:
    here = environment()
    return here if target.commit is None else replace(here, commit=target.commit)
