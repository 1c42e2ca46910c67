"""What the chapter on recompilations shows. Oracle: histories and times written by hand.

No torch anywhere: plain data in, records out.
"""

from dataclasses import replace

import pytest

from fuseshard.compiler.recompiles.lengths import attention_flop, best_lengths, plan
from fuseshard.compiler.recompiles.reasons import failure
from fuseshard.compiler.recompiles.records import Call, Cure, Graph, History, ShapeCosts, Symbol
from fuseshard.measure.experiments import Outcome
from fuseshard.measure.records import Comparison, Sweep, SweepPoint, Timing
from fuseshard.measure.statistics import paired_ratio
from fuseshard.show.chapters.recompiles import costs, listings, padding, tables, timeline
from fuseshard.show.records import Table
from fuseshard.show.words import Word

SIZE = "0/0: tensor 'x' size mismatch at index 0. expected 5, actual 7"
WARNING = "torch._dynamo hit config.recompile_limit (2)"


def call(index: int, state: str, *, graph: int | None = None, reason: str | None = None) -> Call:
    used = () if graph is None else (graph,)
    return Call(
        index=index,
        inputs=str(5 + index),
        state=state,
        failures=() if reason is None else (failure(reason),),
        compiled=used if state.endswith("compile") else (),
        ran=used,
        graphs_so_far=1 if index == 0 else 2,
        warning=WARNING if state == "eager" else None,
    )


@pytest.fixture
def history() -> History:
    calls = (
        call(0, "compile", graph=0),
        call(1, "recompile", graph=1, reason=SIZE),
        call(2, "hit", graph=1),
        call(3, "eager"),
    )
    symbol = Symbol(name="s7", stands_for="x.size()[0]", hint=7, low=2, high=None)
    counted = replace(symbol, name="u0", stands_for=None, hint=None, low=0, high=30)
    graphs = (
        Graph(index=0, inputs=("x: float32[5]",), symbols=(), conditions=()),
        Graph(index=1, inputs=("x: float32[s7]",), symbols=(symbol, counted), conditions=("s7<9",)),
    )
    return History(function="f", calls=calls, graphs=graphs)


def test_each_call_stands_on_the_lane_of_its_graph(history: History) -> None:
    figure = timeline.timeline("t", history).figure
    places = {trace["name"]: (trace["x"], trace["y"]) for trace in figure["data"]}
    assert places == {
        "compiles": ([1], [0]),
        "compiles again": ([2], [1]),
        "reuses a graph": ([3], [1]),
        "runs without the compiler": ([4], [2]),
    }


def test_each_lane_says_why_it_came_to_be(history: History) -> None:
    layout = timeline.timeline("t", history).figure["layout"]
    assert [note["text"] for note in layout["annotations"]] == [
        "graph 0",
        "graph 1, because of size 0 of x: 5 → 7",
        "no graph: the limit is reached",
    ]
    assert layout["xaxis"]["ticktext"] == ["5", "6", "7", "8"]


def test_many_calls_have_fewer_labels(history: History) -> None:
    hits = tuple(replace(history.calls[2], index=i, inputs=str(i)) for i in range(4, 24))
    many = replace(history, calls=(*history.calls, *hits))
    axis = timeline.timeline("t", many).figure["layout"]["xaxis"]
    assert len(axis["ticktext"]) <= 12
    assert axis["tickvals"][:2] == [1, 4]


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (SIZE, "size 0 of x: 5 → 7"),
        (
            "0/0: tensor 'x' stride mismatch at index 1. expected 1, actual 2",
            "stride 1 of x: 1 → 2",
        ),
        ("0/0: tensor 'x' dtype mismatch. expected Float, actual Half", "dtype of x: Float → Half"),
        ("0/0: GLOBAL_STATE changed: grad_mode ", "global state: grad_mode"),
        ("0/0: ___check_type_id(n, 1), type=<class 'int'>", "another type of n"),
        ("0/0: self.steps == 3", "self.steps == 3"),
        ("0/1: 2 <= x.size()[0]", "2 <= x.size()[0]"),
    ],
)
def test_a_reason_is_short(reason: str, text: str) -> None:
    assert str(timeline.reason(failure(reason))) == text


