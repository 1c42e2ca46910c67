"""The frame of each page: its languages, its address, its description, and the theme's words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

from fuseshard.book.address import page_url, site_url
from fuseshard.book.catalog import catalog_of, language_name
from fuseshard.book.config import PACKAGE, BookConfig, book_config
from fuseshard.book.editions import languages

TEMPLATES = PACKAGE / "book" / "templates"
ROOT_LANGUAGE = "en"
HIDDEN = {"name": "robots", "content": "noindex"}
"""what search and the like, which come from no page of the book, say to search engines"""


@dataclass(frozen=True)
class Version:
    """The page in one of the book's languages."""

    language: str
    name: str
    """the language's name in itself"""
    link: str
    """relative, to the file: works on a server, below any path, and from a disk"""
    url: str
    """absolute, or '' where the site's address isn't known"""
    is_here: bool


def setup_pages(app: Sphinx) -> None:
    """Add our templates and what they and the page's head need."""
    app.connect("config-inited", configure, priority=400)  # event 1
    # Early: the theme renders the templates of its parts to see which are empty.
    app.connect("html-page-context", frame_page, priority=50)  # event 16


def configure(app: Sphinx, config: Config) -> None:
    """Put our templates before the theme's, and tell Sphinx the edition's address."""
    config.templates_path = [str(TEMPLATES), *config.templates_path]
    config.html_baseurl = _edition_url(_root_url(app), book_config(config).edition)
    config.html_use_index = False
    config.html_domain_indices = False


def frame_page(app: Sphinx, name: str, *page: Any) -> None:
    """Give a page its languages, its canonical address and its description."""
    _, context, doctree = page
    catalog = catalog_of(app)
    context["fs_say"] = lambda msgid: catalog.text(msgid, f"template of {name}")
    versions = list(versions_of(app, name))
    context["fs_versions"] = versions
    here = next(version for version in versions if version.is_here)
    context["pageurl"] = here.url or None
    tags = _head_tags(app, name, versions) if doctree else _tag("meta", **HIDDEN)
    context["metatags"] = context.get("metatags", "") + tags


def versions_of(app: Sphinx, name: str) -> Iterator[Version]:
    """Yield the page in each language, the root's first."""
    options = book_config(app.config)
    root = _root_url(app)
    up = "../" * (name.count("/") + (0 if options.is_root else 1))
    for language in [_root_language(options, app), *languages(app)]:
        folder = "" if language == _root_language(options, app) else f"{language}/"
        yield Version(
            language=language,
            name=language_name(language),
            link=f"{up}{folder}{name}.html",
            url=page_url(root + folder, name) if root else "",
            is_here=language == str(app.config.language),
        )


def _root_language(options: BookConfig, app: Sphinx) -> str:
    return str(app.config.language) if options.is_root else ROOT_LANGUAGE


def _root_url(app: Sphinx) -> str:
    options = book_config(app.config)
    if options.is_root:
        return site_url(options.site_url, Path(app.srcdir))
    return options.published_url


def _edition_url(root: str, edition: str) -> str:
    return f"{root}{edition}/" if root and edition else root


def _head_tags(app: Sphinx, name: str, versions: list[Version]) -> str:
    """Return what search engines want to know about a page."""
    description = str(app.env.metadata[name].get("description", ""))
    tags = [_tag("meta", name="description", content=description)]
    tags += [_alternate(version.language, version) for version in versions]
    return "".join([*tags, _alternate("x-default", versions[0])])


def _alternate(hreflang: str, version: Version) -> str:
    return _tag("link", rel="alternate", hreflang=hreflang, href=version.url or version.link)


def _tag(element: str, **attributes: str) -> str:
    written = " ".join(f'{key}="{escape(value)}"' for key, value in attributes.items())
    return f"\n    <{element} {written} />"
