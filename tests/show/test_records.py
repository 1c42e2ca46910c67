"""The record formats: JSON, what they refuse, how they read in Jupyter (oracle: bs4, plotly)."""

import json

import plotly.graph_objects as go
import pytest
from bs4 import BeautifulSoup
from IPython.core.formatters import DisplayFormatter

from fuseshard.show.records import Check, Code, Column, Figure, Note, Source, Table
from fuseshard.show.words import plain, word


def test_every_record_is_json_and_keeps_its_meaning(records):
    for record in records:
        data = record.to_json()
        assert json.loads(json.dumps(data, allow_nan=False)) == data
        assert data["version"] == 1
        assert data["name"] == record.name


def test_every_record_shows_itself_in_jupyter(records):
    for record in records:
        bundle, _ = DisplayFormatter().format(record)
        assert set(bundle) == {record.mime, "text/html", "text/plain"}
        assert bundle[record.mime] == record.to_json()
        assert BeautifulSoup(bundle["text/html"], "html.parser").get_text(strip=True)
        assert bundle["text/plain"].strip()


def test_a_table_in_jupyter_has_heads_units_and_escaped_code(table):
    soup = BeautifulSoup(table._repr_mimebundle_()["text/html"], "html.parser")
    heads = [head.get_text() for head in soup.select("thead th[scope=col]")]
    assert heads == ["Variant", "Operator", "Median (ms)", "Sent (B)"]
    assert [row.get_text() for row in soup.select("tbody th[scope=row]")] == ["eager", "aot_eager"]
    assert [code.get_text() for code in soup.select("td code")] == ["aten::addmm", "a < b & c"]
    assert soup.caption.get_text() == "Times of 2 variants."
    assert "One thread." in soup.get_text()
    assert "Measured here." in soup.get_text()


def test_a_table_as_text_lines_up(table):
    assert table._repr_mimebundle_()["text/plain"].splitlines() == [
        "Times of 2 variants.",
        "Variant    Operator     Median (ms)  Sent (B)",
        "eager      aten::addmm         1.20     1\u202f024",
        "aot_eager  a < b & c           34.5         —",
        "One thread.",
        "Measured here.",
    ]


def test_a_source_in_jupyter_is_folded_and_marks_its_lines(source):
    soup = BeautifulSoup(source._repr_mimebundle_()["text/html"], "html.parser")
    assert not soup.details.has_attr("open")
    assert len(soup.select("mark")) == 3
    assert "return exp(1) < 3;" in soup.pre.get_text()
    items = [item.get_text() for item in soup.select("li")]
    assert items == ["lines 1 to 3: all of it", "line 2: the exponential"]


def test_a_figure_in_jupyter_draws_by_plotlys_cdn_and_the_record_does_not(figure):
    bundle = figure._repr_mimebundle_()
    assert "cdn.plot.ly" in bundle["text/html"]
    assert "Plotly.newPlot" in bundle["text/html"]
    assert "cdn" not in json.dumps(bundle[figure.mime])


def test_plotly_accepts_every_figure(figure, charts):
    for made in (figure, *charts):
        drawing = go.Figure(data=made.figure["data"], layout=made.figure["layout"])
        assert len(drawing.data) == len(made.figure["data"])


def test_plotly_refuses_a_property_that_does_not_exist():
    with pytest.raises(ValueError, match="Invalid property"):
        go.Figure(data=[{"type": "bar", "colour": "red"}])


def one_bar(table, **changes):
    drawing = {"data": [{"type": "bar", "x": ["eager"], "y": [1]}], "layout": {}}
    fields = {"figure": drawing, "words": {"eager": word("eager")}, "verbatim": ()} | changes
    return Figure(name="bar", caption=word("c"), alt=word("a"), table=table, **fields)


def test_a_figure_with_an_unregistered_string_fails(table):
    with pytest.raises(ValueError, match=r"not registered: \['eager'\]"):
        one_bar(table, words={})


def test_a_figure_with_its_strings_registered_is_made(table):
    assert one_bar(table).words == {"eager": word("eager")}
    assert one_bar(table, words={}, verbatim=("eager",)).verbatim == ("eager",)


def test_a_trace_that_the_books_plotly_cannot_draw_fails(table):
    with pytest.raises(ValueError, match="'pie'"):
        one_bar(table, figure={"data": [{"type": "pie", "values": [1]}], "layout": {}})


def test_a_number_that_json_lacks_fails_in_the_cell(table):
    made = one_bar(table, figure={"data": [{"type": "bar", "y": [float("nan")]}], "layout": {}})
    with pytest.raises(ValueError, match="not JSON compliant"):
        made._repr_mimebundle_()


def test_a_row_of_another_length_fails():
    with pytest.raises(ValueError, match="row 1 has 2 cells, the table has 1 columns"):
        Table("t", word("c"), (Column(plain("x")),), ((Code("a"),), (Code("a"), Code("b"))))


@pytest.mark.parametrize("name", ["", "Sizes", "1st", "a b", "a-", "größe"])
def test_a_name_that_cannot_be_an_id_fails(name):
    with pytest.raises(ValueError, match="must be lower-case words"):
        Check(name, "open", word("m"))


def test_an_unknown_state_fails():
    with pytest.raises(ValueError, match="state is 'done'"):
        Check("c", "done", word("m"))


@pytest.mark.parametrize(("first", "last"), [(0, 1), (2, 1), (2, 3)])
def test_a_note_on_lines_that_do_not_exist_fails(first, last):
    with pytest.raises(ValueError, match=f"lines {first} to {last}, the code has lines 1 to 2"):
        Source("s", word("c"), "text", "a\nb\n", (Note(first, last, word("n")),))
