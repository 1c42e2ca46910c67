"""The two editions say the same: what may differ is prose, captions, alternatives and titles."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from bookcheck.pages import Page, Section
from bookcheck.pieces import Cell, Directive, Heading, Label, Sentence

NUMBER = re.compile(r"(?<![\w.,])\d+(?:[.,]\d+)*(?![\w])")
TRANSLATED_OPTIONS = {"alt", "caption", "title", "class"}


def file_sets(english: list[Path], spanish: list[Path]) -> list[str]:
    """Name the pages that one edition lacks."""
    only_english = [f"{p}: stands in English only; add es/{p}" for p in english if p not in spanish]
    only_spanish = [
        f"es/{p}: stands in Spanish only; add {p} or remove it" for p in spanish if p not in english
    ]
    return only_english + only_spanish


def differences(english: Page, spanish: Page) -> list[str]:
    """Say what differs between a page and its twin, with the place in each."""
    where = f"{english.path} and {spanish.path}"
    return [
        f"{where}: {problem}"
        for problem in [
            *_sequence("headings", _headings(english), _headings(spanish)),
            *_sequence("labels", _labels(english), _labels(spanish)),
            *_sequence("code cells", _cells(english), _cells(spanish)),
            *_sequence("directives", _directives(english), _directives(spanish)),
            *_front_matter(english, spanish),
            *_quotes(english, spanish),
        ]
    ]


def numbers(sentences: list[Sentence]) -> Counter[str]:
    """Count the numbers that prose quotes, whatever the language's decimal sign."""
    found: Counter[str] = Counter()
    for sentence in sentences:
        found.update(match[0].replace(",", ".") for match in NUMBER.finditer(sentence.text))
    return found


def glue_names(sentences: list[Sentence]) -> Counter[str]:
    """Count the glued values that prose quotes, their formats included."""
    return Counter(
        f"{{{span.name}}}`{span.text}`"
        for sentence in sentences
        for span in sentence.spans
        if span.kind == "role" and span.name.startswith("glue")
    )


def _headings(page: Page) -> list[tuple[int, str]]:
    return [(h.line, f"level {h.level}") for h in page.of(Heading)]


def _labels(page: Page) -> list[tuple[int, str]]:
    return [(label.line, label.name) for label in page.of(Label)]


def _cells(page: Page) -> list[tuple[int, str]]:
    return [(cell.line, f"{cell.info}\n{cell.body}") for cell in page.of(Cell)]


def _directives(page: Page) -> list[tuple[int, str]]:
    rows = []
    for directive in page.of(Directive):
        kept = [f":{k}: {v}" for k, v in directive.options if k not in TRANSLATED_OPTIONS]
        rows.append((directive.line, " ".join([f"{{{directive.name}}}", *sorted(kept)])))
    return rows


def _sequence(
    what: str, english: list[tuple[int, str]], spanish: list[tuple[int, str]]
) -> list[str]:
    """Report the first place where two sequences part, and a difference in length."""
    for (line_en, value_en), (line_es, value_es) in zip(english, spanish, strict=False):
        if value_en != value_es:
            left, right = _first_difference(value_en, value_es)
            return [
                f"{what} differ at line {line_en} (English: {left!r}) and line {line_es} "
                f"(Spanish: {right!r})"
            ]
    if len(english) != len(spanish):
        longer = english if len(english) > len(spanish) else spanish
        extra = longer[min(len(english), len(spanish))]
        return [
            f"{what}: {len(english)} in English, {len(spanish)} in Spanish; the first without a "
            f"twin is at line {extra[0]}: {extra[1].splitlines()[0]!r}"
        ]
    return []


def _first_difference(left: str, right: str) -> tuple[str, str]:
    rows = zip(left.splitlines() or [""], right.splitlines() or [""], strict=False)
    return next(((a, b) for a, b in rows if a != b), (left[-60:], right[-60:]))


def _front_matter(english: Page, spanish: Page) -> list[str]:
    def kept(page: Page) -> dict[str, object]:
        return {k: v for k, v in page.front_matter.items() if k not in {"description", "title"}}

    if kept(english) == kept(spanish):
        return []
    return [f"front matter differs: {kept(english)} in English, {kept(spanish)} in Spanish"]


def _quotes(english: Page, spanish: Page) -> list[str]:
    """Compare the quoted values section by section, since Spanish may order a section's own way."""
    problems = []
    for section_en, section_es in zip(english.sections, spanish.sections, strict=False):
        for what, count in (("glued values", glue_names), ("numbers in prose", numbers)):
            ours, theirs = count(_prose(section_en)), count(_prose(section_es))
            if ours != theirs:
                problems.append(
                    f"{what} differ in the section at line {section_en.pieces[0].line} "
                    f"({section_en.key}) and line {section_es.pieces[0].line}: "
                    f"only English {sorted((ours - theirs).elements())}, "
                    f"only Spanish {sorted((theirs - ours).elements())}"
                )
    return problems


def _prose(section: Section) -> list[Sentence]:
    return [piece for piece in section.pieces if isinstance(piece, Sentence)]
