"""Pages as they stand in the book's folders: notebooks in MyST Markdown, checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from myst_nb.core.read import (
    MystMetadataParsingError,
    is_myst_markdown_notebook,
    read_myst_markdown_notebook,
)
from myst_parser.config.main import MdParserConfig
from nbformat import NotebookNode

from fuseshard.book.messages import BookError, Subtype
from fuseshard.book.run.digest import page_key
from fuseshard.book.run.kernel import KERNEL_ENV

KEY = "fuseshard_key"
"""where the page's key hides in the notebook's kernelspec, which jupyter-cache hashes"""


def read_page(
    text: str, packages: Sequence[str] = (), extensions: Sequence[str] = ()
) -> NotebookNode:
    """Read a page's Markdown as a notebook that carries the key of what it depends on.

    MyST-NB calls this for every page (`nb_custom_formats`).

    Args:
        text: the page.
        packages: names of the packages whose source is part of the key.
        extensions: MyST's syntax extensions.
    """
    config = MdParserConfig(enable_extensions=set(extensions))
    notebook = read_myst_markdown_notebook(text, config=config, add_source_map=True)
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    notebook.metadata["kernelspec"] = {
        "name": "python3",
        "display_name": "Python 3",
        KEY: page_key(cells, packages, KERNEL_ENV),
    }
    return notebook


@dataclass(frozen=True)
class Cell:
    """A code cell: where it stands, and what is compared and executed."""

    index: int
    """position among all cells of the notebook"""
    line: int
    """1-based; first line of code in the page"""
    source: str
    metadata: dict[str, Any]


@dataclass(frozen=True)
class Page:
    """A page of one edition."""

    name: str
    """path in the book with its suffix, e.g. "es/compile/inductor.md"; how errors name it"""
    path: Path
    text: str
    notebook: NotebookNode

    @classmethod
    def load(cls, path: Path, root: Path, reader: dict[str, Any], text: str | None = None) -> Page:
        """Read and check a page.

        Args:
            path: file of the page.
            root: folder that the page's name is relative to.
            reader: keyword arguments for `read_page`.
            text: of the page, if it was read already.

        Raises:
            BookError: the front matter is missing or incomplete.
        """
        name = path.relative_to(root).as_posix()
        text = path.read_text("utf-8") if text is None else text
        check_front_matter(text, name)
        try:
            return cls(name, path, text, read_page(text, **reader))
        except MystMetadataParsingError as error:
            raise BookError(Subtype.PAGE, f"can't be read as a notebook: {error}", name) from error

    @property
    def cells(self) -> list[Cell]:
        """The code cells in order."""
        return [
            Cell(index, self._first_line(index), cell.source, dict(cell.metadata))
            for index, cell in enumerate(self.notebook.cells)
            if cell.cell_type == "code"
        ]

    def _first_line(self, index: int) -> int:
        """Find the line where a cell's code starts, after its options."""
        start = int(self.notebook.metadata["source_map"][index])
        first = self.notebook.cells[index].source.partition("\n")[0]
        for number, line in enumerate(self.text.splitlines()[start:], start=start + 1):
            if line == first:
                return number
        return start + 1


def check_front_matter(text: str, name: str) -> None:
    """Refuse a page that MyST-NB wouldn't execute, or that search engines couldn't describe.

    Raises:
        BookError: names what is missing and how it is written.
    """
    if not is_myst_markdown_notebook(text):
        raise BookError(
            Subtype.PAGE,
            "front matter lacks `file_format: mystnb`, without which no cell would be executed; "
            "start the page with `---`, `file_format: mystnb`, `kernelspec: {name: python3, "
            "display_name: Python 3}`, `description: ...`, `---`",
            f"{name}:1",
        )
    matter = yaml.safe_load(text.split("---", 2)[1])
    description = matter.get("description")
    if not isinstance(description, str) or not description.strip():
        raise BookError(
            Subtype.PAGE,
            f"front matter has the description {description!r}, must be a sentence (search "
            "engines show it); add `description: ...`",
            f"{name}:1",
        )


def check_same_cells(original: Page, translated: Page) -> None:
    """Refuse a translation whose code cells differ, since both editions share one execution.

    Raises:
        BookError: names both pages, both lines and the first difference.
    """
    ours, theirs = original.cells, translated.cells
    for number, (a, b) in enumerate(zip(ours, theirs, strict=False), start=1):
        if (a.source, a.metadata) != (b.source, b.metadata):
            what = "source" if a.source != b.source else "options"
            raise BookError(
                Subtype.PAGE,
                f"the {what} of code cell {number} differs from {original.name}:{a.line}; make "
                f"them equal byte for byte: {_difference(a, b)}",
                f"{translated.name}:{b.line}",
            )
    if len(ours) != len(theirs):
        raise BookError(
            Subtype.PAGE,
            f"has {len(theirs)} code cells, {original.name} has {len(ours)}; both editions need "
            "the same cells, because they are executed once",
            translated.name,
        )


def _difference(a: Cell, b: Cell) -> str:
    if a.source == b.source:
        return f"{b.metadata} against {a.metadata}"
    left, right = a.source.splitlines(), b.source.splitlines()
    for one, other in zip(left, right, strict=False):
        if one != other:
            return f"{other!r} against {one!r}"
    return f"{len(right)} lines against {len(left)}"
