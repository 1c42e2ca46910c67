"""Results kept by what they were made from: in memory, and on disk for the next process.

A result is a JSON file named after a key. Reading one builds plain records and runs nothing, so a
file that somebody else put there can be wrong, but can't do anything.
"""

import hashlib
import json
import os
import platform
import stat
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from fuseshard.measure.records import to_json
from fuseshard.measure.schema import RecordError, read

R = TypeVar("R")
_MADE_BY = ("described", "gpu_code", "isolate.py", "text.py")
"""what of fuseshard.compiler has a part in a result"""
_TRITON_PACKAGES = ("triton", "pytorch-triton", "triton-rocm", "pytorch-triton-rocm")
"""names under which builds of torch bring their Triton"""


@dataclass(frozen=True, kw_only=True)
class _Kept:
    """A file's content."""

    key: str
    """once more, so that a renamed file is noticed"""
    digest: str
    """of the result, so that a changed letter is noticed"""
    result: object


class Store:
    """Records by key, in memory and in a folder."""

    def __init__(self, folder: Path) -> None:
        """Remember the folder; it is made with the first result.

        Args:
            folder: of this user alone; one that others could write to isn't used.
        """
        self._folder = folder
        self._memory: dict[str, Any] = {}

    def get(self, key: str, kind: type[R]) -> R | None:
        """Return what was kept under a key, or None.

        Args:
            key: from `key_of`.
            kind: class of the record; a file that holds anything else counts as no file.
        """
        if key not in self._memory and self._is_ours():
            # Not there, damaged, or written by another version of this module: made anew.
            with suppress(OSError, UnicodeDecodeError, json.JSONDecodeError, RecordError):
                self._memory[key] = self._read(key, kind)
        found: R | None = self._memory.get(key)
        return found

    def put(self, key: str, record: R) -> R:
        """Keep a record under a key, and return it.

        It stays in memory alone where the disk is full or nobody's, and where it holds a number
        that JSON doesn't know, such as infinity.
        """
        self._memory[key] = record
        with suppress(OSError):
            self._folder.mkdir(mode=0o700)
        if self._is_ours():
            with suppress(OSError, TypeError, ValueError):
                result = to_json(record)
                kept = {"key": key, "digest": _digest(result), "result": result}
                self._write(key, json.dumps(kept))
        return record

    def _read(self, key: str, kind: type[R]) -> R:
        """Read a file.

        Raises:
            RecordError: it isn't what its name says.
        """
        path = self._path(key)
        kept = read(_Kept, json.loads(path.read_text("utf-8")), path.name)
        if (kept.key, kept.digest) != (key, _digest(kept.result)):
            raise RecordError(f"{path.name}: got another result, required the one of its name")
        return read(kind, kept.result, path.name)

    def _write(self, key: str, text: str) -> None:
        """Write a file under another name first, so that nobody reads half of it."""
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=self._folder, suffix=".part", delete=False
        ) as file:
            part = Path(file.name)
            try:
                file.write(text)
                file.close()
                part.replace(self._path(key))
            except OSError:
                part.unlink()
                raise

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.json"

    def _is_ours(self) -> bool:
        """Whether the folder is there, and nobody else can write to it."""
        try:
            found = self._folder.lstat()
        except OSError:
            return False
        is_private = stat.S_ISDIR(found.st_mode) and not found.st_mode & 0o077
        return is_private and found.st_uid == os.getuid()


def _digest(result: object) -> str:
    return hashlib.sha256(json.dumps(result).encode()).hexdigest()


@cache
def shared_store() -> Store:
    """Return the store of this process, in a folder of this user for temporary files."""
    return Store(Path(tempfile.gettempdir()) / f"fuseshard-gpu-{os.getuid()}")


def key_of(*parts: object) -> str:
    """Make a key of all that a result depends on; versions of what makes results are added.

    Args:
        parts: texts, numbers and frozen dataclasses of them, whose `repr` says all.

    Returns:
        64 hexadecimal digits.
    """
    text = "\n".join(map(repr, (*parts, versions(), own_digest())))
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def versions() -> tuple[str, ...]:
    """Versions of Python, torch and Triton."""
    found = [platform.python_version()]
    for package in ("torch", *_TRITON_PACKAGES):
        with suppress(PackageNotFoundError):
            found.append(version(package))
    return tuple(found)


@cache
def own_digest() -> str:
    """SHA-256 of the modules that have a part in a result."""
    digest = hashlib.sha256()
    for name in _MADE_BY:
        top = Path(str(files("fuseshard.compiler") / name))
        for module in sorted(top.rglob("*.py")) if top.is_dir() else [top]:
            digest.update(f"{module.relative_to(top.parent)}\n{module.read_text()}".encode())
    return digest.hexdigest()
