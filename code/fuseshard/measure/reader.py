"""A reader's own recordings, shown beside the book's: the file that RECORDINGS names.

Torch-free.
"""

from dataclasses import dataclass
from pathlib import Path

from fuseshard.measure import trials
from fuseshard.measure.provenance import READER_VARIABLE, reader_recordings
from fuseshard.measure.recordings import Entry, MachineFile, load
from fuseshard.measure.schema import RecordError

MEND = (
    "name a file that `python -m fuseshard record --out FILE` wrote with this edition of the "
    f"book, or leave {READER_VARIABLE} out"
)

# Only the experiments know the types of their results, and importing them imports torch.
_FIT_PROGRAM = """
import sys
from pathlib import Path
from fuseshard.__main__ import import_experiments
from fuseshard.measure.experiments import fitting
from fuseshard.measure.schema import RecordError
import_experiments()
try:
    fits = fitting(Path(sys.argv[1]), sys.argv[2])
except RecordError as error:
    sys.exit(f"misfit: {error}")
print("fits:", *fits)
"""


@dataclass(frozen=True, kw_only=True)
class ReaderFile:
    """What a reader's file adds to the book."""

    path: Path
    machine: str
    """its GPU, or its CPU where it has none."""
    date_utc: str
    """of its latest result, ISO 8601."""
    drawn: tuple[str, ...]
    """ids of experiments of this book that need a GPU, and so are drawn from recordings."""
    failed: tuple[str, ...]
    """ids of experiments that yielded nothing there."""

    def text(self) -> str:
        """Return whose file it is and what is drawn of it, in one line."""
        failed = f"; failed there: {', '.join(self.failed)}" if self.failed else ""
        results = "1 result" if len(self.drawn) == 1 else f"{len(self.drawn)} results"
        return (
            f"{READER_VARIABLE} adds {results} of {self.machine}, recorded until "
            f"{self.date_utc[:10]} ({self.path.name}){failed}"
        )


def examine() -> ReaderFile | None:
    """Check the reader's file before minutes are spent on a build.

    Returns:
        What it adds; None when the reader names none.

    Raises:
        RecordError: it is missing, can't be read, is of another version, holds a result that
            doesn't fit its experiment, or none that is drawn; the message names file and field.
    """
    path = reader_recordings()
    if path is None:
        return None
    content = _load(path)
    if not content.entries:
        raise RecordError(_refusal(path, ".entries: got no result, required at least one"))
    latest = max(
        (entry.environment for entry in content.entries.values()), key=lambda e: e.date_utc
    )
    return ReaderFile(
        path=path,
        machine=latest.gpu or latest.cpu,
        date_utc=latest.date_utc,
        drawn=_fitting(path),
        failed=tuple(content.failures),
    )


def entry_of_reader(experiment_id: str) -> tuple[str, Entry] | None:
    """Return the reader's recording of an experiment.

    Args:
        experiment_id: which one.

    Returns:
        File name and entry; None when the reader names no file, or it lacks the experiment.

    Raises:
        RecordError: the file is missing or doesn't fit.
    """
    path = reader_recordings()
    entry = None if path is None else _load(path).entries.get(experiment_id)
    return None if path is None or entry is None else (path.name, entry)


def _load(path: Path) -> MachineFile:
    try:
        return load(path, MEND)
    except OSError as error:
        wrong = f"{READER_VARIABLE}: {path} can't be read: {error.strerror}; {MEND}"
        raise RecordError(wrong) from error
    except RecordError as error:
        raise RecordError(f"{READER_VARIABLE}: {error}") from None


def _fitting(path: Path) -> tuple[str, ...]:
    """Ask a process with torch which results fit; it takes some seconds."""
    status, output = trials.run_python(_FIT_PROGRAM, str(path), MEND)
    # Torch's warnings, and modules that were left out, may stand around it.
    answers = [line for line in output.splitlines() if line.startswith(("fits:", "misfit:"))]
    answer = answers[0] if answers else trials.exception_line(output)
    if status != 0 or not answers:
        raise RecordError(f"{READER_VARIABLE}: {answer.removeprefix('misfit: ')}")
    drawn = tuple(answer.removeprefix("fits:").split())
    if not drawn:
        wanted = ".entries: got no result of this book that needs a GPU, required at least one"
        raise RecordError(_refusal(path, wanted))
    return drawn


def _refusal(path: Path, what: str) -> str:
    return f"{READER_VARIABLE}: {path.name}{what}; {MEND}"
