"""Choices by themselves; oracle: the records that went in."""

from __future__ import annotations

from pathlib import Path

from bs4 import BeautifulSoup

from fuseshard.book.catalog import Catalog
from fuseshard.book.draw.choice import choice_html
from fuseshard.book.draw.parts import Voice
from fuseshard.show.choices import choose, choose_twice
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import plain, word


def test_a_choice_of_choices_has_two_labelled_controls_and_shows_one_option_of_each() -> None:
    """What the script hides and shows are the direct children of each choice."""
    tables = []
    for name in ("one", "two", "three", "four"):
        builder = TableBuilder(name, word("A table."))
        builder.counts(word("Rows"), [1])
        tables.append((plain(name), builder.build()))
    inner = [choose("first", word("Inner"), tables[:2]), choose("last", word("Inner"), tables[2:])]
    options = list(zip((plain("a"), plain("b")), inner, strict=True))
    nested = choose_twice("outer", word("Outer"), options, start=1)
    english = Voice(Catalog("en", None, Path("locale")), "page.md:7 (outer)")
    page = BeautifulSoup(choice_html(nested.to_json(), english), "html.parser")
    outer = page.select_one("#choice-outer")
    assert outer is not None
    seen = [option["data-label"] for option in outer.select(":scope > .fs-option.fs-seen")]
    assert seen == ["b"]
    controls = page.select("select")
    assert [control["id"] for control in controls] == [
        f"choice-{name}-control" for name in ("outer", "first", "last")
    ]
    labels = [page.select_one(f"label[for={control['id']}]") for control in controls]
    assert [label.text for label in labels if label] == ["Outer", "Inner", "Inner"]
    for name in ("first", "last"):
        assert len(page.select(f"#choice-{name} > .fs-option.fs-seen")) == 1
