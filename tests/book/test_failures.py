"""What can be wrong in a book ends the build and is named; oracle: the message itself.

Each test breaks a toy book in one way. Those that fail before a kernel starts come first.
"""

from __future__ import annotations

import shutil

import pytest

from tests.book.toybook import Project


def test_a_page_missing_in_one_language_is_named(project: Project) -> None:
    project.page("es/part/boxes").unlink()
    built = project.build()
    assert built.status == 1
    assert "es/part/boxes.md: the page is missing" in built.output
    assert built.executed == []


def test_a_translation_of_no_page_is_named(project: Project) -> None:
    shutil.copy(project.page("es/index"), project.page("es/part/extra"))
    built = project.build()
    assert built.status == 1
    assert "es/part/extra.md: translates part/extra.md, which doesn't exist" in built.output


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("double(21)", "double(22)", "cell 1 differs from part/boxes.md:15"),
        ("```{code-cell} ipython3\n", "```{code-cell} ipython3\n:tags: [x]\n", "the options of"),
        ("\n(later)=", "\n```{code-cell} ipython3\n1\n```\n\n(later)=", "has 2 code cells"),
    ],
)
def test_differing_cells_are_named(project: Project, old: str, new: str, message: str) -> None:
    project.replace("book/es/part/boxes.md", old, new)
    built = project.build()
    assert built.status == 1
    assert "es/part/boxes.md" in built.output
    assert message in built.output
    assert built.executed == []


def test_a_page_that_would_not_be_executed_is_refused(project: Project) -> None:
    project.replace("book/part/boxes.md", "file_format: mystnb\n", "")
    built = project.build()
    assert built.status == 1
    assert "part/boxes.md:1: front matter lacks `file_format: mystnb`" in built.output


def test_a_page_without_a_description_is_refused(project: Project) -> None:
    project.replace("book/es/index.md", "description: Un libro", "about: Un libro")
    built = project.build()
    assert built.status == 1
    assert "es/index.md:1: front matter has the description None" in built.output


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


def test_a_raising_cell_is_named_with_page_line_and_exception(project: Project) -> None:
    _change_cell(project, "double(21)", "number = 21\n\n1 / 0  # here")
    built = project.build()
    assert built.status == 1
    assert "part/boxes.md:17: code cell 1 (line 13) raised ZeroDivisionError" in built.output
    assert "# here" in built.output
    assert "[fuseshard.cell]" in built.output


def test_a_cell_that_takes_too_long_is_named(project: Project) -> None:
    project.configure({"execute": {"timeout": 2}})
    _change_cell(project, "double(21)", "import time; time.sleep(30)")
    built = project.build()
    assert built.status == 1
    assert "part/boxes.md:13: the code cell took longer than 2 s" in built.output


def test_a_dead_kernel_is_named_with_its_page_and_cell(project: Project) -> None:
    _change_cell(project, "double(21)", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    built = project.build()
    assert built.status == 1
    assert "part/boxes.md:13: DeadKernelError: the kernel ended by signal 9" in built.output
    assert "while code cell 1 ran" in built.output


def test_a_warning_on_a_page_ends_the_build_unless_it_is_meant(project: Project) -> None:
    _change_cell(project, "double(21)", "import warnings; warnings.warn('old habit')")
    built = project.build()
    assert built.status == 1
    assert "part/boxes.md:13: the code cell wrote to stderr" in built.output
    assert "old habit" in built.output
    _change_cell(
        project,
        "from toykit.small import double",
        ":tags: [allow-stderr]\nfrom toykit.small import double",
    )
    assert project.build().status == 0


def test_a_word_without_an_entry_is_named_with_page_and_figure(project: Project) -> None:
    project.replace("locale/es/LC_MESSAGES/fuseshard.po", "inmediato", "")
    built = project.build()
    assert built.status == 1
    assert "part/outputs.md:11 (speed): no 'es' text for 'eager'" in built.output
    assert "[fuseshard.word]" in built.output


def test_a_placeholder_lost_in_translation_is_named(project: Project) -> None:
    project.replace("locale/es/LC_MESSAGES/fuseshard.po", "Medido en {cpu}.", "Medido en {cosa}.")
    built = project.build()
    assert built.status == 1
    assert "doesn't take the values {'cpu': 'a toy'}" in built.output


def test_a_shown_string_that_nobody_registered_is_named(project: Project) -> None:
    project.replace("kit/toykit/records.py", '"verbatim": ["aten::mm"]', '"verbatim": []')
    built = project.build()
    assert built.status == 1
    assert "part/outputs.md:11 (speed): figure 'speed' shows 'aten::mm'" in built.output


def test_a_warning_in_another_edition_ends_the_build_and_is_shown(project: Project) -> None:
    project.replace("book/es/part/boxes.md", "{ref}`count`", "{ref}`lost`")
    built = project.build("-W")
    assert built.status == 1
    message = built.output[built.output.index("es/: the edition in 'es' failed") :]
    assert "undefined label: 'lost'" in message
    assert "[fuseshard.edition]" in message


def _change_cell(project: Project, old: str, new: str) -> None:
    for edition in ("book", "book/es"):
        project.replace(f"{edition}/part/boxes.md", old, new)
