"""Words: against `str.format`, and JSON there and back (pure data)."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuseshard.show.words import (
    WORD_MIME,
    Plain,
    Word,
    from_json,
    map_shown_strings,
    plain,
    shown_strings,
    text_of,
    word,
)

VALUES = st.recursive(
    st.one_of(st.text(), st.integers(), st.floats(allow_nan=False)),
    lambda inner: st.builds(lambda value: Word("in {value}", {"value": value}), inner),
    max_leaves=3,
)


@settings(max_examples=40)
@given(VALUES, st.text())
def test_texts_survive_json(value, text):
    for made in (Word("{a} and {{b}}", {"a": value}), plain(text)):
        again = from_json(json.loads(json.dumps(made.to_json())))
        assert again == made
        assert str(again) == str(made)
        assert hash(again) == hash(made)


def test_a_word_reads_like_str_format():
    made = word("{n} of {total:.1f} {{kept}} for {msgid}", n=3, total=4.25, msgid="x")
    assert str(made) == "{n} of {total:.1f} {{kept}} for {msgid}".format(n=3, total=4.25, msgid="x")


def test_an_edition_translates_words_inside_words_but_no_values():
    spanish = {"{who} waits {s:.1f} s": "{s:.2f} s espera {who}", "rank {rank}": "rango {rank}"}
    made = word("{who} waits {s:.1f} s", who=word("rank {rank}", rank=1), s=0.5)
    assert text_of(made.to_json(), spanish.__getitem__) == "0.50 s espera rango 1"
    assert text_of(plain("aten::mm").to_json(), spanish.__getitem__) == "aten::mm"


@pytest.mark.parametrize(
    ("msgid", "values", "complaint"),
    [
        ("{a} and {b}", {"a": 1}, r"got values \['a'\], its fields are \['a', 'b'\]"),
        ("no field", {"a": 1}, r"got values \['a'\], its fields are \[\]"),
        ("{}", {}, "not plain names"),
        ("{a.b}", {}, "not plain names"),
        (" ", {}, "empty"),
        ("{a}", {"a": [1]}, "is a list, must be"),
        ("{a:.2f}", {"a": "x"}, "format code"),
        ("{a", {"a": 1}, "expected '}'"),
    ],
)
def test_a_word_that_could_not_be_rendered_fails_at_once(msgid, values, complaint):
    with pytest.raises(ValueError, match=complaint):
        Word(msgid, values)


def test_jupyter_gets_a_words_english():
    bundle = word("a < {n}", n=2)._repr_mimebundle_()
    assert bundle["text/plain"] == "a < 2"
    assert bundle["text/html"] == "a &lt; 2"
    assert bundle[WORD_MIME]["word"] == {"msgid": "a < {n}", "values": {"n": 2}}
    assert Plain("x")._repr_mimebundle_()[WORD_MIME]["word"] == {"plain": "x"}


SEEN = {
    "data": [
        {
            "type": "bar",
            "name": "1-name",
            "x": ["1-category", 2, "3.5"],
            "customdata": [["1-custom", 1]],
            "hovertemplate": "1-hover",
            "marker": {"color": "#ffffff", "colorbar": {"title": {"text": "1-bar"}}},
        }
    ],
    "layout": {
        "xaxis": {"title": {"text": "1-title"}, "ticktext": ["1-tick"], "type": "category"},
        "annotations": [{"text": "1-note", "xref": "paper", "x": "1-place"}],
        "shapes": [{"type": "rect", "x0": "1-edge", "label": {"text": "1-label"}}],
        "sliders": [{"currentvalue": {"prefix": "1-prefix"}, "steps": [{"label": "1-step"}]}],
        "updatemenus": [{"buttons": [{"label": "1-button", "method": "restyle", "args": ["y"]}]}],
        "title": "1-old",
        "font": {"family": "serif"},
    },
}


def test_every_place_where_plotly_shows_text_is_found_and_no_other():
    found = shown_strings(SEEN)
    every = {text for text in _strings(SEEN) if text.startswith("1-")}
    assert found == every
    assert len(found) == 15  # the sample itself holds one of each


def test_replacing_shown_strings_leaves_the_rest_and_the_original():
    before = json.dumps(SEEN)
    changed = map_shown_strings(SEEN, str.upper)
    assert shown_strings(changed) == {text.upper() for text in shown_strings(SEEN)}
    assert changed["data"][0]["type"] == "bar"
    assert changed["data"][0]["x"][1:] == [2, "3.5"]
    assert json.dumps(SEEN) == before


def _strings(data):
    if isinstance(data, dict):
        return [text for value in data.values() for text in _strings(value)]
    if isinstance(data, list):
        return [text for value in data for text in _strings(value)]
    return [data] if isinstance(data, str) else []
