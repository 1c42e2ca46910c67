"""The pages of both editions, parsed once."""

from pathlib import Path

import pytest
from bookcheck.pages import BOOK, Page, english_pages, parse_page, read_page, spanish_pages

PAGES = english_pages()


@pytest.fixture(scope="session")
def english() -> dict[Path, Page]:
    """Each English page by its name."""
    return {path: read_page(BOOK / path) for path in english_pages()}


@pytest.fixture(scope="session")
def spanish() -> dict[Path, Page]:
    """Each Spanish page by its name, which is its twin's."""
    return {path: read_page(BOOK / "es" / path) for path in spanish_pages()}


def toy_page(text: str, name: str = "toy.md") -> Page:
    """A page that exists only in a test."""
    return parse_page(text, Path(name))
