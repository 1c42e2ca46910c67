"""What the chapter on modes shows. Oracle: records made by hand; no compiles, no torch."""

from dataclasses import replace

import pytest

from fuseshard.compiler.modes.records import (
    Candidate,
    DeviceTrace,
    GraphReport,
    LaunchProgram,
    LaunchReport,
    LaunchRun,
    ModePoint,
    ModeSweep,
    SkipCase,
    Switch,
    TrapCase,
    Trial,
    Written,
)
from fuseshard.measure.experiments import Outcome
from fuseshard.measure.records import Comparison, Range, Timing
from fuseshard.measure.statistics import paired_ratio, quartiles
from fuseshard.show.chapters.modes import (
    findings,
    launches,
    switches,
    texts,
    times,
    traps,
    verdicts,
)
from fuseshard.show.choices import Choice
from fuseshard.show.numbers import factor
from fuseshard.show.records import Figure, Number, Source, Table
from fuseshard.show.words import Word

ROUNDS = 15
MODES = ("default", "lite", "reduce-overhead", "max-autotune")


def comparison(seconds: dict[str, float]) -> Comparison:
    timings = []
    first: tuple[float, ...] = ()
    for name, value in seconds.items():
        rounds = tuple(value * (1 + 0.001 * (index % 3)) for index in range(ROUNDS))
        low, median, high = quartiles(rounds)
        timings.append(
            Timing(
                name=name,
                first_call_s=1.0,
                rounds_s=rounds,
                calls_per_round=1,
                median_s=median,
                low_s=low,
                high_s=high,
                ratio=paired_ratio(first, rounds) if first else None,
            )
        )
        first = first or rounds
    return Comparison(timings=tuple(timings), num_threads=1)


def trace(**counts: int) -> DeviceTrace:
    known = {"kernels": 10, "library": 4, "templates": 2, "copies": 0, "launches": 10}
    return DeviceTrace(**{**known, "graph_launches": 0, **counts}, busy_s=1e-6)


def point(size: int, **seconds: float) -> ModePoint:
    ways = {name.replace("_", "-"): value for name, value in seconds.items()}
    ways = {"by hand" if way == "by-hand" else way: value for way, value in ways.items()}
    return ModePoint(
        size=size,
        comparison=comparison(ways),
        first_calls_s={way: (10.0 * s, s, s) for way, s in ways.items() if way in MODES},
        errors=dict.fromkeys(ways, 0.01),
        traces={way: trace() for way in ways},
    )


@pytest.fixture
def inference() -> ModeSweep:
    return ModeSweep(
        task="inference",
        device="cuda",
        dtype="bfloat16",
        tokens=64,
        parameters=1000,
        points=(
            point(1, eager=9.0, by_hand=2.0, default=4.0, reduce_overhead=1.0, max_autotune=1.001),
            point(16, eager=9.0, by_hand=9.0, default=2.0, reduce_overhead=3.0, max_autotune=1.0),
        ),
    )


def outcome(result: object) -> Outcome:
    state = "recorded" if result is not None else "not recorded yet"
    return Outcome(experiment_id="modes.x-gpu", state=state, note="", available=result)


SWITCHES = (
    Switch(option="use_dce", default="True", values={"lite": "False"}),
    Switch(option="max_autotune", default="False", values={"max-autotune": "True"}),
)


def test_the_matrix_has_defaults_in_the_mode_that_sets_nothing() -> None:
    table = switches.matrix(SWITCHES, ("default", "lite", "max-autotune"))
    cells = [[cell.code for cell in row] for row in table.rows]
    assert cells == [
        ["use_dce", "True", "False", "·"],
        ["max_autotune", "False", "·", "True"],
    ]


def test_each_mode_that_sets_something_is_a_choice_with_meanings_and_effects() -> None:
    trials = [
        Trial(option="use_dce", value="False", effects={"a": "around the kernels"}, error=""),
        Trial(option="max_autotune", value="True", effects={"a": "none"}, error=""),
    ]
    choice = switches.chooser(SWITCHES, trials, ("default", "lite", "max-autotune"))
    assert [str(label) for label, _ in choice.options] == ["lite", "max-autotune"]
    (row,) = choice.options[0][1].rows
    assert [str(cell) for cell in row[1:]] == [
        "Keep results that nobody uses.",
        "the Python around the kernels",
    ]


def test_an_option_without_words_is_refused() -> None:
    with pytest.raises(ValueError, match="'new_option' has no words"):
        switches.meaning("new_option")


def written(kernels: int, calls: int) -> Written:
    return Written(source="", kernels=("k",) * kernels, library_calls=calls, skips=0)


