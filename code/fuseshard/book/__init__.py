"""The book's Sphinx extension: two editions from one build, and outputs rendered from data."""

from __future__ import annotations

from sphinx.application import Sphinx

from fuseshard.book import (
    assets,
    catalog,
    config,
    directives,
    editions,
    files,
    messages,
    pages,
    timing,
)
from fuseshard.book.run import execute as run


def setup(app: Sphinx) -> dict[str, object]:
    """Register one feature a line; each module numbers the events that it listens to."""
    messages.setup_messages()
    config.setup_config(app)
    catalog.setup_catalog(app)
    assets.setup_assets(app)
    pages.setup_pages(app)
    run.setup_run(app)
    files.setup_files(app)
    directives.setup_directives(app)
    editions.setup_editions(app)
    timing.setup_timing(app)
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": False}
