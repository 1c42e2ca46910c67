"""What the chapter on compile time shows. Oracle: records made here, whose findings are known."""

from dataclasses import replace

import pytest

from fuseshard.compiler.caches.payback import calls_to_pay_back
from fuseshard.compiler.caches.records import (
    ClinicCase,
    FirstCall,
    Lookup,
    PackageReport,
    RegionPoint,
    RegionSweep,
    Start,
    Starts,
    WidthTrial,
)
from fuseshard.measure.experiments import Outcome
from fuseshard.measure.records import Comparison, Origin, Ratio
from fuseshard.show.chapters.compile_time import (
    clinic,
    growth,
    package,
    payback,
    regions,
    starts,
    widths,
)
from fuseshard.show.records import Figure, Number, Table
from fuseshard.show.words import Word
from tests.show.conftest import make_environment, make_timing

STAGES = ("dynamo", "aotautograd", "inductor", "compiler")
ORIGIN = Origin(is_live=True, environment=make_environment())


def ratio(median: float) -> Ratio:
    verdict = "faster" if median < 0.9 else "slower" if median > 1.1 else "no difference measured"
    return Ratio(
        median=median, low=0.95 * median, high=1.05 * median, confidence=0.99, verdict=verdict
    )


def lookup(autograd: str = "hit", graph: str = "hit", runs: int = 0) -> Lookup:
    return Lookup(
        dynamo="not asked",
        autograd=autograd,
        graph=graph,
        compiler_runs=runs,
        graphs=1,
        first_call_s=0.25 + runs,
    )


def first_call(layers: int, *, is_timed: bool = True) -> FirstCall:
    seconds = (0.1 * layers, 0.2 * layers, 0.3 * layers, 2.0)
    parts = dict(zip(STAGES, seconds, strict=True)) if is_timed else {}
    return FirstCall(parts_s=parts, graphs=1, compiler_runs=2)


def point(layers: int, width: int, regional: float, *, is_timed: bool = True) -> RegionPoint:
    """Eager takes 1 ms a layer; the whole half of that; by region, `regional` times the whole."""
    eager_s = 1e-3 * layers
    ratios = {"whole": 0.5, "regional": 0.5 * regional, "nested": 0.5}
    timings = [make_timing("eager", eager_s)]
    timings += [make_timing(way, eager_s * r, ratio(r)) for way, r in ratios.items()]
    return RegionPoint(
        num_layers=layers,
        width=width,
        num_rows=10,
        first_calls={
            "whole": first_call(layers, is_timed=is_timed),
            "regional": first_call(1, is_timed=is_timed),
            "nested": first_call(2, is_timed=is_timed),
        },
        comparison=Comparison(timings=tuple(timings), num_threads=1),
        to_whole={"regional": ratio(regional), "nested": ratio(1.0)},
        errors={"eager": 1e-7},
    )


def sweep(narrow: float = 4.0, wide: float = 1.0) -> RegionSweep:
    return RegionSweep(
        device="cpu",
        points=(point(4, 10, narrow), point(16, 10, narrow)),
        wide=point(4, 512, wide, is_timed=False),
        origin=ORIGIN,
    )


def start(way: str, *, prepare_s: float = 3.0, load_s: float = 0.0) -> Start:
    return Start(
        way=way,
        import_s=2.0,
        prepare_s=prepare_s,
        load_s=load_s,
        first_call_s=0.5,
        call_s=1e-4,
    )


def all_starts() -> Starts:
    ways = {"eager": 0.0, "cold": 5.0, "disk": 3.0, "precompile": 3.0}
    cases = {
        "nothing": ("hit", "hit", 0, "a"),
        "variable": ("miss", "hit", 0, "b"),
        "option": ("miss", "miss", 0, "a"),
        "rows": ("miss", "miss", 1, "c"),
    }
    return Starts(
        device="cpu",
        num_layers=4,
        twins_s=(6.0, 1.0),
        artifact_bytes=1000,
        load_s=0.1,
        dropped_guards=("MODULE_MATCH",),
        starts=tuple(start(way, prepare_s=seconds) for way, seconds in ways.items()),
        lookups={
            "cold": lookup("miss", "miss", 2),
            "disk": lookup(),
            "artifacts": lookup("hit", "hit", 2),
            "precompile": replace(lookup("not asked", "not asked"), dynamo="hit", graphs=0),
        },
        outputs={},
        clinic=tuple(
            ClinicCase(change=change, lookup=lookup(*said[:3]), key_by_hand=said[3])
            for change, said in cases.items()
        ),
        origin=ORIGIN,
    )


def packaged() -> PackageReport:
    return PackageReport(
        export_s=0.1,
        compile_s=5.0,
        package_bytes=1000,
        start=start("package", prepare_s=1.0, load_s=0.25),
        outputs=(),
        num_rows=10,
        other_rows=15,
        returned_rows=15,
        right_rows=10,
        checked="unmatched dim",
        exported="Guard failed",
        origin=ORIGIN,
    )