def test_counts_of_the_three_programs_stand_in_one_cell() -> None:
    modules = {
        "chain": {"default": written(1, 0)},
        "layers": {"default": written(1, 2)},
        "minigpt": {"default": written(4, 6)},
    }
    table = texts.written_table(modules, {"default": "none"})
    (row,) = table.rows
    assert [str(cell) for cell in row[1:3]] == ["1 / 1 / 4", "0 / 2 / 6"]


def test_an_error_beyond_four_times_eager_modes_own_is_a_bug() -> None:
    errors = {
        "eager": {"chain": 1e-7},
        "lite": {"chain": 4e-7},
        "default": {"chain": 5e-7},
        "edited": {"chain": 0.6},
    }
    table = texts.error_table(errors, allowed=4)
    assert [str(row[-1]) for row in table.rows] == ["rounding", "rounding", "a bug", "a bug"]


WITH_CHECK = "def call(self, args):\n    assert_size_stride(arg0_1, (3,), (1,), 'input')\n"
KERNEL = "    cpp_fused_add_0(arg0_1, buf0)\n"


def test_calls_carry_notes_on_the_lines_by_which_they_differ() -> None:
    lite = "def call(self, args):\n    buf0 = torch.ops.aten.mul.Tensor(arg0_1, 2)\n"
    without = WITH_CHECK.replace("assert_size_stride(arg0_1, (3,), (1,), 'input')", "pass")
    calls = {"default": WITH_CHECK + KERNEL, "lite": lite, "reduce-overhead": without + KERNEL}
    choice = texts.call_chooser(calls)
    counts = [len(record.notes) for _, record in choice.options if isinstance(record, Source)]
    assert counts == [2, 1, 1]


def test_a_slider_has_a_figure_for_each_batch_and_its_caption_names_the_fastest(
    inference: ModeSweep,
) -> None:
    choice = times.gpu_chooser(outcome(inference))
    assert isinstance(choice, Choice)
    assert (choice.control, [str(label) for label, _ in choice.options]) == ("slider", ["1", "16"])
    first, second = (record for _, record in choice.options)
    assert "between reduce-overhead, max-autotune no difference" in str(first.caption)
    assert "max-autotune is fastest, with 1.00 s" in str(second.caption)


def test_one_batch_needs_no_slider(inference: ModeSweep) -> None:
    only = replace(inference, points=inference.points[:1])
    assert isinstance(times.gpu_chooser(outcome(only)), Figure)


def test_first_calls_are_shown_for_modes_and_launches_for_all(inference: ModeSweep) -> None:
    table = times.first_calls(outcome(inference))
    assert isinstance(table, Table)
    by_way = {str(row[0]): row for row in table.rows}
    assert isinstance(by_way["default"][1], Number)
    assert by_way["default"][1].number == 40.0
    assert str(by_way["eager"][1]) == "—"
    assert [cell.number for cell in by_way["eager"][4:7]] == [10, 6, 2]


def test_findings_follow_the_rounds(inference: ModeSweep) -> None:
    assert "reduce-overhead, max-autotune" in str(findings.sizes_finding(inference))
    assert str(findings.against_finding(inference, "reduce-overhead", "default")) == (
        "4.00× at 1, 0.667× at 16"
    )
    assert "default takes 40.0 s" in str(findings.compile_finding(inference))
    assert str(findings.payback_finding(inference, "reduce-overhead", "default")).startswith(
        "after 0 calls"
    )


def test_ways_without_time_left_are_named_where_a_winner_is(inference: ModeSweep) -> None:
    """Must-fail twin: where all ways ran, nothing is said to be missing."""
    first, _ = inference.points
    short = replace(inference, points=(first, point(16, eager=9.0, default=2.0)))
    missing = "by hand", "reduce-overhead", "max-autotune"
    assert findings.left_out(short, short.points[1]) == missing
    assert findings.left_out(short, first) == ()
    said = str(findings.sizes_finding(short))
    assert said.endswith(
        "at 16, default is fastest, with 2.00 s "
        "(not tried there: graph by hand (eager), reduce-overhead, max-autotune)"
    )
    choice = times.gpu_chooser(outcome(short))
    assert isinstance(choice, Choice)
    whole, partly = (str(record.caption) for _, record in choice.options)
    assert "Not tried" not in whole
    assert partly.endswith("graph by hand (eager), reduce-overhead, max-autotune.")


def test_no_difference_between_two_ways_is_no_factor(inference: ModeSweep) -> None:
    said = str(findings.against_finding(inference, "max-autotune", "reduce-overhead"))
    assert said == "no difference measured at 1, 3.00× at 16"
    gained = str(findings.search_finding((inference, None), "max-autotune", "reduce-overhead"))
    assert gained.startswith("max-autotune was measured to be faster than reduce-overhead at 1 of")
    lost = str(findings.search_finding((inference, None), "default", "max-autotune"))
    assert lost.startswith("at none of the 2 batch sizes with both was default measured")


