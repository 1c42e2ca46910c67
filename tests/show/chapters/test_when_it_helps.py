"""What the chapter on when compiling helps shows. Oracles: times that are known beforehand."""

import json
from dataclasses import replace
from itertools import pairwise

import pytest

from fuseshard.compiler.ledger import account
from fuseshard.compiler.ledger.chain_model import ChainModel, fit
from fuseshard.compiler.ledger.chain_model import predictions as predicted_of
from fuseshard.compiler.ledger.records import Generation, Ledger, SpeedMaps, Written
from fuseshard.measure.experiments import Outcome
from fuseshard.measure.provenance import environment
from fuseshard.measure.records import Origin
from fuseshard.show.chapters.when_it_helps import (
    accounts,
    costs,
    predictions,
    speed_maps,
    steps,
    tools,
    writing,
)
from fuseshard.show.choices import Choice
from fuseshard.show.records import Figure, Table
from fuseshard.show.words import Plain, Word
from tests.compiler.ledger.conftest import known_comparison, known_map

TIMES_S = {"none": 8e-4, "vectors": 2e-4, "fusion": 3e-4, "fusion + vectors": 4e-5}
CALL_S = 6e-5

PLAIN_CODE = """
void kernel(const float* in_ptr0, float* out_ptr0, float* out_ptr1)
{
    {
        for(int64_t x0=0L; x0<64L; x0+=1L)
        {
            {
                out_ptr0[x0] = in_ptr0[x0] + 1;
            }
        }
    }
    {
        for(int64_t x0=0L; x0<64L; x0+=1L)
        {
            out_ptr1[x0] = out_ptr0[x0] * 2;
        }
    }
    {
        for(int64_t x0=0L; x0<64L; x0+=1L)
        {
            out_ptr1[x0] = out_ptr1[x0] * 3;
        }
    }
}
"""
VECTOR_CODE = """
void kernel(const float* in_ptr0, float* out_ptr0)
{
    for(int64_t x0=0L; x0<64L; x0+=8L)
    {
        auto tmp0 = at::vec::Vectorized<float>::loadu(in_ptr0 + x0, 8);
        tmp0.store(out_ptr0 + x0);
    }
}
"""


def speeds(family="chain", rows=("2", "8"), columns=(16, 1024)):
    """Slower, no difference, faster, much faster: one place each."""
    ratios = dict(zip([(r, c) for r in rows for c in columns], (4.0, 1.0, 0.5, 0.25), strict=True))
    return known_map(family, rows, columns, lambda r, c: (1e-3, 1e-3 * ratios[r, c]))


def ledger() -> Ledger:
    times = {"eager": 2e-4, **TIMES_S}
    times |= {
        account.name_of({*name.replace("none", "").split(" + "), "call"} - {""}): s + CALL_S
        for name, s in TIMES_S.items()
    }
    threads = {"eager": 2e-4, "compiled": 4e-5, "eager, 2": 2e-4, "compiled, 2": 2e-5}
    code = {"none": PLAIN_CODE, "vectors": VECTOR_CODE, "fusion + vectors": VECTOR_CODE}
    return Ledger(
        num_elements=64,
        comparison=known_comparison(**times),
        threads=known_comparison(**threads),
        written=tuple(
            Written(
                switches=tuple(name.replace("none", "").split(" + ")) if name != "none" else (),
                loops=1,
                vectors=0,
                parallel_loops=1,
                buffer_bytes=256,
                code=code.get(name, PLAIN_CODE),
            )
            for name in TIMES_S
        ),
    )


def times():
    made = ledger()
    sets = account.sets_of(("vectors", "fusion", "call"))
    return {on: made.comparison[account.name_of(on)].median_s for on in sets}


def test_a_place_without_a_difference_has_the_sign_and_no_colour() -> None:
    figure = speed_maps.map_figure(speeds(), name="map")
    (trace,) = figure.figure["data"]
    assert trace["z"] == [[-2.0, 0.0], [1.0, 2.0]]
    assert trace["text"] == [["0.25", "≈"], ["2.0", "4.0"]]


def test_the_caption_counts_what_was_measured() -> None:
    found = str(speed_maps.counts_finding(speeds()))
    assert found.startswith("of 4 places, 2 are faster compiled, 1 are slower, and in 1 no")


def test_the_best_place_is_named_or_there_is_none() -> None:
    assert "4.00×" in str(speed_maps.best_finding(speeds()))
    flat = known_map("chain", ("2",), (16,), lambda r, c: (1e-3, 1e-3))
    assert "nowhere" in str(speed_maps.best_finding(flat))
    slow = known_map("chain", ("2",), (16,), lambda r, c: (1e-3, 2e-3))
    assert "nowhere" in str(speed_maps.best_finding(slow))


def test_a_range_says_where_nothing_was_measured() -> None:
    found = str(speed_maps.range_finding(speeds(), "2"))
    assert found == "0.250× at 16 elements and indistinguishable from 1 at 1\u202f024 elements"