def columns(table: Table) -> dict[str, list[object]]:
    cells = zip(*table.rows, strict=True)
    return {
        str(column.title): [c.number if isinstance(c, Number) else str(c) for c in column_cells]
        for column, column_cells in zip(table.columns, cells, strict=True)
    }


def test_a_start_is_drawn_from_its_import_to_its_first_result() -> None:
    figure = starts.start_figure(all_starts(), packaged())
    totals = columns(figure.table)["in all"]
    assert totals == [2.5, 7.5, 5.5, 5.5, 3.75]
    assert "the package is first, after 3.75 s" in str(figure.caption)
    once, model = figure.figure["data"][1:]
    assert model["base"] == [2.0 + seconds for seconds in once["x"]]


def test_the_quickest_compiled_start_is_named_also_without_a_package() -> None:
    figure = starts.start_figure(all_starts())
    assert "the start from disk is first, after 5.50 s" in str(figure.caption)


def test_lookups_say_what_each_cache_said() -> None:
    found = columns(starts.lookup_table(all_starts()))
    assert found["Dynamo's cache"] == ["not asked", "not asked", "not asked", "hit"]
    assert found["AOTAutograd's cache"] == ["miss", "hit", "hit", "not asked"]
    assert found["C++ files compiled"] == [2, 0, 2, 0]


def test_on_a_gpu_no_cpp_files_are_counted() -> None:
    on_gpu = replace(all_starts(), device="cuda")
    assert "C++ files compiled" not in columns(starts.lookup_table(on_gpu))


def test_artifacts_are_compared_with_the_cold_start() -> None:
    assert "1.00×" in str(starts.artifacts_finding(all_starts()))
    assert "not recorded yet" in str(starts.artifacts_finding(None))


def test_an_error_is_rounding_up_to_what_is_allowed() -> None:
    table = starts.error_table({"eager": 1e-7, "package": 2e-7, "transposed": 2e-3}, 3e-7)
    assert columns(table)["Verdict"] == ["rounding", "rounding", "a bug"]


def test_the_clinic_shows_where_our_own_cache_is_wrong() -> None:
    cases = all_starts().clinic
    found = columns(clinic.clinic_table(cases, ORIGIN))
    assert found["our own cache"] == ["hit", "miss", "hit", "miss"]
    assert found["AOTAutograd's cache"] == ["hit", "miss", "miss", "miss"]


def test_the_clinic_gathers_changes_by_what_the_caches_said() -> None:
    cases = all_starts().clinic
    found = clinic.by_answer(cases)
    assert set().union(*found.values()) == {case.change for case in cases}
    for answer, changes in found.items():
        for case in cases:
            says = (case.lookup.autograd, case.lookup.graph, case.lookup.compiler_runs)
            assert (case.change in changes) == (says == answer)
    assert clinic.disagreements(cases) == {cases[2].change}  # ours hits there, torch's misses


def test_the_clinics_choice_has_a_reason_for_each_change() -> None:
    choice = clinic.clinic_choice(all_starts().clinic)
    tables = [record for _, record in choice.options]
    assert len({str(table.caption) for table in tables}) == len(tables) == 4
    assert columns(tables[3])["Says"] == ["miss", "miss", "miss"]
    assert columns(tables[1])["Says"] == ["miss", "hit", "hit"]


def test_growth_takes_one_layer_from_the_stack_compiled_by_layers() -> None:
    figure = growth.growth_figure(sweep())
    assert columns(figure.table)["Graph"] == ["1 layer", "4 layers", "16 layers"]
    assert columns(figure.table)["in all"] == pytest.approx([2.6, 4.4, 11.6])
    assert "grows from 600 ms to 9.60 s" in str(figure.caption)
    assert "16 small layers takes 16.0 ms" in str(growth.opening(sweep()))


def test_regions_are_compared_with_the_whole() -> None:
    found = sweep()
    assert "takes 4.00× the time" in str(regions.region_finding(found.points[-1], "regional"))
    assert "no difference" in str(regions.region_finding(found.wide, "regional"))
    assert "less by a factor of 4.5" in str(regions.first_call_finding(found))
    assert "0.500×" not in str(regions.eager_finding(found.points[-1], "whole"))
    assert "2.00× as fast as eager mode" in str(regions.eager_finding(found.points[-1], "whole"))


def test_the_price_of_an_entry_is_that_of_a_layer() -> None:
    # By region 32 ms, as a whole 8 ms, 16 layers.
    assert "1.50 ms" in str(regions.per_layer_finding(sweep().points[-1]))
    assert "no such price" in str(regions.per_layer_finding(sweep(narrow=1.0).points[-1]))