def test_the_calls_are_listed_with_every_guard(history: History) -> None:
    rows = timeline.calls_table("t", history).rows
    assert rows[1][3].code == "0: " + failure(SIZE).guard
    assert [row[4].number for row in rows] == [1, 2, 2, 2]


def test_scenarios_are_chosen_by_name(history: History) -> None:
    choice = timeline.timelines({"automatic": history, "number": history})
    assert [str(label) for label, _ in choice.options] == [
        "20 lengths, dynamic=None",
        "a Python number",
    ]


def test_symbols_are_listed_with_range_and_assumption(history: History) -> None:
    first, second = tables.symbols_table({"f": history.graphs}).rows
    texts = [[str(getattr(cell, "code", cell)) for cell in row] for row in (first, second)]
    assert texts[0][2:] == ["s7", "x.size()[0]", "7", "[2,\u00a0∞]", "s7<9"]
    assert texts[1][2:] == ["u0", "known at run time only", "—", "[0,\u00a030]", ""]


def test_ways_say_how_many_calls_ran_eager(history: History) -> None:
    table = tables.ways_table({"None": {"twenty": history}, "padding": {"twenty": history}})
    assert [str(row[1]) for row in table.rows] == ["2, and one call eager"] * 2
    assert table.rows[0][0].code == "dynamic=None"


@pytest.fixture
def cure(history: History) -> Cure:
    calm = replace(history, calls=history.calls[:1], graphs=history.graphs[:1])
    return Cure(name="dtype", before=history, after=calm, before_source="a\n\n", after_source="b")


def test_a_cure_is_listed_with_its_guard_and_its_graphs(cure: Cure) -> None:
    (row,) = tables.cures_table({"dtype": cure}).rows
    assert str(row[1]) == "size 0 of x: 5 → 7"
    assert (row[2].number, row[3].number) == (2, 1)


def test_a_listing_marks_where_before_and_after_begin(cure: Cure) -> None:
    other = replace(cure, name="string")
    choice = listings.storm_listings({"dtype": cure, "string": other})
    source = choice.options[0][1]
    assert source.code.splitlines() == ["a", "", "", "b"]
    assert [note.first for note in source.notes] == [1, 4]
    assert "first guard to fail: tensor 'x' size" in str(source.notes[0].text)
    assert "no guard fails" in str(source.notes[1].text)


def test_twins_are_equal_or_different(history: History) -> None:
    other = replace(history, calls=history.calls[:3])
    table = tables.twins_table({"dtype": (history, history), "static": (other, history)})
    assert [str(row[-1]) for row in table.rows] == ["equal", "different"]


def timing(name: str, seconds: float, baseline_s: float | None = None) -> Timing:
    ratio = None if baseline_s is None else paired_ratio([baseline_s] * 15, [seconds] * 15)
    return Timing(
        name=name,
        first_call_s=2.0,
        rounds_s=(seconds,) * 15,
        calls_per_round=1,
        median_s=seconds,
        low_s=seconds,
        high_s=seconds,
        ratio=ratio,
    )


def sweep(times: dict[int, dict[str, float]]) -> Sweep:
    points = []
    for size, named in times.items():
        first, *others = named.items()
        timings = [timing(*first), *(timing(name, s, first[1]) for name, s in others)]
        comparison = Comparison(timings=tuple(timings), num_threads=1)
        points.append(SweepPoint(size=size, comparison=comparison))
    return Sweep(size_name="n", points=tuple(points))


def test_a_lookup_costs_so_much_an_entry() -> None:
    found = sweep({1: {"front": 1e-5, "last": 1e-5}, 11: {"front": 1e-5, "last": 2e-5}})
    text = str(costs.lookup_finding(found))
    assert "with 11 entries" in text and "2.00× the time" in text and "1.0 µs more" in text
    assert "Two lines" in str(costs.lookup_figure(found).alt)


