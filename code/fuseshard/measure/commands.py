"""Run other programs so that nothing they do, or fail to do, harms this process. No torch here."""

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress


def run(command: Sequence[str], *, timeout_s: float, has_errors: bool = True) -> tuple[int, str]:
    """Run a command to its end, or kill it and what it has started when the time is over.

    Args:
        command: program and arguments.
        timeout_s: seconds, at most.
        has_errors: whether the output includes what the command writes to stderr.

    Returns:
        Exit status, and what it printed; status 1 with the reason when it couldn't be started or
        didn't end.
    """
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if has_errors else subprocess.DEVNULL,
            text=True,
            errors="replace",  # a compiler may speak in another encoding than the locale's
            start_new_session=True,
        )
    except OSError as error:
        return 1, f"it can't be started: {error.strerror}"
    with process:
        try:
            output, _ = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            return 1, f"no answer within {timeout_s:.0f} s"
        finally:
            # Its children, too: a compiler is often a script that calls the compiler.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, output
