"""Try out what the book stands on, in processes of their own, where a crash is an answer too."""

import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path

TIMEOUT_S = 300.0
"""The first compile of an empty cache took over a minute on a machine with a slow disk."""

OPENMP_PROGRAM = """
#include <Python.h>
#include <omp.h>
int main() {
  int total = 0;
  #pragma omp parallel for num_threads(2) reduction(+ : total)
  for (int i = 0; i < 10; ++i) total += i;
  return total == 45 ? 0 : 1;
}
"""


def openmp_complaint(compiler: str) -> str | None:
    """Compile and run a program that needs what Inductor's code needs.

    That is C++20, OpenMP and Python's headers.

    Args:
        compiler: one program, by name or path.

    Returns:
        None when it works, otherwise the first complaint, on one line.

    Source:
        the flags are those of torch/_inductor/cpp_builder.py. Checked on torch 2.13.
    """
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder) / "trial.cpp", Path(folder) / "trial"
        source.write_text(OPENMP_PROGRAM)
        flags = ["-std=c++20", "-fopenmp", f"-I{sysconfig.get_path('include')}"]
        for step in ([compiler, *flags, str(source), "-o", str(program)], [str(program)]):
            status, output = run(step)
            if status != 0:
                lines = output.splitlines()
                complaints = [line for line in lines if "error" in line.lower()] or lines
                first = complaints[0] if complaints else f"exit status {status}"
                return first.replace(f"{folder}/", "").strip()
    return None


def run_python(code: str, *arguments: str) -> tuple[int, str]:
    """Run code in a Python of its own.

    Args:
        code: the program.
        arguments: its sys.argv[1:].

    Returns:
        Exit status, and what it printed to either stream.
    """
    return run([sys.executable, "-c", code, *arguments])


def run(command: Sequence[str]) -> tuple[int, str]:
    """Run a command to its end, at most TIMEOUT_S long.

    Args:
        command: program and arguments.

    Returns:
        Exit status, and what it printed to either stream; status 1 with the reason when it
        couldn't be started or didn't end.
    """
    try:
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return 1, f"no answer within {TIMEOUT_S:.0f} s"
    except OSError as error:
        return 1, f"it can't be started: {error.strerror}"
    return done.returncode, done.stdout