def test_a_lookup_that_costs_nothing_is_no_finding() -> None:
    found = sweep({11: {"front": 1e-5, "last": 1e-5}})
    assert str(costs.lookup_finding(found)) == "with 11 entries no difference was measured"


def test_the_fallback_is_drawn_against_eager() -> None:
    comparison = sweep({1: {"eager": 1e-6, "hit": 3e-6, "fallback": 5e-6}}).points[0].comparison
    assert "takes 5.00× the time of eager mode" in str(
        costs.variant_finding(comparison, "fallback")
    )
    assert len(costs.fallback_figure(comparison).figure["data"]) == 3


def lengths() -> Sweep:
    rows = {}
    for length in (16, 256):
        static_s = 1e-5 + 1e-10 * attention_flop(length)
        rows[length] = {"static": static_s, "symbolic": 1.5 * static_s, "eager": static_s}
    return sweep(rows)


def test_symbolic_code_is_compared_at_each_length() -> None:
    assert str(costs.symbolic_finding(lengths())).startswith("symbolic code is slower than static")
    assert len(costs.lengths_figure(lengths()).table.rows) == 2
    assert str(costs.gpu_symbolic_finding(None)) == "nothing is recorded yet"


@pytest.mark.parametrize("is_recorded", [True, False])
def test_a_recording_is_shown_and_a_missing_one_is_named(is_recorded: bool) -> None:
    graphed = {"static reduce-overhead": 1e-6, "symbolic reduce-overhead": 1e-6}
    points = {p.size: {t.name: t.median_s for t in p.comparison.timings} for p in lengths().points}
    found = sweep({size: named | graphed for size, named in points.items()})
    recorded = ShapeCosts(lengths=found, recorded_static=2, recorded_symbolic=2)
    outcome = Outcome(
        experiment_id="recompiles.lengths-gpu",
        state="recorded" if is_recorded else "not recorded yet",
        note="",
        available=recorded if is_recorded else None,
    )
    assert isinstance(costs.gpu_costs(outcome), Table if is_recorded else Word)
    assert ("2 recordings" in str(costs.recordings_finding(outcome.available))) == is_recorded


SEQUENCES = [3, 5, 5, 9, 40, 100]
PLANS = [plan(best_lengths(SEQUENCES, count), SEQUENCES) for count in (1, 2, 3)]


def test_bars_add_up_to_what_all_calls_take() -> None:
    choice = padding.trade_slider(PLANS, lengths())
    assert choice.control == "slider"
    assert len(choice.options) == len(padding.NUM_CALLS)
    for _, figure in choice.options:
        heights = [sum(trace["y"][i] for trace in figure.figure["data"]) for i in range(4)]
        totals = [row[-1].number for row in figure.table.rows]
        scale = heights[0] / totals[0]
        assert heights == pytest.approx([scale * total for total in totals])


def test_the_cheapest_is_named() -> None:
    quick = sweep({16: {"static": 1e-6, "symbolic": 9.0}, 256: {"static": 1e-5, "symbolic": 9.0}})
    assert str(padding.trade_finding(PLANS, quick, 1)) == "padding everything to one length"
    slow = sweep({16: {"static": 1e-5, "symbolic": 1.0}, 256: {"static": 1.0, "symbolic": 9.0}})
    assert str(padding.trade_finding(PLANS, slow, 10**6)) == "padding to 3 lengths"
    free = sweep({16: {"static": 1e-3, "symbolic": 1e-6}, 256: {"static": 1.0, "symbolic": 1e-3}})
    assert str(padding.trade_finding(PLANS, free, 10**6)) == "one symbolic graph without padding"


def test_wasted_work_is_a_percentage() -> None:
    rows = padding.plans_table(PLANS).rows
    assert [row[2].number for row in rows] == [100 * p.wasted_share for p in PLANS]


def test_differences_stand_beside_their_bound() -> None:
    table = padding.differences_table([padding.Padded(7, 16, 0.0, 0.5, 1e-3)])
    assert [str(cell) for cell in table.rows[0][2:]] == ["0", "0.50", "0.0010"]
