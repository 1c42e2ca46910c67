"""The kernel of a build: this Python, whatever else is installed or set on the machine."""

from __future__ import annotations

import sys
from pathlib import Path

from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager

from fuseshard.measure.provenance import READER_VARIABLE, reader_recordings

KERNEL_ENV = {
    # What a reader's shell has set must neither print into a page nor hide a warning.
    "TORCH_COMPILE_DEBUG": "0",
    # No logs but one, quiet: torch's CUDA build warns of a toolkit without a GPU, no page's fault.
    # Emptied it couldn't be: torch 2.13 can't be imported with an empty TORCH_LOGS.
    "TORCH_LOGS": "-torch.utils.cpp_extension",
    # No filter but one: torch warns of slower guards on 3.13.0, which the doctor says once.
    "PYTHONWARNINGS": "ignore:Guards may run slower on Python 3.13.0",
    # Messages of compilers and tools in one language, numbers in one format.
    "LC_ALL": "C.UTF-8",
    "NO_COLOR": "1",
    # Sets of strings in the same order in every build.
    "PYTHONHASHSEED": "0",
    # ipykernel's hint about frozen modules is for debuggers, not for the page.
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
}
"""added to the environment of every kernel; part of every page's key"""


class BuildKernels(KernelSpecManager):
    """Knows one kernel, whatever its name: this very Python.

    A `python3` kernel in the user's home would otherwise win, and run another environment.
    """

    profile = ""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        """Return the kernel's command line and environment."""
        argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        env = {**KERNEL_ENV, "IPYTHONDIR": self.profile}
        reader = reader_recordings()
        if reader is not None:  # absolute, since a page runs in a folder of its own
            env[READER_VARIABLE] = str(reader)
        return KernelSpec(argv=argv, display_name="Python 3", language="python", env=env)


def make_manager(folder: Path) -> AsyncKernelManager:
    """Make the manager of a kernel that isn't started yet.

    Args:
        folder: an empty folder for the kernel's sockets, and for an IPython profile in the place
            of the user's, whose start-up files would run before the page's first cell.
    """
    kernels = BuildKernels()
    kernels.profile = str(folder / "profile")
    return AsyncKernelManager(
        kernel_spec_manager=kernels,
        kernel_name="python3",
        connection_file=str(folder / "kernel.json"),
        transport="ipc",  # no port that another program could hold or listen to
    )
