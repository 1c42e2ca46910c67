"""Both editions say the same. Oracle: a pair of toy pages that differ in one place each."""

from pathlib import Path

import pytest
from bookcheck import parity
from bookcheck.pages import BOOK, Page, english_pages, spanish_pages

from tests.editions.conftest import PAGES, toy_page

ENGLISH = """\
---
file_format: mystnb
kernelspec: {name: python3, display_name: Python 3}
description: In English.
---
(toy)=
# Title

It sends 1.5 parts, {glue:text}`sent:.2f` bytes.

```{code-cell} ipython3
:tags: [hide-input]
x = 1
```

:::{exercise} Guess
:name: toy-guess
Guess.
:::

(toy-next)=
## Next

Then 12 more.
"""
SPANISH = (
    ENGLISH.replace("In English", "En español")
    .replace("# Title", "# Título")
    .replace(
        "It sends 1.5 parts, {glue:text}`sent:.2f` bytes.",
        "Son {glue:text}`sent:.2f` bytes:\n1,5 partes.",
    )
    .replace("} Guess", "} Adivina")
    .replace("Guess.", "Adivina.")
    .replace("Next", "Después")
    .replace("Then 12 more.", "Luego, 12 más.")
)


def test_both_editions_have_the_same_pages() -> None:
    assert english_pages()
    found = parity.file_sets(english_pages(), spanish_pages())
    assert not found, "\n".join(found)


def test_a_page_in_one_language_is_named() -> None:
    a, b, c = Path("a.md"), Path("b.md"), Path("c.md")
    assert parity.file_sets([a, b], [a, b]) == []
    found = parity.file_sets([a, b], [a, c])
    assert found == [
        "b.md: stands in English only; add es/b.md",
        "es/c.md: stands in Spanish only; add c.md or remove it",
    ]


@pytest.mark.parametrize("path", PAGES, ids=str)
def test_a_page_and_its_twin_agree(
    path: Path, english: dict[Path, Page], spanish: dict[Path, Page]
) -> None:
    assert path in spanish, f"{BOOK.name}/es/{path} is missing"
    found = parity.differences(english[path], spanish[path])
    assert not found, "\n".join(found)


def test_a_faithful_translation_passes() -> None:
    assert parity.differences(toy_page(ENGLISH), toy_page(SPANISH, "es/toy.md")) == []


@pytest.mark.parametrize(
    ("right", "wrong", "complaint"),
    [
        (
            "## Después",
            "### Después",
            "headings differ at line 22 (English: 'level 2') and line 23",
        ),
        ("(toy-next)=\n", "", "labels: 2 in English, 1 in Spanish"),
        ("(toy-next)=", "(toy-luego)=", "labels differ at line 21"),
        ("x = 1", "x = 2", "code cells differ at line 11 (English: 'x = 1')"),
        ("x = 1", "x = 1 ", "code cells differ"),
        (":tags: [hide-input]\n", "", "code cells differ"),
        ("ipython3", "python3", "code cells differ"),
        (":name: toy-guess", ":name: toy-otro", "directives differ at line 16"),
        ("{exercise}", "{predict}", "directives differ at line 16"),
        ("sent:.2f", "sent:.1f", "glued values differ in the section at line 6 (toy)"),
        ("sent:.2f", "received:.2f", "glued values differ"),
        ("1,5", "2,5", "numbers in prose differ in the section at line 6 (toy)"),
        ("12 más", "más", "only English ['12'], only Spanish []"),
        ("display_name: Python 3", "display_name: Python", "front matter differs"),
    ],
)
def test_a_difference_is_named_with_its_place(right: str, wrong: str, complaint: str) -> None:
    assert right in SPANISH
    twin = toy_page(SPANISH.replace(right, wrong), "es/toy.md")
    found = parity.differences(toy_page(ENGLISH), twin)
    assert any(complaint in line for line in found), found
    assert all(line.startswith("toy.md and es/toy.md: ") for line in found)
