"""The head of a page. Oracle: a complete head, and twins that lack one thing each."""

from pathlib import Path

import pytest
import yaml
from bookcheck import front_matter
from bookcheck.pages import BOOK, Page
from bookcheck.pieces import TOP

from tests.editions.conftest import PAGES, toy_page

GOOD = """\
---
file_format: mystnb
kernelspec: {name: python3, display_name: Python 3}
description: What a page of this book says about itself to a search engine.
---
(toy)=
# Title

## Section
"""


def test_every_page_has_a_complete_head(
    english: dict[Path, Page], spanish: dict[Path, Page]
) -> None:
    assert english
    pages = [*english.values(), *spanish.values()]
    found = [problem for page in pages for problem in front_matter.problems(page)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("right", "wrong", "complaint"),
    [
        ("file_format: mystnb\n", "", "file_format is None, must be 'mystnb'"),
        ("kernelspec: {name: python3, display_name: Python 3}\n", "", "kernelspec is None"),
        ("description: What", "summary: What", "description has 0 characters"),
        ("description: What a page", "description: x" + "x" * 160, "description has 2"),
        ("(toy)=\n", "", "no (label)= above the title"),
        ("## Section", "# Section", "2 headings of level 1"),
        ("## Section", "### Section", "jumps to level 3"),
    ],
)
def test_a_missing_part_is_named(right: str, wrong: str, complaint: str) -> None:
    assert front_matter.problems(toy_page(GOOD)) == []
    found = front_matter.problems(toy_page(GOOD.replace(right, wrong)))
    assert len(found) == 1
    assert complaint in found[0]


def test_labels_stand_once_in_an_edition(english: dict[Path, Page]) -> None:
    places: dict[str, list[str]] = {}
    for path, page in english.items():
        for label in page.pieces:
            if type(label).__name__ == "Label":
                places.setdefault(label.name, []).append(f"{path}:{label.line}")
    assert places
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_the_toc_lists_every_page_and_no_other() -> None:
    toc = yaml.safe_load((TOP / "_toc.yml").read_text("utf-8"))
    chapters = [chapter["file"] for part in toc["parts"] for chapter in part["chapters"]]
    listed = [toc["root"], *chapters]
    assert len(listed) == len(set(listed))
    assert sorted(f"{name}.md" for name in listed) == sorted(p.as_posix() for p in PAGES)
    assert all((BOOK / f"{name}.md").is_file() for name in listed)


def test_chapters_use_the_public_package_and_not_its_sphinx_side(english: dict[Path, Page]) -> None:
    assert _private("from fuseshard.book import x") and _private("import torch._dynamo")
    assert not _private("from fuseshard.show import figures")
    for path, page in english.items():
        cells = "\n".join(c.source for c in page.pieces if type(c).__name__ == "Cell")
        assert (path, _private(cells)) == (path, [])


def _private(source: str) -> list[str]:
    """Import lines that reach for the extension, or for something with a leading underscore."""
    lines = [x.strip() for x in source.splitlines() if x.strip().startswith(("import ", "from "))]
    return [x for x in lines if "fuseshard.book" in x or "._" in x or " _" in x]
