"""Reading a page. Oracle: myst-nb's own reader, which is what the build executes."""

from pathlib import Path

from bookcheck.pages import BOOK, Page, parse_page
from bookcheck.pieces import Cell, Directive, Heading, Label, Sentence
from myst_nb.core.config import NbParserConfig
from myst_nb.core.read import create_nb_reader
from myst_parser.config.main import MdParserConfig

TOY = """\
---
file_format: mystnb
kernelspec: {name: python3, display_name: Python 3}
description: A page that exists only in a test.
---
(toy)=
# Title

It takes {glue:text}`time:.1f` ms, as `code` and $x^2$ [say
so](https://example.org/paper).
A second sentence.

```{code-cell} ipython3
:tags: [hide-input]
x = 1
x
```

:::{exercise} Guess `x`
:name: toy-exercise
Think of a number.

```{warning}
Not too large.
```
:::

## Next

| a | b |
|---|---|
| 1 | 2 |
"""


def test_a_page_falls_into_its_pieces() -> None:
    page = parse_page(TOY, Path("toy.md"))
    assert page.front_matter["file_format"] == "mystnb"
    assert page.of(Label) == [Label(6, "toy")]
    assert page.of(Heading) == [Heading(7, 1, "Title"), Heading(28, 2, "Next")]
    assert [(d.line, d.name, d.options) for d in page.of(Directive)] == [
        (19, "exercise", (("name", "toy-exercise"),)),
        (23, "warning", ()),
    ]
    (cell,) = page.of(Cell)
    assert (cell.line, cell.options, cell.source) == (13, {"tags": ["hide-input"]}, "x = 1\nx")


def test_a_sentence_knows_its_line_its_words_and_what_is_not_prose() -> None:
    sentences = parse_page(TOY, Path("toy.md")).prose
    first = sentences[1]
    assert first.text.split() == ["It", "takes", "ms,", "as", "and", "say"]
    assert [span.kind for span in first.spans if span.kind != "text"] == [
        "role",
        "code",
        "math",
        "link",
    ]
    assert first.words == len(["It", "takes", "#", "ms", "as", "#", "and", "#", "say"])
    places = [(s.line, s.context) for s in sentences]
    assert places[:4] == [(7, "heading"), (9, "prose"), (10, "prose"), (11, "prose")]
    assert (24, "prose") in places
    assert places[-1] == (32, "cell")


def test_sections_are_keyed_by_their_label_or_their_place() -> None:
    sections = parse_page(TOY, Path("toy.md")).sections
    assert [s.key for s in sections] == ["toy", "1.1"]
    assert sections[1].source.splitlines()[0] == "## Next"


def test_cells_are_those_that_the_build_executes(english: dict[Path, Page]) -> None:
    """The toy first, so that the comparison is known to see cells at all."""
    assert _executed(TOY) == ["x = 1\nx"]
    assert english
    for path, page in english.items():
        ours = [cell.source for cell in page.of(Cell)]
        assert (path, ours) == (path, _executed((BOOK / path).read_text("utf-8")))


def _executed(text: str) -> list[str]:
    reader = create_nb_reader("toy.md", MdParserConfig(), NbParserConfig(), text)
    assert reader is not None, "without file_format: mystnb the build executes nothing"
    notebook = reader.read(text)
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


def test_every_sentence_stands_on_a_line_of_its_own(
    english: dict[Path, Page], spanish: dict[Path, Page]
) -> None:
    assert _crowded(parse_page("One. Two.\n", Path("toy.md")))
    assert not _crowded(parse_page("It is 2.5 e.g. here (see b.).\nTwo.\n", Path("toy.md")))
    found = [row for page in [*english.values(), *spanish.values()] for row in _crowded(page)]
    assert not found, "\n".join(found)


def _crowded(page: Page) -> list[str]:
    """Lines that hold the end of a sentence and the beginning of another."""
    return [
        f"{page.path}:{s.line}: two sentences on one line; a line holds one"
        for s in page.prose
        if isinstance(s, Sentence) and s.context == "prose" and _has_two(s.text)
    ]


def _has_two(text: str) -> bool:
    ends = [i for i in range(len(text) - 2) if text[i] in ".?" and text[i + 1] == " "]
    return any(text[i + 2].isupper() and text[i - 1].islower() and i > 1 for i in ends)
