"""A short script in a process of its own, for what can't be undone in this one."""

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass

from fuseshard.compiler.text import clean

TIMEOUT_S = 120.0


@dataclass(frozen=True, kw_only=True)
class ScriptResult:
    """How a script ended."""

    exit_code: int
    """0 when it ran to its end"""
    output: str
    """what it printed"""
    error: str
    """last line on stderr, for an uncaught exception its type and message; "" when it ended well"""


def run_script(
    script: str, *, timeout_s: float = TIMEOUT_S, variables: Mapping[str, str] | None = None
) -> ScriptResult:
    """Run a Python script in a fresh process, in an empty folder.

    Args:
        script: Python source.
        timeout_s: seconds after which the process is killed.
        variables: environment variables, set before the script's first line.

    Returns:
        Exit code and texts, without paths of this machine.

    Raises:
        TimeoutError: the script took longer.
    """
    # The script sets them itself: this process neither reads nor copies its environment.
    settings = f"import os; os.environ.update({dict(variables or {})!r})\n"
    with tempfile.TemporaryDirectory(prefix="fuseshard-") as folder:
        try:
            done = subprocess.run(
                [sys.executable, "-c", settings + script],
                capture_output=True,
                text=True,
                check=False,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                timeout=timeout_s,
            )
        except subprocess.TimeoutExpired as expired:
            raise TimeoutError(
                f"run_script: the script ran for {timeout_s:g} s without ending, must end by then; "
                "shorten it or raise timeout_s."
            ) from expired
    last_lines = done.stderr.strip().splitlines()[-1:] if done.returncode else []
    return ScriptResult(
        exit_code=done.returncode,
        output=clean(done.stdout),
        error=clean("\n".join(last_lines)),
    )
