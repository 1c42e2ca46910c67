"""Where the book is published: the one place that knows, and the one that asks the environment."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

_GITHUB = re.compile(r"(?:https://github\.com/|git@github\.com:)([\w.-]+)/([\w.-]+?)(?:\.git)?/?")


def site_url(configured: str, folder: Path) -> str:
    """Return the address of the site's root, ending in /, or '' where it isn't known.

    The option `fuseshard_site_url` wins; then the repository that GitHub Actions names; then the
    `origin` of the checkout, if it is on GitHub.

    Args:
        configured: value of `fuseshard_site_url`.
        folder: a folder in the checkout.
    """
    return configured or _pages_url(os.environ.get("GITHUB_REPOSITORY", "")) or _origin_url(folder)


def page_url(root: str, page: str) -> str:
    """Return the address of a page, without the index.html that a server adds by itself.

    Args:
        root: address of the edition, ending in /.
        page: Sphinx's name of the page, e.g. "compile/inductor".
    """
    if page == "index" or page.endswith("/index"):
        return root + page[: -len("index")]
    return f"{root}{page}.html"


def _pages_url(repository: str) -> str:
    """Turn owner/name into the address that GitHub Pages gives it."""
    owner, _, name = repository.partition("/")
    if not owner or not name:
        return ""
    host = f"{owner.lower()}.github.io"
    return f"https://{host}/" if name.lower() == host else f"https://{host}/{name}/"


def _origin_url(folder: Path) -> str:
    try:
        found = subprocess.run(
            ["git", "-C", str(folder), "remote", "get-url", "origin"],
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:  # no git: a downloaded archive
        return ""
    match = _GITHUB.fullmatch(found.stdout.strip())
    return _pages_url(f"{match[1]}/{match[2]}") if match else ""
