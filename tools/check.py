"""Run every check that needs no build, at the same time, and show what failed: `make check`."""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
STATIC_TESTS = ["layers", "sizes", "docstrings", "tree"]
# The slowest first: they decide how long the whole takes.
CHECKS: dict[str, list[str]] = {
    "types": [str(BIN / "mypy")],
    "static tests": [
        *[sys.executable, "-m", "pytest", "-q", "--durations=0", "--durations-min=5"],
        *[f"tests/test_{name}.py" for name in STATIC_TESTS],
        "tests/editions",
    ],
    "catalogs": [sys.executable, "tools/catalog.py", "check"],
    "style": [str(BIN / "ruff"), "check", "--quiet"],
    "format": [str(BIN / "ruff"), "format", "--check", "--quiet"],
    "workflows": [str(BIN / "actionlint")],
}


@dataclass(frozen=True)
class Result:
    """How one check ended."""

    name: str
    passed: bool
    elapsed_s: float
    output: str


def run(name: str) -> Result:
    """Run one check and keep what it says."""
    started = time.perf_counter()
    done = subprocess.run(CHECKS[name], cwd=TOP, capture_output=True, text=True, check=False)
    elapsed_s = time.perf_counter() - started
    return Result(name, done.returncode == 0, elapsed_s, done.stdout + done.stderr)


def main() -> int:
    """Run all checks and return an exit status."""
    with ThreadPoolExecutor(max_workers=2) as pool:
        results = list(pool.map(run, CHECKS))
    for result in results:
        if not result.passed:
            print(f"--- {result.name} ---\n{result.output.rstrip()}\n")
    for result in results:
        state = "passed" if result.passed else "FAILED"
        print(f"{result.name:<14}{state:<8}{result.elapsed_s:5.1f} s")
    return 0 if all(result.passed for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
