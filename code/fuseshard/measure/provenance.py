"""Which machine and which software a number comes from.

Importing this module doesn't import torch: `doctor` asks for the compiler before torch is there.
"""

import functools
import os
import platform
import re
import shutil
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path, PurePath

from fuseshard.measure.commands import run
from fuseshard.measure.records import Environment, GpuState

PACKAGE_FOLDER = Path(__file__).parent.parent

COMMAND_TIMEOUT_S = 10.0

READER_VARIABLE = "RECORDINGS"
"""names the file of a reader's own recordings; `make book RECORDINGS=FILE` sets it"""


def environment() -> Environment:
    """Describe this machine and this process, without paths, host names or user names.

    Returns:
        The environment; fields of things that aren't there are None.
    """
    import torch  # noqa: PLC0415 - see the module's docstring

    has_cuda = torch.cuda.is_available()
    commit, is_modified = _commit()
    return Environment(
        date_utc=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        python=platform.python_version(),
        torch=torch.__version__,
        triton=_version_of("triton"),
        compiler=compiler_version(compiler_command()),
        system=f"{platform.system()} {platform.machine()}",
        cpu=_cpu_model(),
        cpu_capability=torch.backends.cpu.get_cpu_capability(),
        num_cores=num_cores(),
        num_threads=torch.get_num_threads(),
        gpu=torch.cuda.get_device_name(0) if has_cuda else None,
        num_gpus=torch.cuda.device_count() if has_cuda else 0,
        driver=_driver_version() if has_cuda else None,
        cuda=torch.version.cuda if has_cuda else None,
        commit=commit,
        is_modified=is_modified,
        gpu_state=_gpu_state() if has_cuda else None,
    )


def compiler_command() -> str:
    """Return the C++ compiler that Inductor would call: CXX, else the platform's default.

    The value is one program, not a command line: Inductor doesn't split it at spaces either.

    Source:
        torch/_inductor/config.py, `cpp.cxx`. Checked on torch 2.13.
    """
    return os.environ.get("CXX", "clang++" if sys.platform == "darwin" else "g++")


@functools.cache
def compiler_version(command: str) -> str | None:
    """Return name and version of a C++ compiler, such as "g++ 12.2.0".

    Args:
        command: program name or path; only its last part is shown.

    Returns:
        None when it can't be run.
    """
    answer = _output([command, "--version"])
    if answer is None:
        return None
    version = re.search(r"\d+\.\d+(\.\d+)?", answer)
    return f"{PurePath(command).name} {version.group() if version else ''}".strip()


def reader_recordings() -> Path | None:
    """Return the file of recordings that the reader names, or None.

    Returns:
        An absolute path: a page's kernel, which is given it, runs in another folder.
    """
    named = os.environ.get(READER_VARIABLE, "")  # make exports an empty one, too
    return Path(named).expanduser().absolute() if named else None


@functools.cache
def visible_gpus() -> str:
    """Name the GPUs that CUDA programs see here, without starting torch; empty where none is.

    For telling machines apart, not for a page: whether this torch can use them, only torch knows.
    """
    answer = _output(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"])
    if answer is None:
        return ""
    return f"{answer.strip()} ({os.environ.get('CUDA_VISIBLE_DEVICES', 'all')})"


def num_cores() -> int:
    """Return how many cores this process may use, which a container may limit."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def free_memory_bytes() -> int | None:
    """Return the memory that new processes could use, or None where the system doesn't say."""
    meminfo = Path("/proc/meminfo")
    if not meminfo.is_file():
        return None
    match = re.search(r"^MemAvailable:\s+(\d+) kB", meminfo.read_text(), re.MULTILINE)
    if match is None:
        return None
    free_bytes = int(match.group(1)) * 1024
    limit, used = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")
    if limit.is_file() and used.is_file() and limit.read_text().strip() != "max":
        # A container's limit, which /proc/meminfo doesn't know.
        free_bytes = min(free_bytes, int(limit.read_text()) - int(used.read_text()))
    return free_bytes


@functools.cache
def _cpu_model() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        model = re.search(r"^model name\s*:\s*(.+)$", cpuinfo.read_text(), re.MULTILINE)
        if model:
            return model.group(1).strip()
    return platform.processor() or platform.machine()


@functools.cache
def _driver_version() -> str | None:
    answer = _output(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"])
    return answer.splitlines()[0].strip() if answer and answer.strip() else None


def _gpu_state() -> GpuState | None:
    """Ask the driver's tool once; clocks under load are higher than those of a card that waits."""
    asked = "clocks.sm,clocks.max.sm,clocks.mem,power.limit,temperature.gpu"
    answer = _output(["nvidia-smi", f"--query-gpu={asked}", "--format=csv,noheader,nounits"])
    return gpu_state_of(answer or "")


def gpu_state_of(answer: str) -> GpuState | None:
    """Read the first GPU's line of what nvidia-smi answers.

    Args:
        answer: five numbers a line, MHz, MHz, MHz, W and degrees Celsius, joined by commas.

    Returns:
        None where a number is missing: some cards don't report all of them.
    """
    try:
        sm, max_sm, memory, power, temperature = map(float, answer.splitlines()[0].split(","))
    except (IndexError, ValueError):
        return None
    return GpuState(
        sm_mhz=sm,
        max_sm_mhz=max_sm,
        memory_mhz=memory,
        power_limit_w=power,
        temperature_c=temperature,
    )


@functools.cache
def _commit(folder: Path = PACKAGE_FOLDER) -> tuple[str | None, bool]:
    """Commit of the checkout that holds the package, and whether tracked files differ from it."""
    git = ["git", "-C", str(folder)]
    # A package installed into somebody else's checkout must not claim that project's commit.
    if _output([*git, "ls-files", "--error-unmatch", "__init__.py"]) is None:
        return None, False
    commit = _output([*git, "rev-parse", "--short=12", "HEAD"])
    changes = _output([*git, "status", "--porcelain", "--untracked-files=no"])
    return (commit.strip() if commit else None), bool(changes)


def _version_of(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _output(command: Sequence[str]) -> str | None:
    """What a command prints; None when it isn't there, fails or takes too long."""
    if shutil.which(command[0]) is None:
        return None
    status, output = run(command, timeout_s=COMMAND_TIMEOUT_S, has_errors=False)
    return output if status == 0 else None
