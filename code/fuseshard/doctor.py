"""Say in plain words whether the book can be built here, what is missing, and how to mend it.

`quick` checks are what `make book` waits for; the others start torch. Nothing here imports torch,
so that a machine without it gets an answer too.
"""

import platform
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

from fuseshard.measure import provenance, reader, trials
from fuseshard.measure.schema import RecordError

State = Literal["ok", "warning", "missing"]

PYTHON_MIN, PYTHON_MAX = (3, 11), (3, 13)
TORCH_RELEASE = "2.13"
PACKAGES = ("torch", "jupyter-book", "myst-nb", "sphinx-design", "plotly", "babel")
GB = 1e9
MEMORY_COMFORTABLE_BYTES, MEMORY_NEEDED_BYTES = 4 * GB, 1.5 * GB
DISK_COMFORTABLE_BYTES, DISK_NEEDED_BYTES = 2 * GB, 0.5 * GB

NO_PART_A = "torch.compile can't turn its C++ into a program, so every page of Part A fails"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What one check saw."""

    name: str
    state: State
    found: str
    cost: str = ""
    """what the reader loses; for warnings and missing things."""
    mend: str = ""

    def text(self) -> str:
        """Return the finding as the lines to print."""
        lines = [f"{self.state:8} {self.name}: {self.found}"]
        lines += [f"{'':9}costs: {self.cost}"] if self.cost else []
        lines += [f"{'':9}mend:  {self.mend}"] if self.mend else []
        return "\n".join(lines)


def examine(*, quick: bool = False) -> list[Finding]:
    """Run the checks.

    Args:
        quick: only those that need no torch, under a few seconds; a reader's own recordings
            take some more.

    Returns:
        One finding a check, in the order of reading.
    """
    checks: list[Callable[[], Finding]] = [check_python, check_packages, check_compiler]
    checks += [check_memory, check_disk, check_recordings]
    if not quick:
        checks += [check_cores, check_torch_compile, check_gloo, check_triton, check_gpu]
    return [_answer(check) for check in checks]


def main(*, quick: bool = False) -> int:
    """Print the findings and the conclusion; a quick run prints only what is wrong.

    Args:
        quick: see `examine`.

    Returns:
        Exit status: 0 when the book can be built, 1 when something it needs is missing.
    """
    findings = examine(quick=quick)
    for finding in findings:
        if not (quick and finding.state == "ok"):
            print(finding.text())
    missing = [finding.name for finding in findings if finding.state == "missing"]
    if missing:
        print(f"The book can't be built here. Missing: {', '.join(missing)}.")
    elif not quick:
        print("The book can be built here.")
    return 1 if missing else 0


def check_python() -> Finding:
    """Check that this Python is one that the pinned packages run on."""
    found = platform.python_version()
    if sys.version_info[:3] == (3, 13, 0):
        cost = "torch checks its guards more slowly here than on 3.13.1, in every compiled call"
        mend = "make the environment anew with 3.13.1 or later, 3.12 or 3.11"
        return Finding(name="Python", state="warning", found=found, cost=cost, mend=mend)
    if PYTHON_MIN <= sys.version_info[:2] <= PYTHON_MAX:
        return Finding(name="Python", state="ok", found=found)
    return Finding(
        name="Python",
        state="missing",
        found=f"{found}, needed is 3.{PYTHON_MIN[1]} to 3.{PYTHON_MAX[1]}",
        cost="the pinned packages can't be installed",
        mend="make the environment with such a Python: `make book PYTHON=python3.12`",
    )


def check_packages() -> Finding:
    """Check that the packages that build the book are installed, and torch is the book's."""
    absent = [name for name in PACKAGES if _version(name) is None]
    if absent:
        return Finding(
            name="packages",
            state="missing",
            found=f"not installed: {', '.join(absent)}",
            cost="no page can be executed or rendered",
            mend="`pip install -r requirements.txt`, or `make book`, which does it",
        )
    torch = _version("torch") or ""
    if not torch.startswith(f"{TORCH_RELEASE}."):
        return Finding(
            name="packages",
            state="warning",
            found=f"torch {torch}, the book is written for {TORCH_RELEASE}",
            cost="a page that asserts what the compiler does may stop the build",
            mend="`pip install -r requirements.txt`",
        )
    book = _version("jupyter-book")
    return Finding(name="packages", state="ok", found=f"torch {torch}, jupyter-book {book}")


def check_compiler() -> Finding:
    """Compile and run a program as Inductor's code needs it: OpenMP and Python's headers."""
    command = provenance.compiler_command()
    version = provenance.compiler_version(command)
    if version is None:
        return Finding(
            name="C++ compiler",
            state="missing",
            found=f"{command!r} isn't a program that runs here",
            cost=NO_PART_A,
            mend=trials.GET_COMPILER,
        )
    complaint = trials.openmp_complaint(command)
    if complaint is None:
        found = f"{version}, with OpenMP and Python's headers"
        return Finding(name="C++ compiler", state="ok", found=found)
    return Finding(
        name="C++ compiler",
        state="missing",
        found=f"{version} failed on a small program: {complaint}",
        cost=NO_PART_A,
        mend=trials.compiler_advice(complaint),
    )


