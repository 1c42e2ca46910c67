"""What stands at the head of a page: without it the page isn't executed, or isn't found."""

from __future__ import annotations

import itertools

from bookcheck.pages import Page
from bookcheck.pieces import Heading, Label, Sentence

KERNEL = {"name": "python3", "display_name": "Python 3"}
DESCRIPTION_LENGTH = range(40, 171)


def problems(page: Page) -> list[str]:
    """List what a page's head lacks."""
    matter = page.front_matter
    found = []
    if matter.get("file_format") != "mystnb":
        found.append(
            f"file_format is {matter.get('file_format')!r}, must be 'mystnb' (without it the page "
            "isn't executed and the theme fails)"
        )
    if matter.get("kernelspec") != KERNEL:
        found.append(f"kernelspec is {matter.get('kernelspec')!r}, must be {KERNEL}")
    description = matter.get("description")
    if not isinstance(description, str) or len(description) not in DESCRIPTION_LENGTH:
        length = len(description) if isinstance(description, str) else 0
        found.append(
            f"description has {length} characters, must be one sentence of "
            f"{DESCRIPTION_LENGTH.start} to {DESCRIPTION_LENGTH.stop - 1} (search engines show it)"
        )
    found += _title(page)
    return [f"{page.path}: {problem}" for problem in found]


def _title(page: Page) -> list[str]:
    structure = [p for p in page.pieces if not (isinstance(p, Sentence) and p.context == "heading")]
    titles = [h for h in page.of(Heading) if h.level == 1]
    found = []
    if len(titles) != 1:
        found.append(f"{len(titles)} headings of level 1, must be one")
    if not structure or not isinstance(structure[0], Label):
        found.append("no (label)= above the title; other pages refer to it")
    levels = [h.level for h in page.of(Heading)]
    jumps = [b for a, b in itertools.pairwise(levels) if b > a + 1]
    if jumps:
        found.append(f"a heading jumps to level {jumps[0]}; go down one level at a time")
    return found
