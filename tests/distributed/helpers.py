"""What the launcher's tests share: marked processes, scripts, and a real Jupyter kernel."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

MARKER = "FUSESHARD_TEST_MARKER"


def marked_environment(**more: str) -> dict[str, str]:
    """An environment that all processes below a process inherit, and by which they are found."""
    return {**os.environ, MARKER: uuid4().hex, **more}


def marked_processes(environment: dict[str, str]) -> dict[int, str]:
    """Process ids and command lines of living processes with that environment's mark."""
    mark = f"{MARKER}={environment[MARKER]}".encode()
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                if mark in (folder / "environ").read_bytes().split(b"\0"):
                    found[int(folder.name)] = (folder / "cmdline").read_text().replace("\0", " ")
    return found


def wait_for(condition, timeout_s: float = 20.0):
    """Return the condition's first true value; fail when there is none in time."""
    deadline_s = time.monotonic() + timeout_s
    while time.monotonic() < deadline_s:
        if value := condition():
            return value
        time.sleep(0.02)
    raise AssertionError(f"not true within {timeout_s} s")


def wait_until_gone(environment: dict[str, str], timeout_s: float = 20.0) -> None:
    """Wait until no marked process is left; fail with their command lines otherwise."""
    deadline_s = time.monotonic() + timeout_s
    while left := marked_processes(environment):
        assert time.monotonic() < deadline_s, f"still there: {left}"
        time.sleep(0.02)


def start_script(code: str, environment: dict[str, str], directory: Path) -> subprocess.Popen[str]:
    """Start a script in a process of its own."""
    path = directory / f"script_{uuid4().hex}.py"
    path.write_text(code)
    return subprocess.Popen(
        [sys.executable, str(path)],
        env=environment,
        cwd=directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_script(code: str, environment: dict[str, str], directory: Path) -> str:
    """Run a script, assert that it succeeded, return what it printed."""
    process = start_script(code, environment, directory)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    return output


class Kernel:
    """A real Jupyter kernel that runs cells."""

    def __init__(self, manager: KernelManager, client: BlockingKernelClient) -> None:
        self.manager = manager
        self.client = client

    @property
    def pid(self) -> int:
        """The kernel's process id."""
        return self.manager.provisioner.pid

    def run(self, cell: str) -> tuple[str, str]:
        """Run a cell; what it wrote to stdout and stderr, and "ename: evalue" if it raised."""
        outputs: list[str] = []
        reply = self.client.execute_interactive(
            cell,
            timeout=60,
            output_hook=lambda message: outputs.append(message["content"].get("text", "")),
        )["content"]
        error = f"{reply['ename']}: {reply['evalue']}" if reply["status"] == "error" else ""
        return "".join(outputs), error


@contextmanager
def kernel(environment: dict[str, str], directory: Path) -> Iterator[Kernel]:
    """Start a kernel in a folder and end it."""
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(env=environment, cwd=str(directory))
    client = manager.blocking_client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=60)
        yield Kernel(manager, client)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()
