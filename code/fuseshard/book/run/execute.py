"""Execute each page that needs it just before it is read; MyST-NB then finds it in the cache."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment

from fuseshard.book.config import book_config, chapters_dir
from fuseshard.book.editions import languages
from fuseshard.book.messages import LOGGER, BookError, Subtype
from fuseshard.book.run.client import run_page
from fuseshard.book.run.sources import KEY, Page, check_same_cells
from fuseshard.book.run.store import Store
from fuseshard.book.timing import timings
from fuseshard.measure import reader, recordings
from fuseshard.measure.schema import RecordError

SUFFIX = ".md"


def setup_run(app: Sphinx) -> None:
    """Connect the execution of pages to a build."""
    app.connect("config-inited", configure, priority=300)  # event 1
    app.connect("builder-inited", check_recordings)  # event 2
    app.connect("builder-inited", check_editions)  # event 2
    app.connect("env-get-outdated", outdated_pages)  # event 3
    app.connect("source-read", execute_page, priority=400)  # event 6, before its time is taken
    app.connect("build-finished", prune_cache)  # event 17


def configure(app: Sphinx, config: Config) -> None:
    """Let MyST-NB read pages with our reader, from a cache at a fixed place."""
    options = {"packages": book_config(config).packages, "extensions": _extensions(config)}
    config.nb_custom_formats = {SUFFIX: ["fuseshard.book.run.sources.read_page", options, False]}
    config.nb_execution_mode = "cache"
    if not config.nb_execution_cache_path:
        config.nb_execution_cache_path = str(Path(app.outdir).parent / ".jupyter_cache")


def check_recordings(app: Sphinx) -> None:
    """Read the recordings before anything is executed, so that a bad file costs no time."""
    if book_config(app.config).is_root:
        refuse_bad_recordings(recordings.RECORDINGS_FOLDER)


def refuse_bad_recordings(folder: Path) -> None:
    """Read every recording in a folder, and the reader's own file where there is one.

    Raises:
        BookError: one doesn't fit; names the file, the field and the remedy.
    """
    try:
        recordings.load_all(folder)
        own = reader.examine()
    except RecordError as error:
        raise BookError(Subtype.RECORDING, str(error)) from None
    if own is not None:
        LOGGER.info("%s", own.text())


def check_editions(app: Sphinx) -> None:
    """Compare the pages of all languages before anything is executed."""
    if not book_config(app.config).is_root:
        return
    root = Path(app.srcdir)
    for name in page_names(app):
        original = root / f"{name}{SUFFIX}"
        _require(original, f"_toc.yml lists {name!r}", root)
        page = Page.load(original, root, _reader(app))
        for language in languages(app):
            translated = root / language / f"{name}{SUFFIX}"
            _require(translated, f"{page.name} has no page in {language!r}", root)
            check_same_cells(page, Page.load(translated, root, _reader(app)))
    for language in languages(app):
        _refuse_orphans(root, language)


def outdated_pages(app: Sphinx, env: BuildEnvironment, *changes: set[str]) -> list[str]:
    """Name the pages, besides those changed, whose outputs depend on something that changed."""
    known = set(env.found_docs).difference(*changes)
    return [name for name in known if _current_key(app, name) != _read_key(env, name)]


def execute_page(app: Sphinx, name: str, content: list[str]) -> None:
    """Make sure that a page about to be read is in the cache; only the root edition executes.

    From the very text that MyST-NB is going to read: the file may change while a build runs.

    Raises:
        BookError: another edition than the root has a page that wasn't executed.
    """
    options = book_config(app.config)
    page = _page(app, name, content[0])
    store = _store(app)
    if store.seconds(page.notebook) is not None:
        return
    if not options.is_root:
        raise BookError(
            Subtype.EDITION,
            "the English edition's run isn't in the cache, and this edition executes nothing; "
            "build with `jb build book`, and don't change pages or code while it runs",
            page.name,
        )
    LOGGER.info("executing %s ...", page.name)
    seconds = run_page(
        page, timeout=app.config.nb_execution_timeout, start_timeout=options.start_timeout
    )
    store.add(page, seconds)
    timings(app).executed(name, seconds)
    LOGGER.info("executed %s in %.1f s", page.name, seconds)


def prune_cache(app: Sphinx, exception: Exception | None) -> None:
    """Forget outputs that no page of the book shows any more."""
    if exception or not book_config(app.config).is_root:
        return
    store = _store(app)
    notebooks = {name: _page(app, name).notebook for name in page_names(app)}
    for name, notebook in notebooks.items():
        timings(app).cached(name, store.seconds(notebook))
    removed = store.prune(notebooks.values())
    if removed:
        LOGGER.info("removed %d old execution(s) from the cache", removed)


def page_names(app: Sphinx) -> Iterator[str]:
    """Name the pages of the contents file in its order, as Sphinx names them."""
    for name in app.config.external_site_map:
        yield str(name).removesuffix(SUFFIX)


def _store(app: Sphinx) -> Store:
    return Store(Path(app.config.nb_execution_cache_path))


def _page(app: Sphinx, name: str, text: str | None = None) -> Page:
    path = Path(app.srcdir) / f"{name}{SUFFIX}"
    return Page.load(path, chapters_dir(app), _reader(app), text)


def _current_key(app: Sphinx, name: str) -> str:
    return str(_page(app, name).notebook.metadata["kernelspec"][KEY])


def _read_key(env: BuildEnvironment, name: str) -> str:
    """Return the key that the page had when Sphinx read it last."""
    return str(env.metadata[name].get("kernelspec", {}).get(KEY, ""))


def _reader(app: Sphinx) -> dict[str, Any]:
    options: dict[str, Any] = app.config.nb_custom_formats[SUFFIX][1]
    return options


def _extensions(config: Config) -> list[str]:
    return sorted(config.myst_enable_extensions)


def _require(path: Path, why: str, root: Path) -> None:
    if not path.is_file():
        raise BookError(
            Subtype.PAGE,
            f"the page is missing ({why}); write it, or take it out of _toc.yml",
            path.relative_to(root).as_posix(),
        )


def _refuse_orphans(root: Path, language: str) -> None:
    """Refuse a translation of a page that the English edition doesn't have."""
    for path in sorted((root / language).rglob(f"*{SUFFIX}")):
        inside = path.relative_to(root / language)
        if inside.parts[0].startswith("_"):
            continue
        if not (root / inside).is_file():
            raise BookError(
                Subtype.PAGE,
                f"translates {inside.as_posix()}, which doesn't exist; remove one or write the "
                "other",
                path.relative_to(root).as_posix(),
            )