@pytest.mark.parametrize(
    ("narrow", "wide", "text"),
    [
        (4.0, 1.0, "wide layers pay less"),
        (4.0, 2.0, "wide layers pay less"),
        (4.0, 4.0, "could not be told apart"),
        (1.0, 1.0, "could not be told apart"),
        (1.5, 4.0, "could not be told apart"),
    ],
)
def test_the_condition_is_claimed_only_where_it_was_measured(
    narrow: float, wide: float, text: str
) -> None:
    assert text in str(regions.condition_finding(sweep(narrow, wide)))


def test_the_stacks_are_shown_one_at_a_time() -> None:
    choice = regions.regions_choice(sweep())
    assert [type(record) for _, record in choice.options] == [Figure] * 3
    assert "16 layers" in str(choice.options[choice.start][0])


def test_a_bargain_has_few_columns_and_says_why_a_first_call_is_missing() -> None:
    choice = regions.bargain_choice(sweep())
    *_, deep, wide = [record for _, record in choice.options if isinstance(record, Table)]
    assert len(deep.columns) == 4 and len(deep.rows) == 3
    assert "—" not in columns(deep)["Once"] and not deep.notes
    assert columns(wide)["Once"] == ["—"] * 3
    assert "its time would say nothing" in str(wide.notes[0])


def test_a_recorded_sweep_is_summed_up_in_one_sentence() -> None:
    said = str(regions.gpu_finding(sweep()))
    assert "less by a factor of 4.5" in said and "takes 4.00× the time" in said
    assert "no difference was measured" in said
    assert "not recorded yet" in str(regions.gpu_finding(None))


def test_what_is_not_recorded_says_how_to_record_it() -> None:
    for shown in (
        regions.recorded_regions(outcome("compile-time.regions-gpu")),
        starts.recorded_starts(outcome("compile-time.starts-gpu")),
    ):
        assert isinstance(shown, Word)
        assert "make record" in str(shown)


def outcome(experiment_id: str) -> Outcome:
    return Outcome(
        experiment_id=experiment_id, state="not recorded yet", note="none", available=None
    )


def test_the_calculators_lines_cross_zero_where_its_table_says() -> None:
    deep = sweep().points[-1]
    choice = payback.payback_choice(deep)
    assert [str(label) for label, _ in choice.options][:2] == ["1.02×", "1.05×"]
    label, figure = choice.options[4]
    assert str(label) == "1.5×"
    line = figure.figure["data"][0]
    first_s, eager_s = deep.first_calls["whole"].elapsed_s, 16e-3
    even = calls_to_pay_back(first_s, eager_s, 1 / 1.5)
    below = max(n for n, saved in zip(line["x"], line["y"], strict=True) if saved < 0)
    above = min(n for n, saved in zip(line["x"], line["y"], strict=True) if saved >= 0)
    assert below < even <= above * 1.001
    # Must-fail twin: at another speed-up the line crosses elsewhere.
    assert calls_to_pay_back(first_s, eager_s, 1 / 1.02) > above


def test_what_never_pays_is_called_never() -> None:
    found = columns(payback.payback_table(sweep(narrow=4.0)))
    regional = [
        (found["Calls"][i], found["at most"][i])
        for i, way in enumerate(found["Way"])
        if way == "layer by layer"
    ]
    assert regional == [("never", "never")] * 2
    assert found["Calls"][0] == payback.rounded(calls_to_pay_back(4.4, 4e-3, 0.5))


def test_only_the_package_as_it_is_returns_something() -> None:
    found = columns(package.shapes_table(packaged()))
    assert found["Answer"] == [
        "Guard failed",
        "unmatched dim",
        "returns 15 rows without a word; 10 of them are right",
    ]


def width_trials(carried: float | None) -> tuple[WidthTrial, ...]:
    return (
        WidthTrial(capability="AVX512", graph="miss", difference=1e-7),
        WidthTrial(capability="AVX2", graph="hit", difference=carried),
        WidthTrial(capability="AVX2", graph="miss", difference=1e-7),
    )


@pytest.mark.parametrize(
    ("carried", "verdict", "said"),
    [(1.2, "a bug", "off by up to 120 %"), (None, "crashed", "crashed")],
)
def test_a_cache_of_another_width_gets_its_verdict(
    carried: float | None, verdict: str, said: str
) -> None:
    trials = width_trials(carried)
    table = widths.widths_table(trials, 1e-4)
    assert [str(row[-1]) for row in table.rows] == ["rounding", verdict, "rounding"]
    assert said in str(widths.carried_finding(trials)).replace("\N{NO-BREAK SPACE}", " ")


def test_without_two_widths_the_page_says_so() -> None:
    assert "no AVX-512" in str(widths.widths_table((), 1e-4))
    assert "can't try it" in str(widths.carried_finding(()))
