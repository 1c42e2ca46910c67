"""Data files of a page, which all editions read: written once, by the root edition.

They hold no words, so that one file serves every language. They stand beside the pages and not in
`_static`, of which each edition has its own.
"""

from __future__ import annotations

from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

from fuseshard.book.config import book_config

FOLDER = "explorer"
"""below the site's root"""
FILES = "fuseshard_files"
"""attribute of the raw node that needs files: name below the page's folder -> content; kept in the
page's doctree, so that they are there when the page is written anew without being read again"""


def setup_files(app: Sphinx) -> None:
    """Write a page's data files when the page itself is written."""
    app.connect("doctree-resolved", write_files)  # event 15


def files_address(app: Sphinx, docname: str) -> str:
    """Return the way from a page to the folder of its data files; works from a disk too."""
    up = docname.count("/") + (0 if book_config(app.config).is_root else 1)
    return f"{'../' * up}{FOLDER}/{docname}/"


def write_files(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Write the files that a page's nodes brought along."""
    if app.builder.format != "html":
        return
    folder = Path(app.outdir) / FOLDER / docname
    for node in doctree.findall(nodes.raw):
        for name, content in node.get(FILES, {}).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, "utf-8")
