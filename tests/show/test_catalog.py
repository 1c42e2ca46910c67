"""The catalog of drawn words: oracle is the syntax tree of the package itself (pure data)."""

import ast
import shutil
from pathlib import Path

import catalog
import pytest

from fuseshard.show.words import map_shown_strings, text_of

MODULE = """
from fuseshard.show.words import word
A = word("{n} ranks")
B = word(
    "two parts, "
    "one message", n=1
)
"""
SPANISH = {"{n} ranks": "{n} rangos", "two parts, one message": "dos partes, un mensaje"}


@pytest.fixture
def package(tmp_path):
    """A package with two words, both translated."""
    folder = tmp_path / "pack"
    (folder / "book").mkdir(parents=True)
    (folder / "show.py").write_text(MODULE)
    (folder / "book" / "site.py").write_text('word("not ours")')
    (folder / "locale" / "es" / "LC_MESSAGES").mkdir(parents=True)
    catalog.update(folder)
    translate(folder, SPANISH)
    return folder


def po_file(package):
    return package / "locale" / "es" / "LC_MESSAGES" / "fuseshard.po"


def translate(package, texts):
    text = po_file(package).read_text()
    for english, spanish in texts.items():
        text = text.replace(
            f'msgid "{english}"\nmsgstr ""', f'msgid "{english}"\nmsgstr "{spanish}"'
        )
    po_file(package).write_text(text)


def test_a_complete_catalog_has_no_problems(package):
    assert catalog.problems(package) == []


def test_updating_twice_changes_nothing(package):
    before = po_file(package).read_bytes()
    catalog.update(package)
    assert po_file(package).read_bytes() == before


@pytest.mark.parametrize(
    "call", ["word(name)", 'word(f"a {name}")', "words.word(x + y)", "Word(x)"]
)
def test_a_computed_message_id_is_a_problem(package, call):
    (package / "more.py").write_text(f"\n{call}\n")
    (problem,) = catalog.problems(package)
    assert problem.startswith("pack/more.py:2: the message id of")


def test_a_new_word_is_missing_until_updated_and_then_untranslated(package):
    (package / "more.py").write_text('word("new")')
    assert any("1 words are missing" in line for line in catalog.problems(package))
    assert any("es: no entry for 'new'" in line for line in catalog.problems(package))
    catalog.update(package)
    (problem,) = catalog.problems(package)
    assert problem.startswith("es: 'new' isn't translated")


def test_a_word_that_nothing_draws_is_a_problem_until_updated(package):
    (package / "show.py").write_text('word("{n} ranks")')
    found = catalog.problems(package)
    assert any("1 are no longer used" in line for line in found)
    assert any("es: nothing draws 'two parts, one message'" in line for line in found)
    catalog.update(package)
    assert catalog.problems(package) == []
    assert "{n} rangos" in po_file(package).read_text()


def test_a_fuzzy_entry_is_a_problem(package):
    text = po_file(package).read_text()
    text = text.replace("#, python-brace-format\n", "#, fuzzy, python-brace-format\n")
    po_file(package).write_text(text)
    (problem,) = catalog.problems(package)
    assert "'{n} ranks' is marked fuzzy" in problem


@pytest.mark.parametrize("spanish", ["rangos", "{m} rangos", "{n} de {m}", "{n rangos"])
def test_other_placeholders_are_a_problem(package, spanish):
    text = po_file(package).read_text().replace("{n} rangos", spanish)
    po_file(package).write_text(text)
    (problem,) = catalog.problems(package)
    assert "must have the placeholders ['n']" in problem


def test_a_language_without_a_catalog_is_a_problem(package):
    shutil.rmtree(package / "locale" / "es")
    (package / "locale" / "fr" / "LC_MESSAGES").mkdir(parents=True)
    (problem,) = catalog.problems(package)
    assert problem.startswith("fr: fuseshard.po is missing")


def test_the_extraction_finds_every_literal_that_the_syntax_tree_holds():
    literals = {
        call.args[0].value
        for path in catalog.sources(catalog.PACKAGE)
        for call in ast.walk(ast.parse(Path(path).read_text(encoding="utf-8")))
        if isinstance(call, ast.Call)
        and getattr(call.func, "id", getattr(call.func, "attr", "")) == "word"
        and isinstance(call.args[0], ast.Constant)
    }
    extracted = {message.id for message in catalog.template(catalog.PACKAGE) if message.id}
    assert extracted == literals
    assert len(literals) > 50


def test_the_book_has_every_word_in_every_language():
    assert catalog.languages(catalog.PACKAGE) == ["es"]
    assert catalog.problems(catalog.PACKAGE) == []


def test_the_shared_charts_can_be_drawn_in_spanish(charts):
    path = catalog.PACKAGE / "locale" / "es" / "LC_MESSAGES" / "fuseshard.po"
    with path.open("rb") as file:
        spanish = {m.id: m.string for m in catalog.read_po(file, locale="es")}
    # The samples' own words, which no catalog holds.
    spanish |= {
        w: w for w in ("Linear and softmax", "rows", "They wait.", "Two lanes.", "Bytes sent")
    }
    for chart in charts:
        for shown in chart.words.values():
            assert text_of(shown.to_json(), spanish.__getitem__)
        for text in (chart.caption, chart.alt, chart.table.caption):
            assert text_of(text.to_json(), spanish.__getitem__)
    lanes = charts[2]

    def translated(english):
        known = lanes.words.get(english)
        return text_of(known.to_json(), spanish.__getitem__) if known else english

    drawn = map_shown_strings(lanes.figure, translated)
    assert drawn["layout"]["yaxis"]["categoryarray"] == ["rango 0", "rango 1"]
    assert drawn["data"][0]["y"] == ["rango 0"]
