"""How long builds take: cold, unchanged, one paragraph changed, and what the second edition adds.

    make bench                                  or: python tests/bench/bench_build.py

Works on a copy of the checkout, so neither its pages nor its cache are touched. Asserts nothing:
times belong to the machine, which is named. Targets (two cores, environment made): cold 240 s,
unchanged 15 s, one paragraph 25 s, the Spanish edition 20 s.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parents[2]
JB = Path(sys.executable).with_name("jb")
IGNORED = shutil.ignore_patterns(".git", ".venv", "_build", "__pycache__", "*.egg-info", ".*_cache")


def build(copy: Path) -> tuple[float, dict[str, Any]]:
    """Build the copy; returns seconds, and the build's own report."""
    # The copy's package, not the installed one: a build reads what it is about to publish.
    environment = {**os.environ, "PYTHONPATH": str(copy / "code")}
    started = time.perf_counter()
    done = subprocess.run(
        [str(JB), "build", "book"],
        cwd=copy,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    elapsed_s = time.perf_counter() - started
    if done.returncode:
        raise SystemExit(f"the build failed:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    report: dict[str, Any] = json.loads((copy / "book" / "_build" / "timings.json").read_text())
    return elapsed_s, report


def change_a_paragraph(copy: Path) -> None:
    """Add a sentence to one English chapter, where no cell is."""
    chapter = copy / "book" / "distributed" / "ddp.md"
    with chapter.open("a", encoding="utf-8") as text:
        text.write("\nOne more sentence, which executes nothing.\n")


def row(name: str, elapsed_s: float, report: dict[str, Any]) -> str:
    """Describe one build: the whole, what ran, and each edition's share."""
    pages = [page for edition in report.values() for page in edition["pages"].values()]
    ran_s = sum(page["execution_s"] for page in pages if page["execution"] == "run")
    spanish_s = report["es"]["total_s"]
    return f"{name:<22}{elapsed_s:8.1f} s{ran_s:12.1f} s{spanish_s:12.1f} s"


def main() -> None:
    """Build three times and print the table."""
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print(f"{'build':<22}{'whole':>10}{'execution':>14}{'Spanish':>14}")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "book"
        shutil.copytree(TOP, copy, symlinks=True, ignore=IGNORED)
        print(row("cold", *build(copy)), flush=True)
        print(row("unchanged", *build(copy)), flush=True)
        change_a_paragraph(copy)
        print(row("one paragraph changed", *build(copy)), flush=True)


if __name__ == "__main__":
    main()
