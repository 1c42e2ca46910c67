"""What the shared charts say, for measurements whose verdicts are known (pure data)."""

import pytest

from fuseshard.palette import FORMULA
from fuseshard.show.charts.comparison import comparison_figure
from fuseshard.show.charts.sweep import sweep_figure
from fuseshard.show.charts.timeline import Span, rank_lane, timeline_figure
from fuseshard.show.charts.variants import Variant, listed, variants_of
from fuseshard.show.words import plain, word

SUBJECT = word("Softmax")


def drawn_sweep(sweep):
    return sweep_figure("sweep", sweep, subject=SUBJECT, size=word("rows"))


@pytest.mark.parametrize(
    ("letters", "finding"),
    [
        (
            "ssff",
            "the compiled version is slower than eager mode up to 4 rows and faster from 16 on",
        ),
        ("snff", "slower than eager mode at the smallest size tried and faster from 16 rows on"),
        ("snfn", "at the smallest size tried, and above that neither wins throughout"),
        ("ffff", "the compiled version is faster than eager mode at every size tried"),
        ("ssss", "the compiled version is slower than eager mode at every size tried"),
        ("nnff", "from 16 rows on, and below that neither wins throughout"),
        ("ssnn", "up to 4 rows, and above that neither wins throughout"),
        (
            "nnnn",
            "no difference between the compiled version and eager mode was measured at any size",
        ),
        (
            "nfsn",
            "not measured to be slower than eager mode at the smallest size tried, nor faster",
        ),
        (
            "fnns",
            "not measured to be slower than eager mode at the smallest size tried, nor faster",
        ),
    ],
)
def test_a_sweeps_caption_says_what_the_verdicts_allow(make, letters, finding):
    figure = drawn_sweep(make.sweep(letters))
    assert finding in str(figure.caption)
    assert str(figure.caption).startswith("Softmax: ")


@pytest.mark.parametrize(
    ("letters", "is_marked"),
    [("ssff", True), ("snff", True), ("ffff", False), ("ssss", False), ("nnnn", False)],
)
def test_the_break_even_is_marked_only_where_there_is_one(make, letters, is_marked):
    layout = drawn_sweep(make.sweep(letters)).figure["layout"]
    assert bool(layout.get("shapes")) is is_marked
    assert any(n["text"] == "break-even" for n in layout.get("annotations", [])) is is_marked


def test_a_sweep_draws_medians_and_quartiles_of_each_variant(make):
    figure = drawn_sweep(make.sweep("sf"))
    lines = [trace for trace in figure.figure["data"] if "name" in trace]
    assert [line["name"] for line in lines] == ["eager", "compiled"]
    assert lines[0]["y"] == pytest.approx([1e-5, 3e-5])
    assert lines[1]["y"] == pytest.approx([2e-5, 1.5e-5])
    bands = [trace for trace in figure.figure["data"] if trace.get("fill")]
    assert bands[0]["y"] == pytest.approx([1.1e-5, 3.3e-5, 2.7e-5, 0.9e-5])
    assert [row[0].text for row in figure.table.rows] == ["1", "4"]
    assert len(figure.table.rows[0]) == 1 + 2 * 3 + 2


def test_the_origin_names_the_threads_that_the_timings_took(make, live):
    figure = drawn_sweep(make.sweep("sf", origin=live))
    assert ", 1 thread, torch 2.13.0, 2026-03-04." in str(figure.origin.summary)
    assert figure.origin.live is True


def test_a_sweep_of_three_speaks_of_the_named_variant_only(make):
    pair = make.comparison("f")
    third = make.comparison("s").timings[1]
    timings = (*pair.timings, type(third)(**{**vars(third), "name": "other"}))
    three = type(pair)(timings=timings, num_threads=1)
    sweep = make.sweep("f")
    sweep = type(sweep)(size_name="rows", points=(type(sweep.points[0])(size=1, comparison=three),))
    variants = {"other": Variant(word("other"), FORMULA)}
    settings = {"subject": SUBJECT, "size": word("rows"), "variants": variants}
    with pytest.raises(ValueError, match="needs exactly 2"):
        sweep_figure("sweep", sweep, **settings)
    figure = sweep_figure("sweep", sweep, candidate="other", **settings)
    assert "other is slower than eager mode at every size tried" in str(figure.caption)


