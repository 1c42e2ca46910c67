"""Toy books that are built by the real `jb build`, in a folder of their own."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
REPOSITORY = HERE.parent.parent
PACKAGE = REPOSITORY / "code" / "fuseshard"


@dataclass
class Build:
    """What a build said."""

    status: int
    output: str
    """stdout and stderr, without colours"""

    @property
    def warnings(self) -> list[str]:
        """Lines that Sphinx marks as a warning or an error."""
        return [line for line in self.output.splitlines() if "WARNING" in line or "ERROR" in line]

    @property
    def executed(self) -> list[str]:
        """Pages whose cells ran, in order."""
        lines = [line.split() for line in self.output.splitlines()]
        return [words[1] for words in lines if words[:1] == ["executing"]]


@dataclass
class Project:
    """A copy of the toy book that a test may change."""

    folder: Path
    variables: dict[str, str] = field(default_factory=dict)
    """of the environment of its next builds, besides those of this process"""

    @classmethod
    def make(cls, folder: Path, **options: Any) -> Project:
        """Copy the toy book; `options` go into `sphinx: config:`."""
        shutil.copytree(HERE / "toy", folder, dirs_exist_ok=True)
        site_words = PACKAGE / "locale" / "es" / "LC_MESSAGES" / "book.po"
        shutil.copy(site_words, folder / "locale" / "es" / "LC_MESSAGES")
        project = cls(folder)
        toy = {"fuseshard_locale_path": "../locale", "fuseshard_packages": ["toykit"]}
        project.configure({"sphinx": {"config": {**toy, **options}}})
        for name in ("_config.yml", "_toc.yml"):
            (folder / "book" / name).symlink_to(f"../{name}")
        return project

    def configure(self, changes: dict[str, Any]) -> None:
        """Write the book's own configuration with some values changed."""
        path = self.folder / "_config.yml"
        source = path if path.exists() else REPOSITORY / "_config.yml"
        config = yaml.safe_load(source.read_text("utf-8"))
        _merge(config, changes)
        path.write_text(yaml.safe_dump(config), "utf-8")

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a build: the toy package and ours can be imported, the address isn't
        known.
        """
        kept = {key: value for key, value in os.environ.items() if key != "GITHUB_REPOSITORY"}
        path = os.pathsep.join([str(self.folder / "kit"), str(PACKAGE.parent)])
        return {**kept, "PYTHONPATH": path, "NO_COLOR": "1", **self.variables}

    def drop_page(self, name: str) -> None:
        """Take a page out of the toy book, to make its build shorter."""
        self.replace("_toc.yml", f"      - file: {name}\n", "")
        for edition in ("", "es/"):
            self.page(f"{edition}{name}").unlink()

    def build(self, *arguments: str) -> Build:
        """Build the book with `jb build book`."""
        done = subprocess.run(
            [str(Path(sys.executable).with_name("jb")), "build", "book", *arguments],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        return Build(done.returncode, re.sub(r"\x1b\[[0-9;]*m", "", done.stdout))

    def page(self, name: str) -> Path:
        """Return the source of a page."""
        return self.folder / "book" / f"{name}.md"

    def html(self, name: str) -> str:
        """Return a built page."""
        return (self.folder / "book" / "_build" / "html" / f"{name}.html").read_text("utf-8")

    def replace_in_both(self, name: str, old: str, new: str) -> None:
        """Replace text in a page of both editions."""
        for edition in ("book", "book/es"):
            self.replace(f"{edition}/{name}.md", old, new)

    def replace(self, path: str, old: str, new: str) -> None:
        """Replace text in one of the project's files; it must be there."""
        file = self.folder / path
        text = file.read_text("utf-8")
        assert old in text, f"{path} has no {old!r}"
        file.write_text(text.replace(old, new), "utf-8")

    @property
    def timings(self) -> dict[str, Any]:
        """The report that the last build wrote."""
        path = self.folder / "book" / "_build" / "timings.json"
        report: dict[str, Any] = json.loads(path.read_text("utf-8"))
        return report


def _merge(config: dict[str, Any], changes: dict[str, Any]) -> None:
    for key, value in changes.items():
        if isinstance(value, dict) and isinstance(config.get(key), dict):
            _merge(config[key], value)
        else:
            config[key] = value


@dataclass
class Site:
    """A built toy book that no test may change."""

    project: Project
    build: Build

    def html(self, name: str) -> str:
        """Return a built page."""
        return self.project.html(name)
