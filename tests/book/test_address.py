"""Where the book is published; oracle: the rule of GitHub Pages, for repositories made here."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from fuseshard.book.address import page_url, site_url


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty repository, on a machine that isn't GitHub's."""
    monkeypatch.delenv("GITHUB_REPOSITORY", raising=False)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    return tmp_path


def set_origin(folder: Path, url: str) -> None:
    """Give a repository an origin."""
    subprocess.run(["git", "-C", str(folder), "remote", "add", "origin", url], check=True)


@pytest.mark.parametrize(
    ("origin", "address"),
    [
        ("https://github.com/Owner/book.git", "https://owner.github.io/book/"),
        ("git@github.com:owner/book", "https://owner.github.io/book/"),
        ("https://github.com/owner/owner.github.io", "https://owner.github.io/"),
        ("https://example.org/owner/book.git", ""),
    ],
)
def test_the_origin_on_github_gives_the_address(checkout: Path, origin: str, address: str) -> None:
    assert site_url("", checkout) == ""
    set_origin(checkout, origin)
    assert site_url("", checkout) == address


def test_configuration_wins_then_the_repository_that_actions_name(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_origin(checkout, "https://github.com/fork/book")
    monkeypatch.setenv("GITHUB_REPOSITORY", "owner/book")
    assert site_url("", checkout) == "https://owner.github.io/book/"
    assert site_url("https://example.org/", checkout) == "https://example.org/"


def test_an_index_page_is_its_folder() -> None:
    root = "https://example.org/es/"
    assert page_url(root, "index") == root
    assert page_url(root, "part/index") == root + "part/"
    assert page_url(root, "part/reindex") == root + "part/reindex.html"
