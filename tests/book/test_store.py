"""The cache of executed notebooks after a build was killed; oracle: what was put into it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuseshard.book.run.sources import Page
from fuseshard.book.run.store import Store

TEXT = """---
file_format: mystnb
description: x
---
# A page

```{{code-cell}} ipython3
{code}
```
"""


def make_page(folder: Path, name: str, code: str) -> Page:
    """Write and read a page."""
    path = folder / f"{name}.md"
    path.write_text(TEXT.format(code=code), "utf-8")
    return Page.load(path, folder, {})


@pytest.fixture
def page(tmp_path: Path) -> Page:
    return make_page(tmp_path, "one", "1 + 1")


@pytest.fixture
def store(tmp_path: Path, page: Page) -> Store:
    """A store with one page in it."""
    store = Store(tmp_path / "cache")
    store.add(page, 1.5)
    return store


def test_a_page_is_found_by_its_cells(store: Store, page: Page, tmp_path: Path) -> None:
    assert store.seconds(page.notebook) == 1.5
    assert store.seconds(make_page(tmp_path, "other", "1 + 1").notebook) == 1.5
    assert store.seconds(make_page(tmp_path, "third", "1 + 2").notebook) is None


@pytest.mark.parametrize("damage", ["cut", "missing"])
def test_a_record_without_its_whole_file_is_forgotten(
    store: Store, page: Page, damage: str
) -> None:
    [file] = store.folder.glob("executed/*/base.ipynb")
    if damage == "cut":
        file.write_text(file.read_text("utf-8")[:20], "utf-8")
    else:
        file.unlink()
    assert store.seconds(page.notebook) is None
    store.add(page, 2.5)
    assert Store(store.folder).seconds(page.notebook) == 2.5


@pytest.mark.parametrize("content", [b"", b"no database at all, but long enough to be one" * 50])
def test_a_database_that_cant_be_read_is_replaced(store: Store, page: Page, content: bytes) -> None:
    (store.folder / "global.db").write_bytes(content)
    again = Store(store.folder)
    assert again.seconds(page.notebook) is None
    again.add(page, 2.5)
    assert again.seconds(page.notebook) == 2.5


def test_pruning_keeps_what_pages_show(store: Store, page: Page, tmp_path: Path) -> None:
    old = make_page(tmp_path, "old", "2 + 2")
    store.add(old, 1.0)
    (store.folder / "executed" / "orphan").mkdir()
    assert store.prune([page.notebook]) == 1
    assert store.seconds(old.notebook) is None
    assert store.seconds(page.notebook) == 1.5
    assert len(list((store.folder / "executed").iterdir())) == 1
