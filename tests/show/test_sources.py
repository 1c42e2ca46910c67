"""Annotated sources: notes land on the lines that they speak of, or fail (pure data)."""

import inspect

import pytest

from fuseshard.show import sources
from fuseshard.show.sources import annotated_source, lines, on, show_source
from fuseshard.show.words import word

CODE = "for i in x:\n    a(i)\n    b(i)\nfor i in y:\n    a(i)\n"


def notes_of(*notes):
    made = annotated_source("s", word("c"), CODE, language="python", notes=notes)
    return [(note.first, note.last, str(note.text)) for note in made.notes]


def test_an_anchor_finds_its_line_range_and_occurrence():
    assert notes_of(
        on(r"a\(", word("second a"), occurrence=2),
        on(r"^for", word("first loop"), last=r"b\("),
        on(r"a\(i\)", word("one line"), last=r"a\("),
        lines(4, 5, word("by number")),
    ) == [
        (1, 3, "first loop"),
        (2, 2, "one line"),
        (4, 5, "by number"),
        (5, 5, "second a"),
    ]


def test_an_anchor_that_is_not_there_is_named():
    with pytest.raises(ValueError, match=r"the anchor 'exp' is on 0 lines, the note 'there'"):
        notes_of(on("exp", word("there")))
    with pytest.raises(ValueError, match=r"is on 2 lines, the note 'third' needs occurrence 3"):
        notes_of(on(r"a\(", word("third"), occurrence=3))


def test_a_closing_anchor_before_the_opening_one_does_not_count():
    with pytest.raises(ValueError, match=r"closing anchor 'in x' is on no line from 4 on"):
        notes_of(on("in y", word("loop"), last="in x"))


def test_the_source_of_a_package_function_is_shown_as_it_is():
    shown = show_source(sources.on, notes=[on(r"return Anchor", word("the result"))])
    assert shown.code == inspect.getsource(sources.on)
    assert shown.name == "fuseshard-show-sources-on"
    assert str(shown.caption) == "Source of fuseshard.show.sources.on"
    assert (shown.language, shown.folded) == ("python", False)
    assert shown.notes[0].first == len(shown.code.splitlines())


def test_a_class_a_method_and_a_module_have_sources_too():
    assert show_source(sources.Anchor).code.startswith("@dataclass(frozen=True)\nclass Anchor")
    assert show_source(sources).code == inspect.getsource(sources)

    class Nested:
        def method(self):
            return 1

    assert show_source(Nested.method).code.startswith("def method(self):\n    return 1")


def test_what_has_no_python_source_fails():
    with pytest.raises(TypeError):
        show_source(len)
