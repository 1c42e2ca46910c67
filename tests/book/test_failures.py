"""What can be wrong in a book ends the build and is named; oracle: the message itself.

Each test breaks a toy book in one way. Those that fail before a kernel starts come first; checks
of single pages and records, which need no build, are in test_sources.py and test_draw.py.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from fuseshard.book.messages import BookError
from fuseshard.book.run.execute import refuse_bad_recordings
from fuseshard.measure.recordings import RECORDINGS_FOLDER
from tests.book.toybook import Project


def test_a_recording_without_a_field_is_refused_before_a_page_runs(tmp_path: Path) -> None:
    refuse_bad_recordings(RECORDINGS_FOLDER)  # those of the book are whole
    source = next(RECORDINGS_FOLDER.glob("*.json"))
    data = json.loads(source.read_text("utf-8"))
    for entry in data["entries"].values():
        del entry["environment"]["torch"]
    (tmp_path / source.name).write_text(json.dumps(data), "utf-8")
    with pytest.raises(BookError, match=rf"{source.name}.*\.torch: got nothing.*record again"):
        refuse_bad_recordings(tmp_path)


def test_a_page_missing_in_one_language_is_named(project: Project) -> None:
    project.page("es/part/boxes").unlink()
    built = project.build()
    assert built.status == 1
    assert "es/part/boxes.md: the page is missing" in built.output
    assert built.output.endswith("[fuseshard.page]\n")  # no traceback pushes it out of sight
    assert built.executed == []


def test_a_translation_of_no_page_is_named(project: Project) -> None:
    shutil.copy(project.page("es/index"), project.page("es/part/extra"))
    built = project.build()
    assert built.status == 1
    assert "es/part/extra.md: translates part/extra.md, which doesn't exist" in built.output


def test_differing_cells_are_named_before_any_is_executed(project: Project) -> None:
    project.replace("book/es/part/boxes.md", "double(21)", "double(22)")
    built = project.build()
    assert built.status == 1
    assert "es/part/boxes.md:14: the source of code cell 1 differs" in built.output
    assert built.executed == []


def test_a_language_without_a_catalog_is_named(project: Project) -> None:
    shutil.copytree(project.folder / "book/es", project.folder / "book/fr")
    built = project.build()
    assert built.status == 1
    assert "there is no catalog fr/LC_MESSAGES/*.po" in built.output


def test_a_bad_option_is_named_with_what_is_allowed(project: Project) -> None:
    project.configure({"sphinx": {"config": {"fuseshard_site_url": "example.org"}}})
    built = project.build("-W")
    assert built.status == 1
    assert "fuseshard_site_url is 'example.org', must be '' or an http(s) URL" in built.output
    assert "[fuseshard.config]" in built.output


def test_a_raising_cell_is_named_with_page_line_and_exception(small: Project) -> None:
    small.replace_in_both("part/boxes", "double(21)", "number = 21\n\n1 / 0  # here")
    built = small.build()
    assert built.status == 1
    assert "part/boxes.md:18: code cell 1 (line 14) raised ZeroDivisionError" in built.output
    assert "----> 5 1 / 0  # here" in built.output
    assert "[fuseshard.cell]" in built.output


def test_a_cell_that_takes_too_long_is_named(small: Project) -> None:
    small.configure({"execute": {"timeout": 2}})
    small.replace_in_both("part/boxes", "double(21)", "import time; time.sleep(60)")
    built = small.build()
    assert built.status == 1
    assert "part/boxes.md:14: the code cell took longer than 2 s" in built.output


def test_a_dead_kernel_is_named_with_its_page_and_cell(small: Project) -> None:
    kill = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    small.replace_in_both("part/boxes", "double(21)", kill)
    built = small.build()
    assert built.status == 1
    assert "part/boxes.md:14: DeadKernelError: the kernel ended by signal 9" in built.output
    assert "while code cell 1 ran" in built.output


def test_a_warning_on_a_page_ends_the_build(small: Project) -> None:
    warn = "import warnings; warnings.warn('old habit')"
    small.replace_in_both("part/boxes", "double(21)", warn)
    built = small.build()
    assert built.status == 1
    assert "part/boxes.md:14: the code cell wrote to stderr" in built.output
    assert "old habit" in built.output


def test_a_word_without_an_entry_is_named_with_page_and_figure(project: Project) -> None:
    project.replace("locale/es/LC_MESSAGES/fuseshard.po", "inmediato", "")
    built = project.build()
    assert built.status == 1
    # The child's message, told again by the process that `jb` runs.
    message = built.output[built.output.index("es/: the edition in 'es' failed") :]
    assert "es/part/outputs.md:13 (speed): no 'es' text for 'eager'" in message
    assert "[fuseshard.word]" in message


def test_a_warning_in_another_edition_ends_the_build_and_is_shown(small: Project) -> None:
    small.replace("book/es/part/boxes.md", "{ref}`count`", "{ref}`lost`")
    built = small.build("-W")
    assert built.status == 1
    message = built.output[built.output.index("es/: the edition in 'es' failed") :]
    assert "undefined label: 'lost'" in message
    assert "[fuseshard.edition]" in message
