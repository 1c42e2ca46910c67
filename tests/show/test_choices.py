"""Choices: what they hold and refuse. Oracle: the records that went in."""

import pytest
from bs4 import BeautifulSoup

from fuseshard.show.choices import choose, choose_twice
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import plain, word

LABEL = word("View")


def test_a_choice_keeps_each_record_beside_its_mime_type(choice, table, source):
    options = choice.to_json()["options"]
    assert [option["mime"] for option in options] == [table.mime, source.mime]
    assert [option["record"] for option in options] == [table.to_json(), source.to_json()]
    assert choice.to_json()["start"] == 0


def test_jupyter_shows_every_option_under_its_name(choice):
    bundle = choice._repr_mimebundle_()
    page = BeautifulSoup(bundle["text/html"], "html.parser")
    assert [b.text for b in page.select("p > b")] == ["View: times", "View: code"]
    assert page.select_one("table") and page.select_one("details pre")
    assert "View: times\nTimes of 2 variants." in bundle["text/plain"]
    assert "View: code\nA program" in bundle["text/plain"]


def test_one_option_is_no_choice(table):
    with pytest.raises(ValueError, match="'one': got 1 options, must have at least 2"):
        choose("one", LABEL, [(plain("a"), table)])


def test_a_start_outside_the_options_is_refused(table, source):
    options = [(plain("a"), table), (plain("b"), source)]
    assert choose("ends", LABEL, options, start=1).start == 1
    with pytest.raises(ValueError, match="start is 2, must be an index of its 2 options"):
        choose("ends", LABEL, options, start=2)


def test_an_unknown_control_is_refused(table, source):
    options = [(plain("a"), table), (plain("b"), source)]
    assert choose("knobs", LABEL, options, control="slider").control == "slider"
    with pytest.raises(ValueError, match="control is 'knob', must be one of"):
        choose("knobs", LABEL, options, control="knob")


def test_names_and_labels_that_stand_twice_are_refused(table, source):
    with pytest.raises(ValueError, match=r"the labels \['a'\] stand more than once"):
        choose("twice", LABEL, [(plain("a"), table), (plain("a"), source)])
    with pytest.raises(ValueError, match=r"the record names \['times'\] stand more than once"):
        choose("twice", LABEL, [(plain("a"), table), (plain("b"), table)])


def test_only_what_a_page_can_show_is_chosen_from(table, choice, check):
    for other in (check, choice, "text"):
        with pytest.raises(TypeError, match="must be a Figure, a Table or a Source"):
            choose("odd", LABEL, [(plain("a"), table), (plain("b"), other)])


def test_a_choice_of_choices_keeps_both_levels(table, choice):
    other = choose("others", LABEL, [(plain("c"), table), (plain("d"), table_named("last"))])
    nested = choose_twice("nested", word("Topic"), [(plain("x"), choice), (plain("y"), other)])
    options = nested.to_json()["options"]
    assert [option["record"] for option in options] == [choice.to_json(), other.to_json()]
    page = BeautifulSoup(nested._repr_mimebundle_()["text/html"], "html.parser")
    said = ["Topic: x", "View: times", "View: code", "Topic: y", "View: c", "View: d"]
    assert [b.text for b in page.select("p > b")] == said


def test_choices_that_stand_twice_or_alone_are_refused(choice):
    with pytest.raises(ValueError, match=r"the record names \['views'\] stand more than once"):
        choose_twice("nested", LABEL, [(plain("x"), choice), (plain("y"), choice)])
    with pytest.raises(ValueError, match="got 1 options"):
        choose_twice("nested", LABEL, [(plain("x"), choice)])


def table_named(name):
    builder = TableBuilder(name, word("A table."))
    builder.code(word("Operator"), ["aten::mm"])
    return builder.build()
