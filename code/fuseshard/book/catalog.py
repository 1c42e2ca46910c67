"""The words of one edition: what code draws, what the site says, and the theme's own words."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from gettext import NullTranslations
from pathlib import Path
from typing import Any

from babel import Locale
from babel.messages.pofile import read_po
from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx import locale as sphinx_locale
from sphinx.application import Sphinx
from sphinx.config import Config

from fuseshard.book.config import PACKAGE, book_config, locale_dir
from fuseshard.book.messages import BookError, Subtype
from fuseshard.show.words import text_of

DOMAINS = ("fuseshard", "book")
"""`fuseshard.po`: what code draws on pages. `book.po`: what the site says around the chapters."""

THEME_DOMAINS = ("sphinx", "booktheme")
"""catalogs of Sphinx and its themes, whose gaps and bad Spanish `book.po` mends"""


class Catalog:
    """The texts of one language; English needs none, since its text is the message id."""

    def __init__(self, language: str, entries: Mapping[str, str] | None, folder: Path) -> None:
        self.language = language
        self.entries = entries
        self.folder = folder

    def text(self, msgid: str, where: str = "") -> str:
        """Return the text for an English message id.

        Raises:
            BookError: the language has no entry for it, or one with other placeholders.
        """
        if self.entries is None:
            return msgid
        if msgid not in self.entries:
            raise BookError(
                Subtype.WORD,
                f"no {self.language!r} text for {msgid!r}; add it to {self.folder}/fuseshard.po "
                "(words that code draws) or book.po (words of the site)",
                where,
            )
        return self.entries[msgid]

    def render(self, data: Mapping[str, Any], where: str = "") -> str:
        """Return the text of a Word's or a Plain's JSON.

        Args:
            data: {"msgid": ..., "values": {...}} or {"plain": ...}.
            where: page, line and record, for the error of a word that has no entry.

        Raises:
            BookError: the word has no entry, or its text doesn't take the word's values.
        """
        try:
            return text_of(data, lambda msgid: self.text(msgid, where))
        except (KeyError, IndexError, ValueError) as error:
            raise BookError(
                Subtype.WORD,
                f"the {self.language!r} text for {data.get('msgid')!r} doesn't take the values "
                f"{data.get('values')!r} ({error!r}); keep the placeholders of the English text",
                where,
            ) from error


class _Overlay(NullTranslations):
    """Our entries before those of a theme's catalog."""

    def __init__(self, entries: Mapping[str, str], below: NullTranslations) -> None:
        super().__init__()
        self._entries = entries
        self.add_fallback(below)

    def gettext(self, message: str) -> str:
        return self._entries.get(message) or super().gettext(message)


@lru_cache
def load(folder: Path, language: str) -> Catalog:
    """Read a language's catalogs; untranslated and fuzzy entries count as missing."""
    messages = folder / language / "LC_MESSAGES"
    entries: dict[str, str] = {}
    for domain in DOMAINS:
        path = messages / f"{domain}.po"
        if not path.is_file():
            continue
        with path.open("rb") as file:
            entries.update(
                (str(message.id), str(message.string))
                for message in read_po(file, locale=language)
                if message.id and message.string and not message.fuzzy
            )
    return Catalog(language, entries, messages)


def catalog_of(app: Sphinx) -> Catalog:
    """Return the catalog of the edition that this process builds."""
    options = book_config(app.config)
    folder = locale_dir(app)
    if options.is_root:
        return Catalog(str(app.config.language), None, folder)
    return load(folder, options.edition)


def language_name(language: str) -> str:
    """Return a language's name in that language, e.g. "Español"."""
    name = Locale.parse(language, sep="-" if "-" in language else "_").get_display_name() or ""
    return name[:1].upper() + name[1:]


def setup_catalog(app: Sphinx) -> None:
    """Put this edition's words in the place of Sphinx's, the themes' and the contents file's."""
    app.connect("config-inited", set_render_key, priority=150)  # event 1
    app.connect("config-inited", overlay_theme_words, priority=150)  # event 1
    # After sphinx-external-toc has read the contents file (priority 900).
    app.connect("config-inited", translate_captions, priority=950)  # event 1
    app.connect("doctree-resolved", translate_prompts)  # event 15, once a page


def set_render_key(app: Sphinx, config: Config) -> None:
    """Make Sphinx read the pages again when a catalog or this extension changed."""
    book = PACKAGE / "book"
    files = [*book.rglob("*.py"), *book.rglob("*.html"), *(PACKAGE / "show").glob("words.py")]
    files += [PACKAGE / "palette.py", *locale_dir(app).rglob("*.po")]
    digest = hashlib.sha256()
    for path in sorted(path for path in files if path.is_file()):
        digest.update(path.read_bytes())
    config.fuseshard_render_key = digest.hexdigest()


def overlay_theme_words(app: Sphinx, config: Config) -> None:
    """Let `book.po` speak before the catalogs of Sphinx and its themes."""
    catalog = catalog_of(app)
    options = config.html_theme_options
    options["search_bar_text"] = catalog.text("Search this book", "_config.yml")
    if catalog.entries is None:
        return
    config.html_title = catalog.text(config.html_title, "_config.yml: title")
    config.project = config.html_title
    for domain in THEME_DOMAINS:
        below = sphinx_locale.get_translator(domain)
        sphinx_locale.translators["general", domain] = _Overlay(catalog.entries, below)
    app.translator = sphinx_locale.get_translator("sphinx")
    config.togglebutton_hint = catalog.text("Click to show")
    config.togglebutton_hint_hide = catalog.text("Click to hide")


def translate_captions(app: Sphinx, config: Config) -> None:
    """Translate the captions of the contents file's parts."""
    catalog = catalog_of(app)
    for document in config.external_site_map.values():
        for tree in document.subtrees:
            if tree.caption:
                tree.caption = catalog.text(tree.caption, "_toc.yml")


def translate_prompts(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Translate "Show code cell source" and its kin, which MyST-NB puts together in English."""
    catalog = catalog_of(app)
    for node in doctree.findall(HideCodeCellNode):
        for key in ("prompt_show", "prompt_hide"):
            node[key] = catalog.text(node[key], docname)
