"""What re-executes a page, and what doesn't; oracle: the pages that a second build names.

Builds of a toy book; the digest and the store by themselves are in test_digest.py, test_store.py.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from fuseshard.book.run.client import FOLDERS
from tests.book.toybook import Build, Project

NOTHING_NEW = "updating environment: 0 added, 0 changed, 0 removed"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A toy book, built once; the tests below change it one after another."""
    project = Project.make(tmp_path_factory.mktemp("cache") / "toy")
    first = project.build()
    assert first.executed == ["index.md", "part/boxes.md", "part/outputs.md"], first.output
    return project


def rebuilt(project: Project) -> Build:
    """Build again, without a warning."""
    again = project.build("-W")
    assert again.status == 0, again.output
    return again


def test_an_unchanged_book_executes_and_reads_nothing(built: Project) -> None:
    again = rebuilt(built)
    assert again.executed == []
    assert again.output.count(NOTHING_NEW) == 2


def test_changed_prose_and_words_execute_nothing_but_are_published(built: Project) -> None:
    built.replace("book/es/part/boxes.md", "Otro más.", "Otro más, distinto.")
    built.replace("book/part/boxes.md", "Another one.", "Another one, different.")
    built.replace("locale/es/LC_MESSAGES/fuseshard.po", "inmediato", "al instante")
    assert rebuilt(built).executed == []
    assert "Another one, different." in built.html("part/boxes")
    assert "Otro más, distinto." in built.html("es/part/boxes")
    assert '"name":"al instante"' in built.html("es/part/outputs")


def test_a_changed_cell_executes_its_page(built: Project) -> None:
    built.replace_in_both("part/boxes", "double(21)", "double(31)")
    assert rebuilt(built).executed == ["part/boxes.md"]
    for name in ("part/boxes", "es/part/boxes"):
        assert "62" in built.html(name)


def test_a_changed_module_executes_the_pages_that_import_it(built: Project) -> None:
    built.replace("kit/toykit/small.py", "FACTOR = 2", "FACTOR = 3")
    assert rebuilt(built).executed == ["part/boxes.md"]
    for name in ("part/boxes", "es/part/boxes"):
        assert "93" in built.html(name)


def test_old_executions_were_pruned(built: Project) -> None:
    kept = list((built.folder / "book/_build/.jupyter_cache/executed").iterdir())
    assert len(kept) == 3


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_what_an_interrupted_build_executed_is_kept(project: Project, how: signal.Signals) -> None:
    marker = project.folder / "running"
    wait = f"import pathlib, time\npathlib.Path({str(marker)!r}).touch()\ntime.sleep(SECONDS)"
    wait = f"from toykit.small import SECONDS\n{wait}"
    project.replace_in_both("part/outputs", "records.table()", wait)
    project.replace("kit/toykit/small.py", "FACTOR = 2", "FACTOR, SECONDS = 2, 60")
    process = _interrupt(project, marker, how)
    project.replace_in_both("part/outputs", "sleep(SECONDS)", "sleep(0)")
    assert rebuilt(project).executed == ["part/outputs.md"]
    assert list(Path(tempfile.gettempdir()).glob(f"{FOLDERS}{process}-*")) == []


def _interrupt(project: Project, marker: Path, how: signal.Signals) -> int:
    """Start a build, wait until its last page runs, and end the build's process alone.

    Returns:
        the process's id.
    """
    build = subprocess.Popen(
        [str(Path(sys.executable).with_name("jb")), "build", "book"],
        cwd=project.folder,
        env=project.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while not marker.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert marker.exists(), build.communicate()[0]
    os.kill(build.pid, how)
    output = build.communicate(timeout=30)[0]  # ends only when the kernel has ended too
    assert build.returncode != 0, output
    return build.pid
