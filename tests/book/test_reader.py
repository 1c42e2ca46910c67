"""A reader's file in a real build, and a page on a GPU that is described to it.

Oracle: the two cards' names in what both editions show. Builds of a toy book, one after another.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fuseshard.measure import recordings
from tests.book.toybook import Build, Project

BOOKS, READERS, HERE = "NVIDIA H200", "NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 3080"
ID = "modes.launches-gpu"
PAGE = """---
file_format: mystnb
kernelspec: {{name: python3, display_name: Python 3}}
description: One experiment that needs a GPU.
---
(outputs)=
# {title}

```{{code-cell}} ipython3
from fuseshard.compiler.modes.launching import gpu_launches
from fuseshard.show.chapters.eager import launches

outcome = gpu_launches()
launches.launches_table(outcome)
```

A last paragraph.
"""
# A page cannot have a GPU here: torch is told that there is one, and the measuring is left out.
LIVE = f"""from dataclasses import replace

import torch

from fuseshard.measure.experiments import Experiment

kept = gpu_launches().recording
torch.cuda.is_available = lambda: True
torch.cuda.get_device_name = lambda index: "{HERE}"
torch.cuda.device_count = lambda: 1
live = Experiment(gpu_launches.id, "cuda", lambda: replace(kept, origin=None), type(kept))
outcome = live()
assert outcome.state == "live\""""


def write_file(path: Path, factor: float) -> None:
    """Write what another card would have recorded of one experiment."""
    book = json.loads((recordings.RECORDINGS_FOLDER / "nvidia-h200.json").read_text("utf-8"))
    entry: dict[str, Any] = book["entries"][ID]
    entry["environment"]["gpu"] = READERS
    for program in entry["result"]["programs"]:
        for run in program["runs"]:
            run["host_s"] *= factor
    content = {"version": 1, "machine": "mine", "entries": {ID: entry}}
    path.write_text(json.dumps(content), "utf-8")


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A toy book with one page that shows an experiment, and one that doesn't."""
    project = Project.make(
        tmp_path_factory.mktemp("reader") / "toy",
        fuseshard_locale_path="",  # the package's own words
        fuseshard_packages=["toykit", "fuseshard"],
    )
    for edition, title in (("", "Outputs"), ("es/", "Salidas")):
        project.page(f"{edition}part/outputs").write_text(PAGE.format(title=title), "utf-8")
    write_file(project.folder / "mine.json", 1.5)
    return project


def build(project: Project, recordings_file: str) -> Build:
    """Build with a reader's file, named as on the command line; "" for none."""
    project.variables = {"RECORDINGS": recordings_file}
    return project.build("-W")


def cards(project: Project) -> list[set[str]]:
    """The cards that each edition's page names."""
    pages = [project.html(f"{edition}part/outputs") for edition in ("", "es/")]
    return [{card for card in (BOOKS, READERS, HERE) if card in page} for page in pages]


# Each build starts from what the last one left, so the order of these tests counts.


def test_a_readers_file_is_drawn_in_both_editions_and_executes_its_pages_only(
    book: Project,
) -> None:
    first = build(book, "")
    assert first.status == 0, first.output
    assert first.executed == ["index.md", "part/boxes.md", "part/outputs.md"]
    assert cards(book) == [{BOOKS}, {BOOKS}]
    with_file = build(book, "mine.json")
    assert with_file.status == 0, with_file.output
    assert with_file.executed == ["part/outputs.md"]
    assert cards(book) == [{BOOKS, READERS}] * 2
    assert f"RECORDINGS adds 1 result of {READERS}" in with_file.output
    assert book.html("es/part/outputs").count("no medido aquí:") == 2


def test_another_content_of_the_file_executes_its_pages_again(book: Project) -> None:
    shown = book.html("part/outputs")
    write_file(book.folder / "mine.json", 2.5)
    changed = build(book, str(book.folder / "mine.json"))
    assert changed.executed == ["part/outputs.md"], changed.output
    assert book.html("part/outputs") != shown


def test_a_bad_file_stops_the_build_before_anything_is_executed(book: Project) -> None:
    (book.folder / "bad.json").write_text('{"version": 9}', "utf-8")
    refused = build(book, "bad.json")
    assert refused.status != 0
    assert refused.executed == []
    assert "RECORDINGS: bad.json: got version 9, required 1" in refused.output
    assert "[fuseshard.recording]" in refused.output


def test_without_the_file_the_page_is_the_books_own_again(book: Project) -> None:
    without = build(book, "")
    assert without.executed == ["part/outputs.md"], without.output
    assert cards(book) == [{BOOKS}, {BOOKS}]


def test_on_a_gpu_the_page_is_live_with_our_recording_beside_it(book: Project) -> None:
    book.replace_in_both("part/outputs", "outcome = gpu_launches()", LIVE)
    live = build(book, "")
    assert live.status == 0, live.output
    assert cards(book) == [{HERE, BOOKS}] * 2
    page = book.html("part/outputs")
    assert page.count("Measured while this page was built:") == 1
    assert page.count("not measured here:") == 1
    assert page.index(HERE) < page.index(BOOKS)
