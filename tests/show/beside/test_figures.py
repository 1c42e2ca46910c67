"""Two machines' figures in one (pure data). Oracle: the values that went in; plotly's schema."""

import json
from dataclasses import replace

import plotly.graph_objects as go
import pytest

from fuseshard import palette
from fuseshard.measure.records import Origin
from fuseshard.show.beside.figures import overlaid_figures
from fuseshard.show.charts.comparison import comparison_figure
from fuseshard.show.charts.sweep import sweep_figure
from fuseshard.show.charts.timeline import Span, rank_lane, timeline_figure
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.numbers import duration
from fuseshard.show.records import Figure
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import plain, word
from tests.show.conftest import make_comparison, make_environment, make_sweep

MACHINES = plain("H200"), plain("RTX 4090")
SUBJECT = word("Linear and softmax")


def origin(gpu: str) -> Origin:
    return Origin(is_live=False, environment=make_environment(gpu=gpu, num_gpus=1, cuda="13.0"))


def drawn_sweep(letters: str, gpu: str) -> Figure:
    sweep = make_sweep(letters, origin=origin(gpu))
    return sweep_figure("sweep", sweep, subject=SUBJECT, size=word("rows"))


def drawn_pair(eager_s: float, gpu: str, letter: str = "f") -> Figure:
    made = make_comparison(letter, eager_s, origin=origin(gpu))
    return comparison_figure("pair", made, subject=SUBJECT)


def overlaid(first: Figure, second: Figure) -> Figure:
    figure = overlaid_figures(first, second, MACHINES)
    assert figure is not None
    return figure


def names(figure: Figure) -> list[str]:
    return [trace["name"] for trace in figure.figure["data"] if "name" in trace]


def marks(figure: Figure) -> list[tuple[str, str]]:
    return [
        (trace["marker"]["color"], trace["marker"]["symbol"])
        for trace in figure.figure["data"]
        if "name" in trace
    ]


@pytest.fixture
def sweeps() -> Figure:
    return overlaid(drawn_sweep("ssnf", "NVIDIA H200"), drawn_sweep("sssnff", "RTX 4090"))


def test_both_machines_lines_are_there_with_names_and_values(sweeps: Figure) -> None:
    assert names(sweeps) == [
        "eager, H200",
        "compiled, H200",
        "eager, RTX 4090",
        "compiled, RTX 4090",
    ]
    lengths = [len(trace["x"]) for trace in sweeps.figure["data"] if "name" in trace]
    assert lengths == [4, 4, 6, 6]
    second = drawn_sweep("sssnff", "RTX 4090").figure["data"]
    lines = [trace for trace in second if "name" in trace]
    assert [trace["y"] for trace in sweeps.figure["data"] if "name" in trace][2:] == [
        trace["y"] for trace in lines
    ]


def test_the_second_machine_has_a_colour_and_symbols_of_its_own(sweeps: Figure) -> None:
    first, second = marks(sweeps)[:2], marks(sweeps)[2:]
    assert first == marks(drawn_sweep("ssnf", "NVIDIA H200"))
    assert {colour for colour, _ in second} == {palette.BESIDE.light}
    symbols = [symbol for _, symbol in (*first, *second)]
    assert len(set(symbols)) == len(symbols)
    bands = [trace["fillcolor"] for trace in sweeps.figure["data"] if "fillcolor" in trace]
    assert bands[2:] == [palette.BESIDE.band] * 2
    assert palette.BESIDE.band not in bands[:2]
    dashes = [trace["line"]["dash"] for trace in sweeps.figure["data"] if "name" in trace]
    assert dashes[:2] == dashes[2:]  # which lines belong together


def test_axes_hold_both_and_a_single_machines_would_not(sweeps: Figure) -> None:
    alone = [drawn_sweep(letters, "x").figure["layout"] for letters in ("ssnf", "sssnff")]
    for axis in ("xaxis", "yaxis"):
        low, high = sweeps.figure["layout"][axis]["range"]
        assert low <= min(layout[axis]["range"][0] for layout in alone)
        assert high >= max(layout[axis]["range"][1] for layout in alone)
        assert high > alone[0][axis]["range"][1]
        ticks = sweeps.figure["layout"][axis]["tickvals"]
        assert ticks == sorted(set(ticks)) and 3 <= len(ticks) <= 8
        assert len(ticks) == len(sweeps.figure["layout"][axis]["ticktext"])


