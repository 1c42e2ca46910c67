"""What must not stand in a tracked file: paths of one machine, and hosts of package registries."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from bookcheck.pieces import TOP

# Put together, so that this file doesn't hold what it looks for.
MACHINE = tuple(f"/{name}/" for name in ("root", "Users", "work"))
# Tests may quote a dump as it comes, with the paths that must be cleaned away.
ANY_MACHINE = tuple(f"/{name}/" for name in ("home", "tmp"))
HOSTS = tuple(
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("files", "pythonhosted", "org"),
        ("download", "pytorch", "org"),
        ("registry", "npmjs", "org"),
        ("deb", "debian", "org"),
        ("conda", "anaconda", "org"),
    )
)
VENDORED = "code/fuseshard/book/vendor/"
UNFINISHED = re.compile("|".join(["TO" + "DO(?!\\(#)", "FIX" + "ME", "X" + "XX"]))


def tracked_files(top: Path = TOP) -> list[Path]:
    """List what git tracks, without vendored files."""
    command = ["git", "-C", str(top), "ls-files", "-z"]
    names = subprocess.run(command, capture_output=True, check=True, text=True).stdout.split("\0")
    paths = [top / name for name in names if name and not name.startswith(VENDORED)]
    return [path for path in paths if path.is_file() and not path.is_symlink()]


def problems(path: Path, text: str) -> list[str]:
    """List the lines of a file that name what only one machine has, or leave work undone.

    Args:
        path: relative to the top of the checkout.
        text: what the file holds.
    """
    folders = MACHINE if path.parts[0] == "tests" else MACHINE + ANY_MACHINE
    forbidden = re.compile(
        "|".join([rf"(?<![\w.}}:/])(?:{'|'.join(folders)})", *map(re.escape, HOSTS)])
    )
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        hit = forbidden.search(line)
        if hit:
            found.append(f"{path}:{number}: names {hit[0]!r}, which means nothing elsewhere")
        unfinished = UNFINISHED.search(line)
        if unfinished:
            found.append(f"{path}:{number}: {unfinished[0]!r} without an issue's number")
    return found


def read_text(path: Path) -> str:
    """Read a file as text; a binary file has none."""
    data = path.read_bytes()
    return "" if b"\0" in data else data.decode("utf-8", "replace")
