"""Remake constraints.txt: what pip resolves for requirements-dev.txt in a fresh environment.

    python tools/constraints.py                  remake the file
    python tools/constraints.py --check 3.13.0   say whether the file holds on another Python

Resolved for the oldest Python that the book supports, since some releases drop even patch versions
of it (3.11.2 is what Debian 12 has). Nothing heavy is installed: pip resolves (`--dry-run`) and its
report is read. Left out of the file are torch and what comes with it (a CPU and a CUDA build need
different ones), and the book's own package.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tempfile
import tomllib
import venv
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
CONSTRAINTS = TOP / "constraints.txt"
HEAD = """\
# What requirements.txt and requirements-dev.txt bring along, frozen for all supported Pythons.
# Made by `make constraints`; don't edit. Without torch and its companions, in which a CPU and a
# CUDA build differ.
"""
OLDEST_PYTHON = "3.11.0"
BUILD_DEPENDENT = re.compile(r"torch|triton|nvidia-.*|cuda-.*|fuseshard")


def pip_environment(folder: Path) -> Path:
    """Make a bare virtual environment and return its interpreter."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    subprocess.run(
        [python, "-m", "pip", "install", "-qq", "--upgrade", "pip"], check=True, cwd=folder
    )
    return python


def requirement_lines() -> list[str]:
    """Flatten the two requirement files: no nesting, no constraints, and no editable install."""
    project = tomllib.loads((TOP / "code" / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    lines = [*project["dependencies"], *extras["show"], *extras["kernels"], *extras["book"]]
    for name in ("requirements.txt", "requirements-dev.txt"):
        text = (TOP / name).read_text("utf-8")
        lines += [line for line in text.splitlines() if line and line[0] not in "#-"]
    return lines


def resolve(python: Path, lines: list[str], *options: str) -> dict[str, str]:
    """Ask pip what it would install for the lines: a version for each name."""
    with tempfile.TemporaryDirectory() as folder:
        wanted = Path(folder) / "wanted.txt"
        wanted.write_text("\n".join(lines) + "\n", "utf-8")
        report = Path(folder) / "report.json"
        command = [str(python), "-m", "pip", "install", "-qq", "--dry-run", "--ignore-installed"]
        subprocess.run(
            [*command, "--report", str(report), "-r", str(wanted), *options], check=True, cwd=folder
        )
        installs = json.loads(report.read_text("utf-8"))["install"]
    return {item["metadata"]["name"].lower(): item["metadata"]["version"] for item in installs}


def elsewhere(version: str) -> list[str]:
    """The options that make pip resolve for another Python than its own."""
    return ["--python-version", version, "--only-binary", ":all:", "--target", "unused"]


def remake(python: Path) -> str:
    """Resolve afresh and return the text of the file."""
    found = resolve(python, requirement_lines(), *elsewhere(OLDEST_PYTHON))
    kept = {name: version for name, version in found.items() if not BUILD_DEPENDENT.fullmatch(name)}
    return HEAD + "".join(f"{name}=={version}\n" for name, version in sorted(kept.items()))


def check(python: Path, version: str) -> dict[str, str]:
    """Resolve under the committed file for another Python; pip fails if it can't."""
    return resolve(python, requirement_lines(), "-c", str(CONSTRAINTS), *elsewhere(version))


def main() -> None:
    """Remake the file, or check it."""
    parser = argparse.ArgumentParser(description="Remake constraints.txt, or check it.")
    parser.add_argument("--check", metavar="VERSION", help="a Python such as 3.13.0")
    version = parser.parse_args().check
    with tempfile.TemporaryDirectory() as folder:
        python = pip_environment(Path(folder) / "venv")
        if version is None:
            CONSTRAINTS.write_text(remake(python), "utf-8")
            print(f"constraints.txt: remade for Python {OLDEST_PYTHON} and later")
            return
        found = check(python, version)
    pinned = {line.split("==")[0] for line in CONSTRAINTS.read_text("utf-8").splitlines()}
    loose = [n for n in sorted(set(found) - pinned) if not BUILD_DEPENDENT.fullmatch(n)]
    print(f"Python {version}: {len(found)} packages resolve; not frozen: {loose or 'none'}")


if __name__ == "__main__":
    main()