def test_every_family_has_its_words() -> None:
    rows = {"chain": ("2", "8"), "matmul": ("0", "2"), "breaks": ("0", "3")}
    rows |= {"models": ("mlp", "minigpt-training")}
    maps = [speeds(family, own) for family, own in rows.items()]
    choice = speed_maps.map_chooser(maps)
    assert len(choice.options) == 4
    assert isinstance(speed_maps.error_table(maps), Table)
    json.dumps(choice.to_json(), allow_nan=False)


def test_without_a_recording_the_page_says_how_to_make_one() -> None:
    outcome = Outcome(experiment_id="x.y", state="not recorded yet", note="", available=None)
    assert "make record" in str(speed_maps.recorded_chooser(outcome))
    assert str(predictions.price_finding(None)) == "nothing is recorded yet"


def test_a_recording_is_drawn_under_names_of_its_own() -> None:
    origin = Origin(is_live=False, environment=environment())
    made = SpeedMaps(maps=(speeds(), speeds("breaks", ("0", "3"))), origin=origin)
    outcome = Outcome(experiment_id="x.y", state="recorded", note="", available=made)
    drawn = speed_maps.recorded_chooser(outcome)
    assert isinstance(drawn, Choice)
    names = {record.name for _, record in drawn.options}
    assert not names & {record.name for _, record in speed_maps.map_chooser(made.maps).options}
    assert all(record.origin and not record.origin.live for _, record in drawn.options)
    assert "500 µs with 16 elements" in str(predictions.price_finding(made))


def test_places_in_a_range_are_counted_among_all() -> None:
    assert speed_maps.count_between(speeds(), ("2", "8"), 1.5, 3) == (1, 4)
    assert speed_maps.count_between(speeds(), ("2",), 0.1, 9) == (1, 2)


def test_a_row_without_any_difference_says_so_once() -> None:
    flat = known_map("chain", ("2",), (16, 1024), lambda r, c: (1e-3, 1e-3))
    assert str(speed_maps.range_finding(flat, "2")) == "indistinguishable from 1 at every size"


def test_a_ratio_is_said_briefly_in_each_of_three_ways() -> None:
    said = [str(speed_maps.brief_finding(cell.comparison.ratio)) for cell in speeds().cells]
    assert said == ["4.00× the time", "no difference measured", "2.00× as fast", "4.00× as fast"]


def test_predictions_are_points_around_a_diagonal() -> None:
    true = ChainModel(
        eager_call_s=2e-6,
        compiled_call_s=2e-5,
        pass_s={16: 0.0, 1024: 1e-6, 32_768: 3e-6},
        arithmetic_s=5e-11,
    )
    chains = known_map(
        "chain",
        ("2", "8", "128"),
        (16, 1024, 32_768),
        lambda r, c: (true.eager_s(int(r), c), true.compiled_s(int(r), c)),
    )
    made = predicted_of(chains)
    figure = predictions.prediction_figure(made, chains)
    assert [trace["name"] for trace in figure.figure["data"]][1:] == ["eager", "compiled"]
    assert f"{len(made)} within 1.5" in str(predictions.error_finding(made))
    model, _ = fit(chains)
    decided = sum(cell.speedup is not None for cell in chains.cells)
    assert str(predictions.side_finding(model, chains)).startswith(f"of the {decided} places")
    assert str(predictions.side_finding(model, chains)).endswith(f"in {decided}")
    other = replace(model, compiled_call_s=1.0)
    assert not str(predictions.side_finding(other, chains)).endswith(f"in {decided}")
    off = [replace(p, predicted_s=3 * p.measured_s) for p in made]
    assert "0 within 1.5" in str(predictions.error_finding(off))
    assert isinstance(predictions.price_table(model, chains), Table)


def test_places_above_the_ceiling_are_counted_and_the_furthest_is_named() -> None:
    low = ChainModel(
        eager_call_s=1e-6, compiled_call_s=0.0, pass_s={16: 0.0, 1024: 0.0}, arithmetic_s=1e-9
    )
    chains = speeds()  # 2.00x and 4.00x with 8 operations
    found = str(predictions.ceiling_finding(low, chains))
    assert found.startswith("of the 2 places with a gain, 1 lie above it, most of all 8 operations")
    assert found.endswith("4.00× where it allows 0.977×")
    high = replace(low, arithmetic_s=1e-12)
    assert str(predictions.ceiling_finding(high, chains)).startswith("none of the 2 places")


def test_live_and_recorded_places_stand_side_by_side() -> None:
    flat = known_map("chain", ("2", "8"), (16, 1024), lambda r, c: (1e-3, 1e-3))
    (row,) = speed_maps.beside_table([speeds()], [flat]).rows
    assert [str(cell) for cell in row[1:]] == ["2 / 1 / 1", "0 / 0 / 4"]


def test_the_bars_of_a_rule_lead_from_eager_to_the_compiled_call() -> None:
    for label, figure in accounts.order_chooser(ledger(), times()).options:
        assert isinstance(figure, Figure)
        ends = [trace["x"] for trace in figure.figure["data"]]
        assert ends[0][0] == pytest.approx(2e-4), label
        assert ends[-1][-1] == pytest.approx(4e-5 + CALL_S), label
        assert all(a[-1] == pytest.approx(b[0]) for a, b in pairwise(ends))


