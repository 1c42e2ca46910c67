"""The figure builder: no string gets past it, no colour is its own (pure data)."""

import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuseshard import palette
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.plotly_style import log_axis, log_ticks
from fuseshard.show.words import plain, word

COLOUR = re.compile(r"#[0-9a-f]{6}|rgba?\([^)]*\)")


def test_a_bare_string_is_refused_and_a_wrapped_one_registered():
    drawing = FigureBuilder("f")
    with pytest.raises(TypeError, match=r"got the str 'rows', must be word\(...\) or plain"):
        drawing.x_axis("rows")
    drawing.x_axis(word("rows"))
    assert drawing.layout["xaxis"]["title"]["text"] == "rows"


def test_two_texts_that_read_alike_are_refused():
    drawing = FigureBuilder("f")
    assert drawing.say(word("rank {r}", r=1)) == "rank 1"
    assert drawing.say(word("rank {r}", r=1)) == "rank 1"
    with pytest.raises(ValueError, match="both read 'rank 1'"):
        drawing.say(word("rank 1"))
    with pytest.raises(ValueError, match="both read 'rank 1'"):
        drawing.say(plain("rank 1"))


def test_a_string_put_past_the_builder_fails_when_built(table):
    drawing = FigureBuilder("f")
    drawing.trace(type="bar", name="sneaked in", x=[1], y=[1])
    with pytest.raises(ValueError, match="'sneaked in'"):
        drawing.build(caption=word("c"), alt=word("a"), table=table)


def test_every_figure_is_fluid_and_says_nothing_of_its_own(figure, charts):
    for made in (figure, *charts):
        layout, config = made.figure["layout"], made.figure["config"]
        assert layout["autosize"] is True
        assert layout["height"] > 0
        assert "width" not in layout
        assert "title" not in layout
        assert "template" not in layout
        assert config["responsive"] is True
        assert config["displaylogo"] is config["showSendToCloud"] is False


def test_every_colour_has_a_partner_on_the_dark_page(figure, charts):
    for made in (figure, *charts):
        colours = set(COLOUR.findall(json.dumps(made.figure)))
        assert colours
        assert colours <= {*palette.LIGHT_TO_DARK, palette.CLEAR}


def test_a_spread_is_a_band_around_its_line(figure):
    band, line = figure.figure["data"][:2]
    assert band["x"] == [1, 2, 2, 1]
    assert band["y"] == [0.6, 0.8, 0.6, 0.4]
    assert band["fillcolor"] == palette.EAGER.band
    assert line["line"]["dash"] == palette.EAGER.dash
    assert line["marker"]["symbol"] == palette.EAGER.symbol


def test_notes_and_brackets_find_their_place_on_a_logarithmic_axis():
    drawing = FigureBuilder("f")
    drawing.log_axis("x", word("rows"), [1, 1000])
    drawing.y_axis(word("time"))
    drawing.bracket(10, 1000, word("break-even"))
    drawing.note(100, 5, word("here"))
    bracket, note = drawing.layout["annotations"]
    assert bracket["x"] == note["x"] == pytest.approx(2.0)  # plotly wants the logarithm here
    assert note["y"] == 5
    assert drawing.layout["shapes"][0]["x0"] == 10  # but the value itself here


@given(st.floats(1e-9, 1e6), st.floats(1, 1e9))
def test_ticks_of_a_logarithmic_axis_are_round_few_and_around_the_data(low, factor):
    ticks = log_ticks(low, low * factor)
    assert 1 <= len(ticks) <= 11
    assert ticks == sorted(ticks)
    assert ticks[0] <= low * (1 + 1e-9)
    assert ticks[-1] >= low * factor * (1 - 1e-9)
    assert all(f"{tick:e}"[0] in "1235" and f"{tick:.6e}"[2:8] == "000000" for tick in ticks)


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (2.0, 1.0)])
def test_a_logarithmic_axis_refuses_what_it_cannot_hold(low, high):
    with pytest.raises(ValueError, match="must be positive and growing"):
        log_ticks(low, high)


@given(st.floats(1e-9, 1e6), st.floats(1, 1e9))
def test_a_logarithmic_axis_has_three_labelled_values_in_sight(low, factor):
    """Or a reader of a curve between 0.9 and 1.1 finds nothing but "1" beside it."""
    made = log_axis("t", [low, low * factor], "{:.12g}".format)
    first, last = made["range"]
    inside = [tick for tick in made["tickvals"] if first <= math.log10(tick) <= last]
    assert 3 <= len(inside) <= 11
    assert len(set(made["ticktext"])) == len(made["ticktext"])


def test_a_short_logarithmic_axis_takes_the_coarsest_round_step_that_shows_three():
    assert log_axis("t", [0.92, 1.3], str)["tickvals"] == [1.0, 1.2, 1.4]


def test_ticks_that_would_read_alike_are_not_refined():
    coarse = log_axis("t", [1, 1.3], lambda value: str(round(value)))
    assert coarse["ticktext"] == ["1", "2"]


def test_a_logarithmic_axis_holds_all_its_values():
    low, high = log_axis("t", [3, 50, 700], str)["range"]
    assert low < math.log10(3)
    assert high > math.log10(700)
