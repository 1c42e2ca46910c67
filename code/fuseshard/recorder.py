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

from fuseshard.measure import experiments, recordings
from fuseshard.measure.commands import run
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
        reason = _measure_apart(experiment_id, target, command, timeout_s)
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
    experiment_id: str, target: Target, command: Command, timeout_s: float
) -> str | None:
    """Measure one experiment in a process, merge its result; return why there is none."""
    with tempfile.TemporaryDirectory(prefix="fuseshard-record-") as folder:
        part = Path(folder) / target.path.name
        status, output = run(command(experiment_id, part), timeout_s=timeout_s)
        if status != 0:
            return reason_of(output)
        try:
            entry = recordings.load(part).entries[experiment_id]
        except (OSError, KeyError, RecordError) as error:
            return reason_of(f"its result can't be read: {error}")
    recordings.save(target.path, target.machine, {experiment_id: entry})
    return None


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
