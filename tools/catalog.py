"""Keep the catalog of the words that code draws.

    python tools/catalog.py update    after adding or rewording a word("...") in the package
    python tools/catalog.py check     exit status 1 and a list, if a language isn't up to date

Every call `word("...")` outside the Sphinx extension is an entry of `locale/fuseshard.pot` and of
each language's `fuseshard.po`. The site's own words, `book.po`, are not this tool's.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from string import Formatter

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_file
from babel.messages.pofile import read_po, write_po

PACKAGE = Path(__file__).resolve().parent.parent / "code" / "fuseshard"
DOMAIN = "fuseshard"
# A date that moved with each run would put a change into every commit.
_DATE = datetime(2026, 1, 1, tzinfo=UTC)
_WIDTH = 100


def sources(package: Path) -> Iterator[Path]:
    """Yield the modules whose words are drawn on pages: all but the Sphinx extension's."""
    for path in sorted(package.rglob("*.py")):
        if path.relative_to(package).parts[0] != "book":
            yield path


def template(package: Path) -> Catalog:
    """Extract the message ids of the package.

    Args:
        package: folder of the package, with `locale` in it.
    """
    catalog = _empty(None)
    for path in sources(package):
        place = path.relative_to(package.parent).as_posix()
        for line, msgid, *_ in extract_from_file("python", path, keywords={"word": None}):
            catalog.add(msgid, locations=[(place, line)])
    return catalog


def dynamic_words(package: Path) -> list[str]:
    """List the calls that no extractor can read, since their message id is computed."""
    return [
        f"{path.relative_to(package.parent).as_posix()}:{call.lineno}: the message id of "
        f"`{ast.unparse(call)[:60]}` is computed, so it can't be extracted; write it as a literal"
        for path in sources(package)
        if path.name != "words.py"
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and _makes_word(call.func) and not _is_literal(call.args)
    ]


def update(package: Path) -> list[Path]:
    """Write the template and bring each language up to date; new entries are left empty.

    Entries that no code uses any more are dropped.

    Returns:
        The files written.
    """
    made = template(package)
    pot = package / "locale" / f"{DOMAIN}.pot"
    _write(made, pot)
    written = [pot]
    for language in languages(package):
        path = _po(package, language)
        catalog = _read(path, language) if path.is_file() else _empty(language)
        # A guessed translation would look finished; an empty one can't be overlooked.
        catalog.update(made, no_fuzzy_matching=True)
        catalog.obsolete.clear()
        catalog.creation_date = catalog.revision_date = _DATE
        _write(catalog, path)
        written.append(path)
    return written


def problems(package: Path) -> list[str]:
    """List what keeps an edition from drawing its words: one line each, with the remedy."""
    found = dynamic_words(package)
    used = {_key(message.id) for message in template(package) if message.id}
    pot = package / "locale" / f"{DOMAIN}.pot"
    listed = (
        {_key(message.id) for message in _read(pot, None) if message.id} if pot.is_file() else set()
    )
    if used != listed:
        found.append(
            f"{pot.name}: {len(used - listed)} words are missing and {len(listed - used)} are no "
            "longer used; run `python tools/catalog.py update`"
        )
    for language in languages(package):
        found += _language_problems(package, language, used)
    return found


def languages(package: Path) -> list[str]:
    """Return the languages that have a folder under `locale`."""
    return sorted(path.parent.name for path in (package / "locale").glob("*/LC_MESSAGES"))


def fields(text: str) -> list[str]:
    """Return the placeholders of a text in alphabetical order, as often as they occur."""
    return sorted({name for _, name, _, _ in Formatter().parse(text) if name is not None})


def main(arguments: list[str]) -> int:
    """Run the command line; return the exit status."""
    if arguments == ["update"]:
        for path in update(PACKAGE):
            print(f"wrote {path.relative_to(PACKAGE.parent)}")
        return 0
    if arguments == ["check"]:
        found = problems(PACKAGE)
        print("\n".join(found) or "catalogs: every word has its entry in every language")
        return 1 if found else 0
    print(__doc__, file=sys.stderr)
    return 2


def _language_problems(package: Path, language: str, used: set[str]) -> Iterator[str]:
    path = _po(package, language)
    if not path.is_file():
        yield f"{language}: {path.name} is missing; run `python tools/catalog.py update`"
        return
    catalog = _read(path, language)
    entries = {_key(message.id): message for message in catalog if message.id}
    for msgid in sorted(used - entries.keys()):
        yield f"{language}: no entry for {msgid!r}; run `python tools/catalog.py update`"
    unused = sorted({*entries, *map(_key, catalog.obsolete)} - used)
    for msgid in unused:
        yield f"{language}: nothing draws {msgid!r}; run `python tools/catalog.py update`"
    for msgid in sorted(used & entries.keys()):
        message = entries[msgid]
        text = str(message.string or "")
        if not text:
            yield f"{language}: {msgid!r} isn't translated; write its text into {path.name}"
        elif message.fuzzy:
            yield f"{language}: {msgid!r} is marked fuzzy; read its text and take the mark off"
        elif _fields_differ(msgid, text):
            yield (
                f"{language}: {text!r} must have the placeholders {fields(msgid)} of {msgid!r}; "
                "correct it"
            )


def _fields_differ(msgid: str, text: str) -> bool:
    try:
        return fields(msgid) != fields(text)
    except ValueError:  # a brace without its partner
        return True


def _makes_word(function: ast.expr) -> bool:
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in ("word", "Word")


def _is_literal(arguments: list[ast.expr]) -> bool:
    first = arguments[0] if arguments else None
    return isinstance(first, ast.Constant) and isinstance(first.value, str)


def _key(msgid: object) -> str:
    return str(msgid)


def _po(package: Path, language: str) -> Path:
    return package / "locale" / language / "LC_MESSAGES" / f"{DOMAIN}.po"


def _empty(language: str | None) -> Catalog:
    return Catalog(
        locale=language,
        domain=DOMAIN,
        header_comment="# Words that the code of Fuse & Shard draws; see tools/catalog.py.",
        project="Fuse & Shard",
        version="1",
        msgid_bugs_address="none",
        last_translator="Fuse & Shard",
        language_team=language or "none",
        fuzzy=False,
        creation_date=_DATE,
        revision_date=_DATE,
    )


def _read(path: Path, language: str | None) -> Catalog:
    with path.open("rb") as file:
        return read_po(file, locale=language, domain=DOMAIN)


def _write(catalog: Catalog, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        write_po(file, catalog, width=_WIDTH, sort_by_file=True, include_lineno=False)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
