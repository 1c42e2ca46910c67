"""What a page's outputs depend on besides its cells, as one key.

The key covers the package's modules that the cells import, directly or through others, the
recordings, and the versions of what runs. Changing one module thus re-executes its pages only.
A GPU and a reader's own recordings count for the pages that show recordings.
"""

from __future__ import annotations

import ast
import hashlib
import json
import platform
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from IPython.core.inputtransformer2 import TransformerManager

from fuseshard.measure.provenance import (
    compiler_command,
    compiler_version,
    reader_recordings,
    visible_gpus,
)

VERSIONED = ("torch", "triton", "plotly", "numpy", "ipykernel", "ipython")
RENDER_ONLY = ("book", "locale")
"""folders of the package that render outputs, but never make them"""
SHOWS_RECORDINGS = "fuseshard.measure.recordings"
"""what a page reaches that shows a recording, or a live result in its place"""


def page_key(cells: Iterable[str], packages: Sequence[str], settings: object = None) -> str:
    """Return the key of a page: equal keys and equal cells mean equal outputs.

    Args:
        cells: source of the page's code cells.
        packages: names of the packages whose source counts.
        settings: anything else with a stable JSON form, e.g. the kernel's environment.
    """
    modules = reachable(_cell_names(cells, packages), packages)
    files = {path for path in modules.values() if path}
    for package in {name.partition(".")[0] for name in modules}:
        files |= set(_recordings(package))
    content = {
        "settings": settings,
        "versions": versions(),
        "files": {str(path): _file_digest(path) for path in sorted(files)},
        **(_elsewhere() if SHOWS_RECORDINGS in modules else {}),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def reachable(names: Iterable[str], packages: Sequence[str]) -> dict[str, Path | None]:
    """Return the modules of `packages` that importing `names` imports, with their files.

    A string constant that spells a module's name counts as an import: it is how processes are
    told what to run.
    """
    found: dict[str, Path | None] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        path = _module_path(name)
        if path is None:
            continue  # a function or class, whose module is on the list as well
        found[name] = path
        is_package = path.name == "__init__.py"
        home = name if is_package else name.rpartition(".")[0]
        waiting += _names_in(_content(path).decode(), tuple(packages), home)
    return found


def _elsewhere() -> dict[str, str]:
    """What decides whether results are live, recorded, or a reader's; empty for most readers."""
    reader = reader_recordings()
    found = {"gpus": visible_gpus(), "reader": _file_digest(reader) if reader else ""}
    return {name: value for name, value in found.items() if value}


@lru_cache
def versions() -> dict[str, str]:
    """Return the versions of all that can change a number, a kernel or a warning."""
    found = {name: _installed(name) for name in VERSIONED}
    found["python"] = platform.python_version()
    found["cpu"] = _cpu_model()
    # As Inductor sees it: CXX, or the default.
    found["compiler"] = compiler_version(compiler_command()) or ""
    return found


def _cell_names(cells: Iterable[str], packages: Sequence[str]) -> list[str]:
    names: list[str] = []
    for cell in cells:
        names += _names_in(_plain_python(cell), tuple(packages), "")
    return names


def _plain_python(cell: str) -> str:
    """Turn IPython's magics into the calls that they stand for."""
    return str(TransformerManager().transform_cell(cell)) if cell.strip() else ""


@cache
def _names_in(source: str, packages: tuple[str, ...], home: str) -> tuple[str, ...]:
    try:
        tree = ast.parse(source)
    except SyntaxError:  # the cell will fail when it runs, and say why
        return ()
    spelt = re.compile(rf"({'|'.join(packages)})(\.\w+)*") if packages else None
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= set(_from_names(node, home))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and spelt:
            names |= {node.value} if spelt.fullmatch(node.value) else set()
    ours = {name for name in names if name.partition(".")[0] in packages}
    return tuple(sorted(prefix for name in ours for prefix in _prefixes(name)))


def _from_names(node: ast.ImportFrom, home: str) -> Iterator[str]:
    """Name the module and, as they may be modules too, the things imported from it."""
    parts = home.split(".")[: len(home.split(".")) - node.level + 1] if node.level else []
    base = ".".join([*parts, *([node.module] if node.module else [])])
    yield base
    for alias in node.names:
        yield f"{base}.{alias.name}"


def _prefixes(name: str) -> Iterator[str]:
    """Importing a.b.c runs a and a.b as well."""
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        yield ".".join(parts[:end])


@lru_cache
def _package_root(package: str) -> Path | None:
    spec = find_spec(package)
    places = spec.submodule_search_locations if spec else None
    return Path(next(iter(places))) if places else None


def _module_path(name: str) -> Path | None:
    package, *rest = name.split(".")
    root = _package_root(package)
    if root is None:
        return None
    place = root.joinpath(*rest)
    for path in (place / "__init__.py", place.with_name(place.name + ".py")):
        if path.is_file():
            return path
    return None


def _recordings(package: str) -> Iterator[Path]:
    root = _package_root(package)
    if root is None:
        return
    for path in root.rglob("*.json"):
        if path.relative_to(root).parts[0] not in RENDER_ONLY:
            yield path


# Files are read once a process: a page's key must not change while the page is executed.
@cache
def _content(path: Path) -> bytes:
    return path.read_bytes()


def _file_digest(path: Path) -> str:
    return hashlib.sha256(_content(path)).hexdigest()


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _cpu_model() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8")
    except OSError:  # not Linux
        return platform.processor()
    found = re.search(r"^model name\s*:\s*(.*)$", text, re.MULTILINE)
    return found[1] if found else platform.machine()
