"""Try out what the book stands on, in processes of their own, where a crash is an answer too."""

import re
import sys
import sysconfig
import tempfile
from pathlib import Path

from fuseshard.measure.commands import run

TIMEOUT_S = 300.0
"""The first compile of an empty cache took over a minute on a machine with a slow disk."""

GET_COMPILER = (
    "install one (Debian, Ubuntu: `apt install g++`; Fedora: `dnf install gcc-c++`), or name "
    "yours in the environment variable CXX: one program, without options"
)

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

GLOO_PROGRAM = """
import sys, torch, torch.distributed as dist
store = dist.FileStore(sys.argv[1], 1)
dist.init_process_group("gloo", store=store, rank=0, world_size=1)
total = torch.ones(3)
dist.all_reduce(total)
dist.destroy_process_group()
sys.exit(total.sum().item() != 3.0)
"""

COMPILE_PROGRAM = """
from fuseshard.measure.clock import warm_compiler
warm_compiler()
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
        command = [compiler, *flags, str(source), "-o", str(program)]
        status, output = run(command, timeout_s=TIMEOUT_S)
        if status != 0:
            return _first_complaint(status, output).replace(f"{folder}/", "")
        if not program.exists():
            return "it wrote no program"
        status, output = run([str(program)], timeout_s=TIMEOUT_S)
        return f"its program: {_first_complaint(status, output)}" if status != 0 else None


def compiler_advice(complaint: str) -> str:
    """Say what mends a compiler's complaint.

    Args:
        complaint: from `openmp_complaint`.
    """
    if "Python.h" in complaint:
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        return f"install Python's headers (Debian, Ubuntu: `apt install python{version}-dev`)"
    if "omp" in complaint:
        return "install the compiler's OpenMP library (Debian, Ubuntu: `apt install libgomp1`)"
    if "No space left" in complaint:
        return "make room in the temporary folder, or name another one in TMPDIR"
    if "Permission denied" in complaint:
        return "name a temporary folder that allows programs in TMPDIR"
    return GET_COMPILER


def exception_line(output: str) -> str:
    """Pick the line of a traceback that names the exception; hints may follow. Else the last line.

    Args:
        output: what a process of `run_python` printed.
    """
    lines = output.strip().splitlines()
    named = [line for line in lines if re.match(r"[\w.]+: ", line)]
    return (named or lines or [""])[-1]


def _first_complaint(status: int, output: str) -> str:
    """The line that names an error, else the first line, else the exit status."""
    lines = output.splitlines()
    complaints = [line for line in lines if "error" in line.lower()] or lines
    return complaints[0].strip() if complaints else f"exit status {status}"


def run_python(code: str, *arguments: str) -> tuple[int, str]:
    """Run code in a Python of its own.

    Args:
        code: the program.
        arguments: its sys.argv[1:].

    Returns:
        Exit status, and what it printed to either stream.
    """
    return run([sys.executable, "-c", code, *arguments], timeout_s=TIMEOUT_S)