@pytest.mark.parametrize(
    ("letter", "finding"),
    [
        ("f", "the compiled version is 2.00× as fast as eager mode (between 1.82× and 2.22×)"),
        ("s", "the compiled version takes 2.00× the time of eager mode (between 1.80× and 2.20×)"),
        ("n", "no difference was measured (ratio 0.900× to 1.10×)"),
    ],
)
def test_a_comparisons_caption_follows_its_verdict(make, letter, finding):
    figure = comparison_figure("pair", make.comparison(letter), subject=SUBJECT)
    assert finding in str(figure.caption)


def test_a_comparison_draws_dots_with_their_quartiles(make):
    figure = comparison_figure("pair", make.comparison("f"), subject=SUBJECT)
    eager, compiled = figure.figure["data"]
    assert (eager["x"], eager["y"]) == ([pytest.approx(1000.0)], ["eager"])  # µs suit the faster
    assert compiled["error_x"]["array"] == [pytest.approx(50.0)]
    assert figure.figure["layout"]["xaxis"]["title"]["text"] == "time per call (µs)"


def test_an_unknown_variant_needs_a_label():
    with pytest.raises(ValueError, match=r"\['mine'\] have no label"):
        variants_of(["eager", "mine"], None)
    own = {"mine": Variant(word("my own"), FORMULA)}
    assert list(variants_of(["eager", "mine"], own)) == ["eager", "mine"]


def test_a_list_of_texts_is_one_word():
    assert str(listed([word("a"), plain("b"), word("c")])) == "a; b; c"
    assert str(listed([plain("only")])) == "only"


def test_a_timeline_has_one_row_a_lane_and_one_trace_a_kind():
    spans = [
        Span(rank_lane(1), 0.0, 2e-3, "forward", plain("7")),
        Span(rank_lane(0), 1e-3, 2e-3, "idle"),
        Span(rank_lane(1), 2e-3, 2.5e-3, "forward"),
    ]
    figure = timeline_figure("lanes", spans, caption=word("c"), alt=word("a"))
    layout = figure.figure["layout"]
    assert layout["yaxis"]["categoryarray"] == ["rank 1", "rank 0"]  # in order of appearance
    forward, idle = figure.figure["data"]
    assert forward["base"] == pytest.approx([0.0, 2.0])
    assert forward["x"] == pytest.approx([2.0, 0.5])
    assert forward["text"] == ["7", ""]
    assert forward["marker"]["pattern"]["shape"] != idle["marker"]["pattern"]["shape"]
    assert layout["xaxis"]["title"]["text"] == "time (ms)"
    assert len(figure.table.rows) == 3


def test_a_simulated_timeline_has_steps_instead_of_seconds():
    spans = [Span(rank_lane(0), 0, 3, "backward")]
    settings = {"caption": word("c"), "alt": word("a"), "in_seconds": False}
    figure = timeline_figure("lanes", spans, **settings)
    assert figure.figure["layout"]["xaxis"]["title"]["text"] == "time (steps)"
    assert figure.figure["data"][0]["x"] == [3.0]
    with pytest.raises(ValueError, match="no spans"):
        timeline_figure("lanes", [], **settings)


@pytest.mark.parametrize(("start", "end", "kind"), [(2, 1, "idle"), (0, 1, "sleeping")])
def test_a_span_that_cannot_be_is_refused(start, end, kind):
    with pytest.raises(ValueError, match=f"got kind '{kind}' from {start} to {end}"):
        Span(rank_lane(0), start, end, kind)
