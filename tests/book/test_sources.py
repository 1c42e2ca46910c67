"""Pages read from their files; oracle: pages written for the test, with known lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuseshard.book.messages import BookError
from fuseshard.book.run.client import refuse_stderr
from fuseshard.book.run.sources import Page, check_same_cells

PAGE = """---
file_format: mystnb
description: A page.
---
# A page

```{code-cell} ipython3
:tags: [hide-input]
first = 1
first
```

:::{note}
A fence in a box is no cell:

```python
second
```
:::

```{code-cell} ipython3
third
```
"""


def load(folder: Path, text: str, name: str = "page.md") -> Page:
    """Write and read a page."""
    (folder / name).write_text(text, "utf-8")
    return Page.load(folder / name, folder, {"extensions": ["colon_fence"]})


def test_cells_know_the_lines_of_their_code(tmp_path: Path) -> None:
    cells = load(tmp_path, PAGE).cells
    assert [(cell.line, cell.source.splitlines()[0]) for cell in cells] == [
        (9, "first = 1"),
        (22, "third"),
    ]
    assert cells[0].metadata == {"tags": ["hide-input"]}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("file_format: mystnb\n", "", r"page\.md:1: front matter lacks `file_format: mystnb`"),
        ("description: A page.\n", "", r"page\.md:1: .* description None, must be a sentence"),
        ("description: A page.", "description: 3", "description 3, must be a sentence"),
        ("---\n", "", "front matter lacks"),
    ],
)
def test_bad_front_matter_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(BookError, match=message):
        load(tmp_path, PAGE.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("third", "fourth", r"es\.md:22: the source of code cell 2 differs from page\.md:22"),
        (":tags: [hide-input]\n", "", r"es\.md:8: the options of code cell 1 differs"),
        ("third\n```\n", "third\n```\n\n```{code-cell} ipython3\n4\n```\n", "has 3 code cells"),
    ],
)
def test_differing_cells_are_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    original = load(tmp_path, PAGE)
    check_same_cells(original, load(tmp_path, PAGE.replace("A page", "Una página"), "es.md"))
    with pytest.raises(BookError, match=message):
        check_same_cells(original, load(tmp_path, PAGE.replace(old, new), "es.md"))


@pytest.mark.parametrize(("tag", "refused"), [("hide-input", True), ("allow-stderr", False)])
def test_only_tagged_cells_may_write_to_stderr(tmp_path: Path, tag: str, refused: bool) -> None:
    page = load(tmp_path, PAGE.replace("hide-input", tag))
    output = {"output_type": "stream", "name": "stderr", "text": "old habit\n"}
    cell = page.notebook.cells[page.cells[0].index]
    cell.outputs = [type(cell)(output)]
    if refused:
        with pytest.raises(BookError, match=r"page\.md:9: the code cell wrote to stderr"):
            refuse_stderr(page)
    else:
        refuse_stderr(page)
