"""Keep the Spanish edition up to date with the English one.

    python tools/freshness.py                             list the sections that need a review
    python tools/freshness.py accept compile/inductor.md  record a review (no page: all of them)

An English section changed: bring its Spanish twin up to date, then accept the page. Where the
Spanish is right as it stands, say so with --spanish-still-right.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bookcheck.freshness import Stale, accept, stale
from bookcheck.pages import english_pages


def accept_pages(pages: list[Path], waiting: list[Stale], *, still_right: bool) -> list[Stale]:
    """Accept the pages, but for those whose Spanish wasn't touched; return what was refused."""
    refused = []
    for page in pages:
        untouched = [s for s in waiting if s.page == page.as_posix() and not s.spanish_changed]
        if untouched and not still_right:
            refused += untouched
        else:
            accept(page)
    return refused


def main() -> int:
    """Read the command line, act, list what still waits, and return an exit status."""
    parser = argparse.ArgumentParser(description="Keep the Spanish edition up to date.")
    parser.add_argument("action", nargs="?", choices=["list", "accept"], default="list")
    parser.add_argument("pages", nargs="*", type=Path, help="English pages, relative to book/")
    parser.add_argument("--spanish-still-right", action="store_true")
    arguments = parser.parse_args()
    if unknown := sorted(p.as_posix() for p in set(arguments.pages) - set(english_pages())):
        parser.error(
            f"got {', '.join(unknown)}, must be English pages below book/ (their sections are what "
            "is recorded); write for example compile/inductor.md."
        )
    waiting = stale()
    if arguments.action == "accept":
        pages = arguments.pages or english_pages()
        waiting = accept_pages(pages, waiting, still_right=arguments.spanish_still_right)
    for section in waiting:
        print(section)
    return 1 if waiting else 0


if __name__ == "__main__":
    sys.exit(main())