def test_processes_are_told_by_the_bounds_of_the_ratios(inference: ModeSweep) -> None:
    """The oracle: the ratios of the comparison, which pooling spans over all processes."""
    first, second = inference.points
    said = str(findings.processes_finding(inference, "reduce-overhead"))
    bounds = []
    for one in (first, second):
        ratio = next(t.ratio for t in one.comparison.timings if t.name == "reduce-overhead")
        assert ratio is not None
        bounds.append((1 / ratio.high, 1 / ratio.low))
    (low, high), _ = bounds
    assert said.startswith(f"{factor(low)} to {factor(high)} at 1, ")
    with pytest.raises(ValueError, match="'eager' has no ratio at size 1, must have one"):
        findings.processes_finding(inference, "eager")
    drawn = times.small_table(outcome(inference))
    assert isinstance(drawn, Table)
    assert len(drawn.rows) == sum(len(p.comparison.timings) for p in inference.points)


def test_launches_are_told_by_size_where_they_differ(inference: ModeSweep) -> None:
    assert str(findings.launches_finding(inference, "default")) == (
        "10 launches at each of these sizes"
    )
    first, second = inference.points
    other = replace(second, traces={**second.traces, "default": trace(launches=12)})
    changed = replace(inference, points=(first, other))
    assert str(findings.launches_finding(changed, "default")) == "10 at 1, 12 at 16"


def test_a_pair_is_compared_in_both_directions(inference: ModeSweep) -> None:
    timed = inference.points[1].comparison
    faster = str(findings.pair_finding(timed, "default", "reduce-overhead"))
    assert faster.startswith("mode default is 1.50× as fast as mode reduce-overhead")
    slower = str(findings.pair_finding(timed, "reduce-overhead", "default"))
    assert slower.startswith("mode reduce-overhead takes 1.50× the time of mode default")


def test_candidates_are_told_by_who_wrote_them() -> None:
    candidates = (
        Candidate(name="cpp_CppMicroGemm_0", seconds=1.0),
        Candidate(name="_mkl_linear", seconds=2.0),
    )
    assert str(findings.candidate_finding(candidates)) == (
        "Inductor's template won here, by a factor of 2.00"
    )
    table = times.candidate_table({"layer": (), "batch": candidates}, comparison({"a": 1.0}))
    makers = [str(row[2]) for row in table.rows]
    assert makers == ["nothing was tried", "Inductor's template", "the library"]


def run(way: str, whole_s: float, **counts: int) -> LaunchRun:
    return LaunchRun(
        way=way,
        host_s=whole_s / 2,
        whole_s=whole_s,
        whole_range=Range(low=0.9 * whole_s, high=1.5 * whole_s),
        trace=trace(**counts),
        is_equal=True,
    )


@pytest.fixture
def report() -> LaunchReport:
    def runs(graph_s: float) -> tuple[LaunchRun, ...]:
        return (
            run("eager", 8e-3, launches=200),
            run("default", 2e-3, launches=1),
            run("reduce-overhead", graph_s, launches=1, graph_launches=1),
            run("graph of eager", 1e-3, launches=0, graph_launches=1),
            run("graph of default", 1e-3, launches=0, graph_launches=1),
        )

    return LaunchReport(
        device="cuda",
        programs=(
            LaunchProgram(name="pointwise", steps=100, runs=runs(4e-3)),
            LaunchProgram(name="products", steps=100, runs=runs(1e-3)),
        ),
    )


def test_launches_are_counted_and_timed_in_words(report: LaunchReport) -> None:
    said = str(launches.launch_finding(report, "pointwise"))
    assert said.startswith(
        "eager mode takes 8.00 ms and 200 launches, default 2.00 ms and 1 launch"
    )
    assert str(launches.graph_finding(report)) == (
        "against default, reduce-overhead makes the one kernel 2.0 times as slow and the many 2.0 "
        "times as fast"
    )
    assert str(launches.equal_finding(report)).startswith("8 of 8 results")
    assert "the host needs 20.0 µs for an operation" in str(launches.price_finding(report))
    assert "2.00 ms to launch, the one by hand 500 µs" in str(launches.library_finding(report))


def test_bars_add_up_to_the_time_until_the_result(report: LaunchReport) -> None:
    choice = launches.launch_chooser(outcome(report))
    assert isinstance(choice, Choice)
    (_, figure), *_ = choice.options
    assert isinstance(figure, Figure)
    busy, waits = figure.figure["data"]
    totals = [b + w for b, w in zip(busy["x"], waits["x"], strict=True)]
    assert totals == pytest.approx([8.0, 2.0, 4.0, 1.0, 1.0])


def trap(name: str, ending: str, message: str = "") -> TrapCase:
    after = () if ending == "refused" else (21.0,) if ending == "overwritten" else (3.0,)
    return TrapCase(
        name=name, before=(3.0,), after=after, second=(21.0,), ending=ending, message=message
    )


