"""Every output is read aloud. Oracle: toy pages that do, and twins that fall one word short."""

from pathlib import Path

import pytest
from bookcheck import narration
from bookcheck.pages import Page
from bookcheck.pieces import Cell

from tests.editions.conftest import toy_page

TWELVE = "one two three four five six seven eight nine ten eleven twelve"


def cell(source: str, options: str = "") -> str:
    return f"```{{code-cell}} ipython3\n{options}{source}\n```\n\n"


def complaints(text: str) -> list[str]:
    return narration.problems(toy_page(text))


def test_the_pages_read_their_outputs(english: dict[Path, Page], spanish: dict[Path, Page]) -> None:
    assert english
    pages = [*english.values(), *spanish.values()]
    found = [problem for page in pages for problem in narration.problems(page)]
    assert not found, "\n".join(found)


def test_twelve_words_pass_and_eleven_fail() -> None:
    page = cell("a") + TWELVE + "\n\n" + cell("b") + TWELVE
    assert complaints(page) == []
    found = complaints(page.replace("twelve", "", 1))
    assert len(found) == 1
    assert found[0].startswith(
        "toy.md:1: 11 words between this cell's output and the output at line"
    )


def test_the_last_output_is_read_before_the_page_ends() -> None:
    assert "the end of the page" in complaints(cell("a"))[0]


def test_headings_and_tables_read_nothing_aloud() -> None:
    assert complaints(cell("a") + f"## {TWELVE}\n\n" + cell("b") + TWELVE)


def test_the_environment_card_speaks_for_itself() -> None:
    assert complaints(cell("a") + TWELVE + "\n\n" + cell("environment_card()")) == []


@pytest.mark.parametrize("silent", ["x = 1", "quote(a=1)", "None", "opt.step()", "assert x == 1"])
def test_a_cell_without_output_needs_no_reading(silent: str) -> None:
    assert complaints(cell(silent)) == []


@pytest.mark.parametrize(
    "loud", ["x", "f(x)", "for i in x:\n    print(i)", "if x:\n    display(x)"]
)
def test_a_cell_with_output_needs_one(loud: str) -> None:
    assert complaints(cell(loud))
    assert complaints(cell(loud, ":tags: [remove-output]\n")) == []


def test_a_cell_of_26_lines_is_too_long() -> None:
    assert complaints(cell("x = 1\n" * 24 + "x = 1")) == []
    assert "a cell of 26 lines, at most 25" in complaints(cell("x = 1\n" * 25 + "x = 1"))[0]


def test_every_cell_of_the_book_is_python(english: dict[Path, Page]) -> None:
    cells = [c for page in english.values() for c in page.of(Cell)]
    assert cells
    assert all(narration.shows_output(c) in {True, False} for c in cells)
