"""The other languages: found as folders, each built by a process of its own after the English."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from babel import Locale, UnknownLocaleError
from sphinx.application import Sphinx

from fuseshard.book.address import site_url
from fuseshard.book.config import PREFIX, book_config, chapters_dir, locale_dir
from fuseshard.book.messages import LOGGER, BookError, Subtype
from fuseshard.book.timing import timings

_SHOWN_LINES = 40


def setup_editions(app: Sphinx) -> None:
    """Build the other languages when the root edition is done."""
    app.connect("build-finished", build_editions, priority=900)  # event 17, after all writing


def languages(app: Sphinx) -> list[str]:
    """Return the codes of the languages besides the root's: folders with a page and a catalog.

    Raises:
        BookError: a folder is called like a language and has an index page, but no catalog.
    """
    found = []
    for index in sorted(chapters_dir(app).glob("*/index.md")):
        language = index.parent.name
        if not _is_language(language):
            continue
        if not any((locale_dir(app) / language / "LC_MESSAGES").glob("*.po")):
            raise BookError(
                Subtype.EDITION,
                f"the folder is called like a language, but there is no catalog {language}/"
                f"LC_MESSAGES/*.po in {locale_dir(app)}; add one, or rename the folder",
                f"{language}/",
            )
        found.append(language)
    return found


def build_editions(app: Sphinx, exception: Exception | None) -> None:
    """Build each other language in a child process, and put it into the site.

    A child, because Sphinx and docutils keep state that would leak from one language into the
    next. It writes to a folder of its own, so that its caches stay out of the published site.
    """
    if exception or app.builder.name != "html" or not book_config(app.config).is_root:
        return
    build = Path(app.outdir).parent
    for language in languages(app):
        folder = build / language
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "timings.json").unlink(missing_ok=True)
        started = time.perf_counter()
        _run_child(app, language, _job(app, language, folder))
        _publish(folder / "html", Path(app.outdir) / language)
        report = json.loads((folder / "timings.json").read_text("utf-8"))
        report["total_s"] = time.perf_counter() - started
        timings(app).others[language] = report


def _is_language(name: str) -> bool:
    try:
        Locale.parse(name.replace("-", "_"))
    except (UnknownLocaleError, ValueError):
        return False
    return True


def _job(app: Sphinx, language: str, folder: Path) -> dict[str, Any]:
    """Describe the child's build; all paths are absolute, since its source folder is another."""
    config = app.config
    locale_path = book_config(config).locale_path
    overrides = {
        "language": language,
        "external_toc_path": str(Path(app.srcdir, config.external_toc_path).resolve()),
        "nb_execution_cache_path": str(Path(config.nb_execution_cache_path).resolve()),
        "latex_individualpages": False,
        PREFIX + "edition": language,
        PREFIX + "english_dir": str(app.srcdir),
        PREFIX + "locale_path": str(Path(app.srcdir, locale_path)) if locale_path else "",
        PREFIX + "published_url": site_url(book_config(config).site_url, Path(app.srcdir)),
        PREFIX + "report": str(folder / "timings.json"),
    }
    return {
        "sourcedir": str(Path(app.srcdir) / language),
        "outputdir": str(folder / "html"),
        "path_config": str(_config_path(app)),
        "confoverrides": overrides,
        "freshenv": bool(app.fresh_env_used),
        "warningiserror": app.warningiserror or app.keep_going,
        "keep_going": app.keep_going,
        "quiet": app.quiet,
    }


def _config_path(app: Sphinx) -> Path:
    for folder in (Path(app.srcdir), *Path(app.srcdir).parents):
        path = folder / "_config.yml"
        if path.is_file():
            return path.resolve()
    raise BookError(
        Subtype.EDITION, f"found no _config.yml in {app.srcdir} or above it; add Jupyter Book's"
    )


def _run_child(app: Sphinx, language: str, job: dict[str, Any]) -> None:
    LOGGER.info("building the edition in %r ...", language)
    command = [sys.executable, "-m", "fuseshard.book.run.edition", json.dumps(job)]
    # The child ends when its stdin closes: it must not outlive a build that is killed.
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stderr is not None
        errors: list[str] = []
        reader = threading.Thread(target=_tee, args=(child.stderr, errors))
        reader.start()
        status = child.wait()
        reader.join()
    if status:
        shown = "".join(errors[-_SHOWN_LINES:]).strip() or "it wrote nothing to stderr"
        raise BookError(
            Subtype.EDITION,
            f"the edition in {language!r} failed with status {status}:\n{shown}\n",
            f"{language}/",
        )


def _tee(stream: IO[str], lines: list[str]) -> None:
    for line in stream:
        sys.stderr.write(line)
        lines.append(line)


def _publish(built: Path, target: Path) -> None:
    """Put a copy of the edition into the site, whole or not at all."""
    new = target.with_name(f".{target.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    shutil.copytree(built, new, ignore=lambda _, names: set(_private(names)))
    shutil.rmtree(target, ignore_errors=True)
    new.rename(target)


def _private(names: list[str]) -> Iterator[str]:
    """Sphinx's notes to itself are no part of a site."""
    yield from (name for name in names if name == ".buildinfo")
