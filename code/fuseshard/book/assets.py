"""What pages load: our style and script, local plotly.js and MathJax, nothing from elsewhere."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

from fuseshard.book.config import PACKAGE, book_config

STATIC = PACKAGE / "book" / "static"
VENDOR = PACKAGE / "book" / "vendor"
"""plotly.js (cartesian) 4.1.1 and MathJax 3.2.2 (tex-svg-full), as published on npm"""

DARK_ID = "fuseshard-dark"
"""id of the script element that holds the palette's light -> dark map"""

UNUSED = "sphinx_thebe"
"""extension that Jupyter Book always loads, whose scripts would ask other hosts for more"""
UNUSED_STYLE = "sphinx-thebe.css"

MATHJAX = {
    # No menu: its items would load further files and write to the reader's storage.
    "options": {"enableMenu": False},
}


def setup_assets(app: Sphinx) -> None:
    """Add our files to the site and take the unused ones off its pages."""
    app.connect("config-inited", configure, priority=400)  # event 1
    app.connect("builder-inited", copy_vendor)  # event 2
    app.connect("config-inited", disconnect_unused)  # event 1
    app.connect("html-page-context", drop_unused, priority=900)  # event 16, after who adds them
    app.add_css_file("fuseshard/book.css", priority=900)


def vendor_path(app: Sphinx) -> str:
    """Return the way from `_static` to the vendored scripts, which all editions share."""
    return "../vendor/" if book_config(app.config).is_root else "../../vendor/"


def figure_script(app: Sphinx) -> tuple[str, dict[str, str]]:
    """Return the script that draws figures, with the attributes of its element."""
    plotly = f"../{vendor_path(app)}plotly/plotly-cartesian.min.js"  # relative to the script
    return "fuseshard/figures.js", {"loading_method": "defer", "data-plotly": plotly}


def configure(app: Sphinx, config: Config) -> None:
    """Point MathJax at our copy, and keep notebooks' widgets from loading theirs."""
    config.html_static_path = [*config.html_static_path, str(STATIC)]
    config.html_favicon = str(STATIC / "fuseshard" / "favicon.svg")
    config.mathjax_path = f"{vendor_path(app)}mathjax/tex-svg-full.js"
    config.mathjax3_config = {**MATHJAX, **(config.mathjax3_config or {})}
    config.nb_ipywidgets_js = {}


def copy_vendor(app: Sphinx) -> None:
    """Put the vendored scripts beside the pages, once for all editions.

    Not into `_static`: Jupyter Book would load every script there on every page.
    """
    if app.builder.format != "html" or not book_config(app.config).is_root:
        return
    for source in sorted(path for path in VENDOR.rglob("*") if path.is_file()):
        target = Path(app.outdir) / "vendor" / source.relative_to(VENDOR)
        if not target.is_file() or target.stat().st_size != source.stat().st_size:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)


def disconnect_unused(app: Sphinx, config: Config) -> None:
    """Keep the extension that we don't use from adding scripts to each page."""
    for listeners in list(app.events.listeners.values()):
        for listener in list(listeners):
            if listener.handler.__module__ == UNUSED:
                app.disconnect(listener.id)


def drop_unused(app: Sphinx, *page: Any) -> None:
    """Take the style sheet of the extension that we don't use off the page."""
    context: dict[str, Any] = page[2]
    context["css_files"] = [
        asset
        for asset in context.get("css_files", [])
        if UNUSED_STYLE not in str(getattr(asset, "filename", asset))
    ]
