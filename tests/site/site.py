"""The book as it was built: its pages, and a server that shows them below a path, as Pages does."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from bookcheck.pages import BOOK, english_pages
from bookcheck.pieces import TOP
from bs4 import BeautifulSoup
from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port

from fuseshard.book.serve import make_app

BUILD = BOOK / "_build"
BASE = "/fuse-shard/"
SOURCES = ("_config.yml", "_toc.yml", "constraints.txt", "requirements.txt", "code/pyproject.toml")
LANGUAGES = ("en", "es")


@dataclass(frozen=True)
class Site:
    """A built site."""

    build: Path
    """the folder that holds html/ and timings.json"""

    @property
    def html(self) -> Path:
        """The folder that would be published."""
        return self.build / "html"

    @cached_property
    def names(self) -> list[str]:
        """The pages of the English edition, as Sphinx names them."""
        return [path.with_suffix("").as_posix() for path in english_pages()]

    @property
    def pages(self) -> list[tuple[str, str]]:
        """Language and path of each page of each edition."""
        return [(x, self.path(name, x)) for x in LANGUAGES for name in self.names]

    def path(self, name: str, language: str) -> str:
        """A page's file below the site's root."""
        return f"{name}.html" if language == "en" else f"{language}/{name}.html"

    def soup(self, path: str) -> BeautifulSoup:
        """Parse a page anew, so that a test may cut it up."""
        return BeautifulSoup((self.html / path).read_text("utf-8"), "lxml")

    @property
    def timings(self) -> dict[str, Any]:
        """What the build says about itself, by language."""
        report: dict[str, Any] = json.loads((self.build / "timings.json").read_text("utf-8"))
        return report


def is_up_to_date(build: Path = BUILD) -> bool:
    """Say whether the site was built after everything that goes into it was last changed."""
    report = build / "timings.json"
    if not report.is_file() or not (build / "html" / "es" / "index.html").is_file():
        return False
    built = report.stat().st_mtime
    return all(path.stat().st_mtime <= built for path in _sources())


def jb_build(*options: str) -> subprocess.CompletedProcess[str]:
    """Run `jb build book`, as the README says."""
    command = [str(Path(sys.executable).with_name("jb")), "build", "book", *options]
    return subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=False)


@contextmanager
def served(html: Path) -> Iterator[str]:
    """Serve a site in a thread; yields its address, which ends in a slash."""
    socket, port = bind_unused_port()
    ready, stop = threading.Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        server = HTTPServer(make_app(html, BASE))
        server.add_sockets([socket])
        ready.set()
        await stop.wait()
        server.stop()
        await server.close_all_connections()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    ready.wait()
    try:
        yield f"http://127.0.0.1:{port}{BASE}"
    finally:
        loops[0].call_soon_threadsafe(stop.set)
        thread.join()


def _sources() -> Iterator[Path]:
    yield from (TOP / name for name in SOURCES)
    folders = ((BOOK, "*.md"), (TOP / "code" / "fuseshard", "*"))
    for folder, pattern in folders:
        for path in folder.rglob(pattern):
            if path.is_file() and not {"_build", "__pycache__"} & set(path.parts):
                yield path