def check_memory() -> Finding:
    """Check the memory that is free: a page may run four ranks beside the kernel."""
    free_bytes = provenance.free_memory_bytes()
    if free_bytes is None:
        return Finding(name="memory", state="ok", found="can't be read on this system")
    return _room("memory", free_bytes, MEMORY_COMFORTABLE_BYTES, MEMORY_NEEDED_BYTES)


def check_disk() -> Finding:
    """Check the room for the built site, and for the compiler's temporary files."""
    folders = (Path.cwd(), Path(tempfile.gettempdir()))
    free_bytes = min(shutil.disk_usage(folder).free for folder in folders)
    return _room("disk", free_bytes, DISK_COMFORTABLE_BYTES, DISK_NEEDED_BYTES)


def check_recordings() -> Finding:
    """Say whose recordings pages show, and check the reader's file where RECORDINGS names one."""
    name = "recordings"
    try:
        own = reader.examine()
    except RecordError as error:
        return Finding(
            name=name,
            state="missing",
            found=str(error).removesuffix(f"; {reader.MEND}"),
            cost="your results can't be drawn beside the book's",
            mend=reader.MEND,
        )
    if own is None:
        found = f"the book's own; {provenance.READER_VARIABLE}=FILE draws yours beside them"
        return Finding(name=name, state="ok", found=found)
    return Finding(name=name, state="ok", found=own.text())


def check_cores() -> Finding:
    """Say how many cores there are; one is enough to build, not to see ranks run side by side."""
    cores = provenance.num_cores()
    if cores > 1:
        return Finding(name="cores", state="ok", found=str(cores))
    return Finding(
        name="cores",
        state="warning",
        found="1",
        cost="the ranks of Part B take turns, so its pages take longer and overlap shows nothing",
        mend="give the machine or the container a second core",
    )


def check_torch_compile() -> Finding:
    """Compile a function with torch.compile in a process of its own."""
    return _trial(
        "torch.compile",
        trials.COMPILE_PROGRAM,
        cost=NO_PART_A,
        mend="mend what the line above says; a temporary folder that allows no programs is one "
        "cause: name another in TORCHINDUCTOR_CACHE_DIR",
    )


def check_gloo() -> Finding:
    """Reduce a tensor over gloo, in a group of one process."""
    return _trial(
        "gloo",
        trials.GLOO_PROGRAM,
        cost="no process group on the CPU, so every page of Part B fails",
        mend="install torch from its own wheels (`pip install -r requirements.txt`); they bring it",
    )


def check_triton() -> Finding:
    """Say whether Triton is installed; this edition's pages do without."""
    version = _version("triton")
    if version is not None:
        return Finding(name="Triton", state="ok", found=version)
    return Finding(
        name="Triton",
        state="warning",
        found="not installed",
        cost="Inductor can't write GPU kernels; nothing on the CPU",
        mend="`pip install triton` (Linux only)",
    )


def check_gpu() -> Finding:
    """Say whether torch sees a GPU; without one, pages show recordings."""
    code = "import torch; print(torch.cuda.get_device_name(0) if torch.cuda.is_available() else '')"
    status, output = trials.run_python(code)
    if status == 0 and output.strip():
        return Finding(name="GPU", state="ok", found=output.strip().splitlines()[-1])
    return Finding(
        name="GPU",
        state="warning",
        found="none that torch can use",
        cost="GPU results come from recordings, marked as such with machine and date",
        mend="none needed; with an NVIDIA GPU, install torch's CUDA build",
    )


def _answer(check: Callable[[], Finding]) -> Finding:
    """A check's finding, also where it can't even work: most write to the temporary folder."""
    try:
        return check()
    except OSError as error:
        return Finding(
            name=check.__name__.removeprefix("check_").replace("_", " "),
            state="missing",
            found=f"can't be checked: {error}",
            cost="the build writes files, too, and will break off",
            mend="make room in the temporary folder, or name another one in TMPDIR; start from a "
            "folder that exists",
        )


def _trial(name: str, code: str, *, cost: str, mend: str) -> Finding:
    """Run code in a Python of its own, where a crash is an answer too."""
    with tempfile.TemporaryDirectory() as folder:
        status, output = trials.run_python(code, str(Path(folder) / "store"))
    if status == 0:
        return Finding(name=name, state="ok", found="works")
    found = trials.exception_line(output) or f"exit status {status}"
    return Finding(name=name, state="missing", found=found, cost=cost, mend=mend)


def _room(name: str, free_bytes: float, comfortable_bytes: float, needed_bytes: float) -> Finding:
    found = f"{free_bytes / GB:.1f} GB free"
    if free_bytes >= comfortable_bytes:
        return Finding(name=name, state="ok", found=found)
    return Finding(
        name=name,
        state="warning" if free_bytes >= needed_bytes else "missing",
        found=found,
        cost=f"under {comfortable_bytes / GB:.1f} GB the build may break off halfway",
        mend=f"free some {name}, at least {needed_bytes / GB:.1f} GB",
    )


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
