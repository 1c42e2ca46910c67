"""The README's tree lists every module of the package, each once."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import PurePosixPath

ROW = re.compile(r"^(?P<indent>\s*)(?P<name>[\w./-]+?)(?P<folder>/)?(?:\s{2,}(?P<what>.*))?$")
ROOT = "code/fuseshard"


def problems(readme: str, modules: list[str]) -> list[str]:
    """Compare the README's tree with the modules, given as paths below the package."""
    listed = Counter(listed_modules(readme))
    if not listed:
        return [f"README.md: no fenced tree that starts with {ROOT}/"]
    wanted = {m for m in modules if not m.endswith("__init__.py")}
    return [
        *(f"README.md: {m} isn't in the tree under {ROOT}/" for m in sorted(wanted - set(listed))),
        *(f"README.md: {m} is in the tree, but not there" for m in sorted(set(listed) - wanted)),
        *(f"README.md: {m} is listed {n} times" for m, n in sorted(listed.items()) if n > 1),
    ]


def listed_modules(readme: str) -> list[str]:
    """List the `.py` rows of the tree, each with its folders.

    A row is `name.py   what it does`; a folder's row ends in a slash, its modules stand below it,
    further in, or after it on the same row: `measure/   clock.py, records.py, schema.py`.
    """
    found: list[str] = []
    stack: list[tuple[int, str]] = []
    for line in _tree(readme):
        match = ROW.match(line)
        if match is None:
            found += _named_in(line, _path(stack))
            continue
        indent = len(match["indent"])
        if not match["folder"] and not match["name"].endswith(".py"):
            found += _named_in(line, _path(stack))
            continue
        while stack and stack[-1][0] >= indent:
            stack.pop()
        if match["folder"]:
            stack.append((indent, match["name"]))
            found += _named_in(match["what"] or "", _path(stack))
        else:
            found.append(str(_path(stack) / match["name"]))
    return found


def _tree(readme: str) -> list[str]:
    """The rows between the package's own row and the end of its fence."""
    blocks = re.findall(r"(?ms)^```[^\n]*\n(.*?)^```", readme)
    for block in blocks:
        lines = block.splitlines()
        starts = [i for i, line in enumerate(lines) if line.strip().startswith(f"{ROOT}/")]
        if starts:
            return lines[starts[0] + 1 :]
    return []


def _path(stack: list[tuple[int, str]]) -> PurePosixPath:
    return PurePosixPath(*[name for _, name in stack])


def _named_in(text: str, folder: PurePosixPath) -> list[str]:
    return [str(folder / name) for name in re.findall(r"[\w/]+\.py\b", text)]
