"""Spanish follows English. Oracle: a toy book of one page, changed in one edition or in both."""

import subprocess
import sys
from pathlib import Path

import pytest
from bookcheck import freshness
from bookcheck.pages import BOOK

PAGE = Path("toy.md")
ENGLISH = "(toy)=\n# Title\n\nFirst.\n\n## Next\n\nSecond.\n\n```{code-cell} ipython3\nx = 1\n```\n"
SPANISH = ENGLISH.replace("First", "Primero").replace("Second", "Segundo")


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """A book whose only page was reviewed."""
    (tmp_path / "es").mkdir()
    (tmp_path / PAGE).write_text(ENGLISH, "utf-8")
    (tmp_path / "es" / PAGE).write_text(SPANISH, "utf-8")
    freshness.accept(PAGE, tmp_path)
    return tmp_path


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def test_the_spanish_edition_is_up_to_date() -> None:
    found = [str(section) for section in freshness.stale(BOOK)]
    assert not found, "\n".join(found)


def test_a_reviewed_page_is_fresh(book: Path) -> None:
    assert freshness.stale(book) == []


def test_a_changed_english_section_is_named(book: Path) -> None:
    edit(book / PAGE, "Second.", "Second, and more.")
    (stale,) = freshness.stale(book)
    assert (stale.page, stale.key, stale.line, stale.spanish_changed) == ("toy.md", "1.1", 6, False)
    assert "its Spanish didn't change; bring book/es/toy.md up to date" in str(stale)


def test_a_review_makes_it_fresh_again(book: Path) -> None:
    edit(book / PAGE, "Second.", "Second, and more.")
    edit(book / "es" / PAGE, "Segundo.", "Segundo y más.")
    (stale,) = freshness.stale(book)
    assert stale.spanish_changed
    freshness.accept(PAGE, book)
    assert freshness.stale(book) == []


def test_what_is_no_page_is_refused_before_anything_is_recorded() -> None:
    before = (BOOK / freshness.RECORD).read_bytes()
    tool = BOOK.parent / "tools" / "freshness.py"
    command = [sys.executable, tool, "accept", "compile/inductor"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 2
    assert "got compile/inductor, must be English pages below book/" in done.stderr
    assert (BOOK / freshness.RECORD).read_bytes() == before


def test_a_new_section_waits_for_its_review(book: Path) -> None:
    for path in (book / PAGE, book / "es" / PAGE):
        path.write_text(path.read_text("utf-8") + "\n## Last\n\nThird.\n", "utf-8")
    assert [s.key for s in freshness.stale(book)] == ["1.2"]


def test_spanish_alone_cells_and_line_breaks_may_change(book: Path) -> None:
    edit(book / "es" / PAGE, "Primero.", "En primer lugar.")
    for path in (book / PAGE, book / "es" / PAGE):
        edit(path, "x = 1", "x = 2")
    edit(book / PAGE, "First.\n", "First.\n\n")
    assert freshness.stale(book) == []


def test_a_removed_page_leaves_the_record(book: Path) -> None:
    (book / "other.md").write_text(ENGLISH, "utf-8")
    (book / "es" / "other.md").write_text(SPANISH, "utf-8")
    freshness.accept(Path("other.md"), book)
    (book / "other.md").unlink()
    freshness.accept(PAGE, book)
    assert list(freshness.load(book)) == ["toy.md"]
