"""Read a page of the book: its front matter, its pieces in order, and its sections."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import yaml

from bookcheck.pieces import TOP, Heading, Label, Piece, Sentence, parser, pieces_of

BOOK = TOP / "book"
_Kind = TypeVar("_Kind", bound=Piece)


@dataclass(frozen=True)
class Section:
    """What stands under one heading, up to the next heading of any level."""

    key: str
    """the label above the heading where there is one, else its place on the page"""
    heading: Heading | None
    pieces: tuple[Piece, ...]
    source: str


@dataclass(frozen=True)
class Page:
    """A parsed page."""

    path: Path
    front_matter: dict[str, object]
    pieces: tuple[Piece, ...]
    text: str = field(repr=False)

    def of(self, kind: type[_Kind]) -> list[_Kind]:
        """The pieces of one kind, in order."""
        return [piece for piece in self.pieces if isinstance(piece, kind)]

    @property
    def prose(self) -> list[Sentence]:
        """The page's sentences, headings' and titles' among them."""
        return self.of(Sentence)

    @property
    def sections(self) -> list[Section]:
        """The page cut at its headings; what stands before the first one is left out."""
        return list(_sections(self))


def english_pages(book: Path = BOOK) -> list[Path]:
    """Name the English chapters, relative to the book's folder."""
    return _pages_under(book, skip={"_build", "es"})


def spanish_pages(book: Path = BOOK) -> list[Path]:
    """Name the Spanish chapters, relative to `es/`."""
    return _pages_under(book / "es", skip={"_build"})


def read_page(path: Path) -> Page:
    """Parse a page; messages name it from the top of the checkout."""
    shown = path.relative_to(TOP) if path.is_relative_to(TOP) else path
    return parse_page(path.read_text("utf-8"), shown)


def parse_page(text: str, path: Path) -> Page:
    """Parse the text of a page; `path` only names it."""
    pieces: list[Piece] = []
    matter: dict[str, object] = {}
    tokens = parser().parse(text)
    if tokens and tokens[0].type == "front_matter":
        matter = yaml.safe_load(tokens[0].content) or {}
    pieces.extend(pieces_of(tokens))
    return Page(path, matter, tuple(pieces), text)


def _pages_under(folder: Path, *, skip: set[str]) -> list[Path]:
    found = (path.relative_to(folder) for path in folder.rglob("*.md"))
    return sorted(path for path in found if not skip & set(path.parts))


def _sections(page: Page) -> Iterator[Section]:
    lines = page.text.splitlines()
    headings = [(i, p) for i, p in enumerate(page.pieces) if isinstance(p, Heading)]
    starts = [(_with_labels(page.pieces, i), heading) for i, heading in headings]
    bounds = [start for start, _ in starts[1:]] + [len(page.pieces)]
    counter: dict[int, int] = {}
    for (start, heading), end in zip(starts, bounds, strict=True):
        counter[heading.level] = counter.get(heading.level, 0) + 1
        for deeper in [level for level in counter if level > heading.level]:
            del counter[deeper]
        pieces = page.pieces[start:end]
        label = pieces[0].name if isinstance(pieces[0], Label) else ""
        place = ".".join(str(counter.get(level, 0)) for level in range(1, heading.level + 1))
        first = pieces[0].line - 1
        last = page.pieces[end].line - 1 if end < len(page.pieces) else len(lines)
        source = "\n".join(lines[first:last])
        yield Section(label or place, heading, pieces, source)


def _with_labels(pieces: tuple[Piece, ...], index: int) -> int:
    """Step back over the labels that stand right above a heading."""
    while index and isinstance(pieces[index - 1], Label):
        index -= 1
    return index