@pytest.fixture
def graphs() -> GraphReport:
    return GraphReport(
        device="cuda",
        multiprocessors=132,
        is_big=True,
        traps=(
            trap("first calls", "refused", "Error: overwritten. Clone it."),
            trap("later calls", "overwritten"),
            trap("clone outside", "kept"),
        ),
        skips=(SkipCase(name="input changed", skips=1, graph_launches=0, message="why"),),
    )


def test_endings_are_told_case_by_case(graphs: GraphReport) -> None:
    names = ("first calls", "later calls", "clone outside", "by hand")
    assert [str(traps.ending_finding(graphs, name)) for name in names] == [
        "refused with an error",
        "overwritten without a word",
        "kept",
        "nothing is recorded yet",
    ]
    table = traps.trap_table(outcome(graphs))
    assert isinstance(table, Table)
    assert [cell.code for cell in (row[2] for row in table.rows)] == ["—", "21", "3"]
    source = traps.refusal_source(outcome(graphs))
    assert isinstance(source, Source)
    assert source.code.splitlines() == ["Error: overwritten.", "Clone it."]
    assert "132" in str(traps.size_finding(graphs))


def test_no_error_to_show_is_said(graphs: GraphReport) -> None:
    quiet = replace(graphs, traps=graphs.traps[1:])
    assert "no case" in str(traps.refusal_source(outcome(quiet)))


def verdict_of(table: Table, claim: str) -> str:
    (row,) = [row for row in table.rows if claim in str(row[0])]
    return str(row[-1])


def test_verdicts_follow_what_was_measured(inference: ModeSweep) -> None:
    here = comparison({"eager": 9.0, "default": 1.0, "lite": 2.0, "reduce-overhead": 1.0})
    table = verdicts.claims_table(MODES, here, inference, None)
    assert verdict_of(table, "three modes") == "outdated"
    assert verdict_of(table, "lowest latency") == "holds on the GPU"
    assert verdict_of(table, "runs fastest") == "depends on the size"  # level at 1, alone at 16
    assert verdict_of(table, "right for MiniGPT") == "depends on the size"
    assert verdict_of(table, "compiles slowly") == "refuted"  # 10 s against 40 s in this record
    slower = replace(
        inference,
        points=(point(1, eager=9.0, default=1.0, reduce_overhead=3.0, max_autotune=2.0),),
    )
    table = verdicts.claims_table(MODES[:3], here, slower, None)
    assert verdict_of(table, "three modes") == "holds"
    assert verdict_of(table, "lowest latency") == "refuted"
    assert verdict_of(table, "compiles slowly") == "holds on the GPU"


def test_a_mode_that_is_only_level_with_others_is_not_called_the_fastest(
    inference: ModeSweep,
) -> None:
    """Must-fail twin: at the second size alone it is, and the verdict says so."""
    here = comparison({"eager": 9.0, "default": 1.0})
    first, second = inference.points
    level = verdicts.claims_table(MODES, here, replace(inference, points=(first,)), None)
    assert verdict_of(level, "runs fastest") == "not confirmed: only level with others"
    assert verdict_of(level, "right for MiniGPT") == "holds on the GPU"
    alone = verdicts.claims_table(MODES, here, replace(inference, points=(second,)), None)
    assert verdict_of(alone, "runs fastest") == "holds on the GPU"
    as_default = point(64, eager=9.0, default=1.0, reduce_overhead=1.001, max_autotune=2.0)
    table = verdicts.claims_table(MODES, here, replace(inference, points=(first, as_default)), None)
    assert verdict_of(table, "right for MiniGPT") == "depends on the size"


@pytest.mark.parametrize(
    "show",
    [
        times.gpu_chooser,
        times.first_calls,
        launches.launch_chooser,
        traps.trap_table,
        traps.skip_table,
        traps.refusal_source,
    ],
)
def test_a_missing_recording_is_named(show) -> None:
    shown = show(outcome(None))
    assert isinstance(shown, Word)
    assert "modes.x-gpu needs a CUDA GPU" in str(shown)


@pytest.mark.parametrize(
    "finding",
    [
        findings.sizes_finding(None),
        findings.compile_finding(None),
        findings.error_finding(None),
        findings.against_finding(None, "a", "b"),
        findings.payback_finding(None, "a", "b"),
        launches.launch_finding(None, "products"),
        launches.graph_finding(None),
        launches.equal_finding(None),
        launches.price_finding(None),
        launches.library_finding(None),
        findings.launches_finding(None, "a"),
        findings.processes_finding(None, "a"),
        findings.search_finding((None, None), "a", "b"),
        traps.ending_finding(None, "first calls"),
    ],
)
def test_findings_without_a_recording_say_so(finding: Word) -> None:
    assert str(finding) == "nothing is recorded yet"