def test_caption_text_alternative_numbers_and_origins_are_of_both(sweeps: Figure) -> None:
    caption, alt = str(sweeps.caption), str(sweeps.alt)
    assert caption.startswith("H200: Linear and softmax: ") and "RTX 4090: Linear" in caption
    assert "slower than eager mode up to 4 rows" in caption
    assert "slower than eager mode up to 16 rows" in caption
    assert "rows from 1 to 64" in alt and "rows from 1 to 1\u202f024" in alt
    assert len(sweeps.table.rows) == 4 + 6
    html = sweeps._repr_mimebundle_()["text/html"]
    assert html.count("Recorded, not measured here: ") == 2
    assert "NVIDIA H200, CUDA" in html and "RTX 4090, CUDA" in html


def test_a_place_that_only_the_firsts_numbers_lead_to_says_whose_it_is(sweeps: Figure) -> None:
    layout = sweeps.figure["layout"]
    assert [note["text"] for note in layout["annotations"]] == ["break-even, H200"]
    assert layout["shapes"] == drawn_sweep("ssnf", "x").figure["layout"]["shapes"]
    alike = overlaid(drawn_sweep("ssnf", "NVIDIA H200"), drawn_sweep("ssnf", "RTX 4090"))
    assert [note["text"] for note in alike.figure["layout"]["annotations"]] == ["break-even"]


def test_what_both_draw_alike_stands_once() -> None:
    def draw(height: float) -> Figure:
        drawing = FigureBuilder("formula")
        drawing.x_axis(word("rows"))
        drawing.y_axis(word("speed-up"))
        drawing.line(word("formula"), [1, 2], [3, 4], palette.FORMULA, mode="lines")
        drawing.line(word("measured"), [1, 2], [height, 2], palette.MEASURED)
        table = TableBuilder("t", word("T."))
        table.numbers(word("rows"), [height])
        return drawing.build(caption=word("C."), alt=word("A."), table=table.build())

    assert names(overlaid(draw(1), draw(2))) == [
        "formula",
        "measured, H200",
        "measured, RTX 4090",
    ]
    assert names(overlaid(draw(2), draw(2))) == ["formula", "measured"]


def test_rows_carry_the_names_and_the_legend_the_machine() -> None:
    figure = overlaid(drawn_pair(1e-3, "NVIDIA H200"), drawn_pair(4e-3, "RTX 4090"))
    traces = figure.figure["data"]
    assert names(figure) == ["H200", "H200", "RTX 4090", "RTX 4090"]
    assert [trace["showlegend"] for trace in traces] == [False, False, True, False]
    assert figure.figure["layout"]["showlegend"] is True
    assert [trace["y"] for trace in traces[:2]] == [trace["y"] for trace in traces[2:]]
    assert len({symbol for _, symbol in marks(figure)[2:]}) == 1
    alike = overlaid(drawn_pair(1e-3, "NVIDIA H200"), drawn_pair(1e-3, "RTX 4090"))
    assert [trace["showlegend"] for trace in alike.figure["data"]] == [False, False]


@pytest.mark.parametrize("seconds", [2e-3, 3e-6])
def test_values_move_into_the_firsts_unit(seconds: float) -> None:
    """The second figure's axis would count in another unit where its times are shorter."""
    first, second = drawn_pair(4e-3, "NVIDIA H200"), drawn_pair(seconds, "RTX 4090")
    figure = overlaid(first, second)
    assert figure.figure["layout"]["xaxis"]["title"]["text"] == "time per call (ms)"
    point = figure.figure["data"][2]
    assert point["x"] == [pytest.approx(seconds * 1e3)]
    assert point["error_x"]["array"] == [pytest.approx(0.1 * seconds * 1e3)]
    assert point["hovertext"] == [duration(seconds)]
    is_moved = second.figure["data"][0]["x"] != point["x"]
    assert is_moved == (seconds == 3e-6)


