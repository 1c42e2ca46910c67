"""Which Spanish sections were reviewed against which English ones.

`book/es/.freshness.json` holds, for each section of each page, a hash of the English and of the
Spanish text at the last review. An English hash that differs means that the Spanish is out of date.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path

from bookcheck.pages import BOOK, Section, english_pages, read_page

RECORD = Path("es") / ".freshness.json"
Hashes = dict[str, dict[str, dict[str, str]]]


@dataclass(frozen=True)
class Stale:
    """A section whose English text isn't the one that its Spanish was reviewed against."""

    page: str
    key: str
    line: int
    spanish_changed: bool
    """True where the Spanish text differs from the reviewed one as well"""

    def __str__(self) -> str:
        spanish = "changed too" if self.spanish_changed else "didn't change"
        return (
            f"book/{self.page}:{self.line}: section {self.key} changed in English, its Spanish "
            f"{spanish}; bring book/es/{self.page} up to date, then run "
            f"python tools/freshness.py accept {self.page}"
        )


def section_hash(section: Section) -> str:
    """Digest a section's text; cells are compared elsewhere, line breaks don't count."""
    prose = re.sub(r"(?ms)^(`{3,}|:{3,})\{code-cell\}.*?^\1\s*$", "", section.source)
    return hashlib.sha256(" ".join(prose.split()).encode()).hexdigest()[:12]


def current(page: Path, book: Path = BOOK) -> dict[str, dict[str, str]]:
    """Hash a page's sections in both editions, paired by their order."""
    english = read_page(book / page).sections
    spanish = read_page(book / "es" / page).sections
    return {
        ours.key: {"en": section_hash(ours), "es": section_hash(theirs)}
        for ours, theirs in zip(english, spanish, strict=False)
    }


def load(book: Path = BOOK) -> Hashes:
    """Read the record of reviews; empty where there is none."""
    record = book / RECORD
    return json.loads(record.read_text("utf-8")) if record.exists() else {}


def save(hashes: Hashes, book: Path = BOOK) -> None:
    """Write the record, one line a section, so that two branches rarely collide."""
    rows = []
    for page in sorted(hashes):
        sections = [f"    {json.dumps(k)}: {json.dumps(v)}" for k, v in hashes[page].items()]
        rows.append(f"  {json.dumps(page)}: {{\n" + ",\n".join(sections) + "\n  }")
    (book / RECORD).write_text("{\n" + ",\n".join(rows) + "\n}\n", "utf-8")


def stale(book: Path = BOOK) -> list[Stale]:
    """List the sections whose English changed since their Spanish was reviewed."""
    reviewed = load(book)
    found = []
    for page in english_pages(book):
        if not (book / "es" / page).exists():
            continue  # the parity test names it
        lines = {s.key: s.pieces[0].line for s in read_page(book / page).sections}
        for key, now in current(page, book).items():
            before = reviewed.get(page.as_posix(), {}).get(key, {})
            if now["en"] != before.get("en"):
                changed = now["es"] != before.get("es")
                found.append(Stale(page.as_posix(), key, lines[key], changed))
    return found


def accept(page: Path, book: Path = BOOK) -> None:
    """Record that a page's Spanish was reviewed against its English as both stand now."""
    hashes = load(book)
    hashes[page.as_posix()] = current(page, book)
    save({name: rows for name, rows in hashes.items() if (book / name).exists()}, book)
