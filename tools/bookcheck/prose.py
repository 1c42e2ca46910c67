"""How the book talks: words it avoids in each language, and numbers that nobody may type."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import yaml

from bookcheck.pages import Page
from bookcheck.pieces import Sentence

LISTS = yaml.safe_load(Path(__file__).with_name("words.yml").read_text("utf-8"))
UNIT = (
    r"(?:[mµμun]?s|[×x](?!\s*\d)|[KMGT]i?B/s|[KMGT]?FLOPS|[KMGT]?FLOP/s|tokens?/s"
    r"|(?:milli|micro|nano)?seconds?|(?:mili|micro|nano)?segundos?|minut[eo]s?"
    r"|times (?:faster|slower)|veces (?:más|menos))"
)
MEASURED = re.compile(rf"(?<![\w.,])\d+(?:[.,]\d+)*(?:\s|\u00a0|\u202f)*{UNIT}(?![\w/-])")


def problems(page: Page, language: str) -> list[str]:
    """List what the page says against the house style; `language` names a block of words.yml."""
    found = []
    for sentence in page.prose:
        for complaint in [*_style(sentence), *_words(sentence, language), *_typed(sentence)]:
            found.append(f"{page.path}:{sentence.line}: {complaint}")
    return found


def _style(sentence: Sentence) -> list[str]:
    complaints = []
    if re.search(r"[!¡]", sentence.text):
        complaints.append("an exclamation mark; say it without")
    emoji = [c for c in sentence.text if unicodedata.category(c) == "So" and c not in "°©®"]
    if emoji:
        complaints.append(f"an emoji or symbol {emoji[0]!r}; leave it out")
    return complaints


def _words(sentence: Sentence, language: str) -> list[str]:
    lists = LISTS[language]
    complaints = _refused(sentence.text, [*lists["words"].split(), *lists["phrases"]])
    for start in re.findall(r"(?:^|[.:?]\s+)(\w+)", sentence.text.strip()):
        if start.lower() in lists["openers"].split():
            complaints.append(f"{start!r} speaks to «usted»; the book says «tú»")
    upright = "".join(s.text if s.kind in {"text", "link"} else " " for s in sentence.spans)
    for rival, chosen in lists["rivals"].items():
        match = re.search(rf"\b(?:{rival})\b", upright, re.IGNORECASE)
        if match:
            complaints.append(f"{match[0]!r}; the glossary's term is {chosen}")
    return complaints


def _refused(text: str, words: list[str]) -> list[str]:
    pattern = "|".join(map(re.escape, words))
    hits = re.findall(rf"(?<![\w-])(?:{pattern})(?![\w-])", text, re.IGNORECASE)
    return [f"{hit!r}; say what happens, without the word" for hit in hits]


def _typed(sentence: Sentence) -> list[str]:
    """A number with a unit of time or speed comes from a cell, unless the line cites its source."""
    cites = any(s.name.startswith(("http", "cite")) for s in sentence.spans)
    if cites:
        return []
    text = "".join(s.text if s.kind in {"text", "em", "link"} else "\x00" for s in sentence.spans)
    return [
        f"{match[0]!r} is typed; quote it from a cell with {{glue:text}}, or cite its source"
        for match in MEASURED.finditer(text)
    ]