def test_only_the_rule_that_leaves_a_rest_has_a_bar_for_it() -> None:
    counts = [
        len(figure.figure["data"])
        for _, figure in accounts.order_chooser(ledger(), times()).options
    ]
    assert counts == [4, 4, 5, 4]


def test_a_factor_says_whether_it_saves_or_costs() -> None:
    assert accounts.step_text(0.25) == "÷4.00"
    assert accounts.step_text(4.0) == "×4.00"


def test_threads_are_judged_within_their_own_rounds() -> None:
    assert str(accounts.thread_finding(ledger(), "eager")) == "no measurable difference"
    assert str(accounts.thread_finding(ledger(), "compiled")) == "2.00× the speed of one thread"


def test_an_excerpt_keeps_whole_loops_and_counts_the_rest() -> None:
    cut = steps.excerpt(PLAIN_CODE)
    assert cut.count("for(int64_t") == 2
    assert cut.count("{") == cut.count("}")
    assert cut.endswith("// 1 more loops")
    assert "more" not in steps.excerpt(VECTOR_CODE)
    with pytest.raises(ValueError, match="has no loop"):
        steps.excerpt("int x;")


def test_each_step_has_its_code_and_its_time() -> None:
    choice = steps.stepper(ledger())
    assert choice.control == "slider"
    captions = [str(record.caption) for _, record in choice.options]
    assert captions[0].startswith("800 µs a call, 4.00×")
    assert captions[2].startswith("40.0 µs a call, 0.200×")


def test_code_without_vectors_fails_where_vectors_are_explained() -> None:
    made = ledger()
    wrong = tuple(replace(one, code=PLAIN_CODE) for one in made.written)
    with pytest.raises(ValueError, match="the anchor"):
        steps.stepper(replace(made, written=wrong))


def test_a_compiled_call_is_split_into_three_parts() -> None:
    paths = known_comparison(
        eager=5e-6, compiled=5e-5, unguarded=4e-5, captured=4.5e-5, written=2e-6
    )
    parts = costs.path_parts(paths)
    assert sum(parts.values()) == pytest.approx(5e-5)
    assert parts == pytest.approx({"module": 2e-6, "guards": 1e-5, "wrappers": 3.8e-5})
    assert str(costs.guard_finding(paths)) == "guards are 20 % of the call"
    assert isinstance(costs.path_figure(paths), Figure)
    same = known_comparison(eager=5e-6, compiled=4e-5, unguarded=4e-5, captured=4e-5, written=2e-6)
    assert "too small" in str(costs.guard_finding(same))


def test_the_payback_table_has_a_row_a_speedup() -> None:
    table = costs.payback_table((1.1, 2.0), first_call_s=1.0, eager_s=1e-3)
    assert [str(row[1]) for row in table.rows] == ["11\u202f000", "2\u202f000"]
    assert [row[3].number for row in table.rows] == pytest.approx([11, 2])


def generated() -> Generation:
    seconds = {"growing": 0.02, "static": 0.02, "no cache": 0.04}
    seconds |= {"growing, compiled": 0.016, "static, compiled": 0.01}
    return Generation(
        num_tokens=8,
        num_sequences=2,
        comparison=known_comparison(**seconds),
        tokens=dict.fromkeys(seconds, (1, 2)),
        graphs=dict.fromkeys(seconds, 0),
    )


def test_tokens_per_second_count_all_sequences() -> None:
    figure = writing.speed_figure(generated())
    speed = {trace["name"]: trace["x"][0] for trace in figure.figure["data"]}
    assert speed["fixed cache, compiled"] == pytest.approx(1600)
    assert "2.00× as fast" in str(figure.caption)


def test_the_graph_table_has_a_row_a_setting() -> None:
    counts = {"None": {"growing": 2, "static": 1}, "True": {"growing": 1, "static": 1}}
    assert len(writing.graph_table(counts).rows) == 2


def test_a_difference_beyond_the_bound_is_a_bug() -> None:
    table = tools.share_table({"compiled": 0.01, "broken": 3.0})
    assert [str(row[-1]) for row in table.rows] == ["rounding", "a bug"]


def test_a_rule_needs_its_evidence() -> None:
    ratio = speeds().cell("8", 16).comparison.ratio
    evidence = [ratio, *[Word("{text}", {"text": "x"})] * 8]
    table = tools.rule_table(evidence)
    assert [str(row[2]) for row in table.rows] == ["2.00× as fast", *["x"] * 8]
    with pytest.raises(ValueError, match="got 8 findings, must be 9"):
        tools.rule_table(evidence[:8])


def test_every_tool_has_its_mark() -> None:
    timed = known_comparison(
        eager=1e-4, compiled=1e-4, torchscript=1e-4, aot_inductor=5e-5, onnx_runtime=2e-4
    )
    assert isinstance(tools.tool_figure(timed, batch=32), Figure)
    assert "2.00×" in str(tools.tool_finding(timed, "aot_inductor"))
    assert isinstance(tools.tool_variants()["onnx_runtime"].label, Plain | Word)
