"""Words and records by themselves; oracle: a catalog and records written for the test."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fuseshard.book.catalog import Catalog, language_name, load
from fuseshard.book.draw.figure import translated
from fuseshard.book.draw.parts import Voice
from fuseshard.book.draw.source import source_html
from fuseshard.book.messages import BookError

ENTRIES = {
    "fast": "rápido",
    "{n} `ops`": "{n} `operaciones`",
    "at {size}": "con {tamaño}",
    "{count} lines": "{count} líneas",
}


def word(msgid: str, **values: object) -> dict[str, object]:
    """Return the JSON of a translatable text."""
    return {"msgid": msgid, "values": values}


@pytest.fixture
def voice() -> Voice:
    return Voice(Catalog("es", ENTRIES, Path("locale/es")), "page.md:7 (speed)")


def test_a_word_is_translated_with_its_values(voice: Voice) -> None:
    assert voice.html(word("{n} `ops`", n=3)) == "3 <code>operaciones</code>"
    assert voice.text(word("{n} `ops`", n=3)) == "3 operaciones"
    assert voice.html({"plain": "a<b"}) == "a&lt;b"


def test_english_needs_no_catalog() -> None:
    catalog = Catalog("en", None, Path("locale"))
    assert catalog.render(word("{n} `ops`", n=3)) == "3 `ops`"


def test_a_missing_word_names_place_language_and_file(voice: Voice) -> None:
    message = r"page\.md:7 \(speed\): no 'es' text for 'slow'; add it to locale/es/fuseshard\.po"
    with pytest.raises(BookError, match=message):
        voice.html(word("slow"))


def test_a_placeholder_lost_in_translation_is_named(voice: Voice) -> None:
    with pytest.raises(BookError, match=re.escape("doesn't take the values {'size': 4}")):
        voice.html(word("at {size}", size=4))


def test_untranslated_and_fuzzy_entries_count_as_missing(tmp_path: Path) -> None:
    folder = tmp_path / "es" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    (folder / "book.po").write_text(
        'msgid "good"\nmsgstr "bueno"\n\nmsgid "empty"\nmsgstr ""\n\n'
        '#, fuzzy\nmsgid "guessed"\nmsgstr "adivinado"\n',
        "utf-8",
    )
    assert load(tmp_path, "es").entries == {"good": "bueno"}


def test_languages_are_named_in_themselves() -> None:
    assert [language_name(code) for code in ("en", "es", "fr")] == [
        "English",
        "Español",
        "Français",
    ]


def test_a_shown_string_that_nobody_registered_is_named(voice: Voice) -> None:
    record = {
        "name": "speed",
        "figure": {"data": [{"name": "fast"}, {"name": "aten::mm"}], "layout": {}},
        "words": {"fast": word("fast")},
        "verbatim": ["aten::mm"],
    }
    assert translated(record, voice)["data"] == [{"name": "rápido"}, {"name": "aten::mm"}]
    with pytest.raises(BookError, match="shows 'aten::mm', which is neither among its words"):
        translated({**record, "verbatim": []}, voice)


def test_an_unknown_language_of_a_source_is_named(voice: Voice) -> None:
    record = {
        "name": "code",
        "caption": word("fast"),
        "language": "klingon",
        "code": "x",
        "notes": [],
        "folded": True,
        "origin": None,
    }
    with pytest.raises(BookError, match="has the language 'klingon', must be the name of a Pyg"):
        source_html(record, voice)
    assert "<details" in source_html({**record, "language": "python"}, voice)


def test_every_line_of_a_source_is_closed_before_the_next(voice: Voice) -> None:
    code = '"""a string\nover two lines"""\n\nx = 1'
    record = {
        "name": "code",
        "caption": word("fast"),
        "language": "python",
        "code": code,
        "notes": [],
        "folded": False,
        "origin": None,
    }
    html = source_html(record, voice)
    lines = re.findall(r'<span class="fs-line" .*', html)
    assert len(lines) == 4
    assert all(line.count("<span") == line.count("</span>") for line in lines[:3])