def test_a_row_that_only_one_machine_has_gets_its_room() -> None:
    first, second = drawn_pair(1e-3, "NVIDIA H200"), drawn_pair(4e-3, "RTX 4090")
    fewer = make_comparison("f", 1e-3, origin=origin("NVIDIA H200"))
    short = comparison_figure("pair", replace(fewer, timings=fewer.timings[:1]), subject=SUBJECT)
    figure = overlaid(short, second)
    axis = figure.figure["layout"]["yaxis"]
    assert (axis["categoryarray"], axis["range"]) == (["eager", "compiled"], [1.5, -0.5])
    assert figure.figure["layout"]["height"] == overlaid(first, second).figure["layout"]["height"]


def bars(mode: str, value: float) -> Figure:
    drawing = FigureBuilder("bars", height=300)
    drawing.rows([word("eager"), word("compiled")])
    drawing.x_axis(plain("MiB"), rangemode="tozero")
    drawing.layout["barmode"] = mode
    for label, scale, mark in ((word("kept"), 1, palette.IDLE), (word("peak"), 2, palette.UPDATE)):
        values = [value * scale, value]
        rows = [word("eager"), word("compiled")]
        hover = ["a", "b"]
        drawing.bars(label, values, rows, mark, hover=hover, orientation="h")
    table = TableBuilder("bars-table", word("B."))
    table.numbers(word("kept"), [value])
    return drawing.build(caption=word("C {v}.", v=value), alt=word("A."), table=table.build())


def test_grouped_bars_stand_side_by_side_and_stacked_ones_are_refused() -> None:
    figure = overlaid(bars("group", 3), bars("group", 5))
    assert names(figure) == ["kept, H200", "peak, H200", "kept, RTX 4090", "peak, RTX 4090"]
    patterns = [trace["marker"]["pattern"]["shape"] for trace in figure.figure["data"]]
    assert len(set(patterns)) == 4
    assert figure.figure["layout"]["height"] > 300
    assert overlaid_figures(bars("stack", 3), bars("stack", 5), MACHINES) is None


def test_spans_and_heatmaps_are_refused() -> None:
    def lanes(end: float) -> Figure:
        spans = [Span(rank_lane(0), 0.0, end, "forward")]
        return timeline_figure("lanes", spans, caption=word("C."), alt=word("A."))

    def heat(value: float) -> Figure:
        drawing = FigureBuilder("heat")
        drawing.trace(type="heatmap", z=[[value]])
        table = TableBuilder("t", word("T."))
        table.numbers(word("z"), [value])
        return drawing.build(caption=word("C."), alt=word("A."), table=table.build())

    assert overlaid_figures(lanes(1.0), lanes(2.0), MACHINES) is None
    assert overlaid_figures(heat(1.0), heat(2.0), MACHINES) is None


def test_axes_that_count_different_things_are_refused() -> None:
    def line(title: str, *, is_log: bool = False) -> Figure:
        drawing = FigureBuilder("line")
        drawing.x_axis(word("rows"))
        drawing.y_axis(word("{what} ({unit})", what=title, unit="ms"))
        if is_log:
            drawing.log_axis("y", word("{what} ({unit})", what=title, unit="ms"), [1, 10])
        drawing.line(word("eager"), [1, 2], [3, 4], palette.EAGER)
        table = TableBuilder("t", word("T."))
        table.numbers(word("y"), [3])
        return drawing.build(caption=word("C."), alt=word("A."), table=table.build())

    assert overlaid_figures(line("time"), line("time"), MACHINES) is not None
    assert overlaid_figures(line("time"), line("delay"), MACHINES) is None
    assert overlaid_figures(line("time"), line("time", is_log=True), MACHINES) is None


def test_the_inputs_stay_as_they_were_and_plotly_accepts_what_comes_out() -> None:
    for first, second in (
        (drawn_sweep("ssnf", "NVIDIA H200"), drawn_sweep("ffff", "RTX 4090")),
        (drawn_pair(1e-3, "NVIDIA H200"), drawn_pair(2e-6, "RTX 4090")),
        (bars("group", 3), bars("group", 5)),
    ):
        before = json.dumps([first.to_json(), second.to_json()])
        figure = overlaid(first, second)
        assert json.dumps([first.to_json(), second.to_json()]) == before
        drawing = go.Figure(data=figure.figure["data"], layout=figure.figure["layout"])
        assert len(drawing.data) == len(figure.figure["data"])
        known = {*palette.LIGHT_TO_DARK, palette.CLEAR}
        colours = [trace["marker"]["color"] for trace in figure.figure["data"] if "name" in trace]
        assert set(colours) <= known
