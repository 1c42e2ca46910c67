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
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from fuseshard.measure.records import to_json
from fuseshard.measure.schema import RecordError, read

R = TypeVar("R")
_MADE_BY = ("fuseshard.compiler.described", "fuseshard.compiler.gpu_code")


@dataclass(frozen=True, kw_only=True)
class _Kept:
    """A file's content; the key is inside, too, so that a renamed file is noticed."""

    key: str
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
        """Keep a record under a key, and return it; a full disk leaves it in memory alone."""
        self._memory[key] = record
        with suppress(FileExistsError):
            self._folder.mkdir(mode=0o700)
        if self._is_ours():
            with suppress(OSError):
                self._write(key, record)
        return record

    def _read(self, key: str, kind: type[R]) -> R:
        """Read a file.

        Raises:
            RecordError: it isn't what its name says.
        """
        path = self._path(key)
        kept = read(_Kept, json.loads(path.read_text("utf-8")), path.name)
        if kept.key != key:
            raise RecordError(f"{path.name}: got the key {kept.key}, required {key}")
        return read(kind, kept.result, path.name)

    def _write(self, key: str, record: Any) -> None:
        """Write a file under another name first, so that nobody reads half of it."""
        text = json.dumps({"key": key, "result": to_json(record)})
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
    text = "\n".join(map(repr, (*parts, versions(), source_digest(_MADE_BY))))
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def versions() -> tuple[str, ...]:
    """Versions of Python, torch and Triton."""
    return platform.python_version(), metadata.version("torch"), metadata.version("triton")


@cache
def source_digest(packages: Sequence[str]) -> str:
    """SHA-256 of the modules of some packages."""
    digest = hashlib.sha256()
    for package in packages:
        modules = [file for file in files(package).iterdir() if file.name.endswith(".py")]
        for module in sorted(modules, key=lambda file: file.name):
            digest.update(f"{package}.{module.name}\n{module.read_text('utf-8')}".encode())
    return digest.hexdigest()
