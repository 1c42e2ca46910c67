"""What the chapter on training draws, from made-up measurements with known verdicts; no torch."""

from dataclasses import replace

import pytest

from fuseshard.compiler.training.records import (
    CastGraphs,
    ClassifierSweep,
    LengthRun,
    LengthRuns,
    Loop,
    LoopPair,
    OptimizerTimes,
    Repair,
    Repairs,
    StepCapture,
    Trajectories,
)
from fuseshard.measure.records import Comparison, Origin, Ratio, Sweep, SweepPoint, Timing
from fuseshard.show.chapters.training import (
    answers,
    captured,
    classifier,
    losses,
    published,
    times,
    words,
)
from fuseshard.show.choices import Choice
from fuseshard.show.records import Figure, Table
from fuseshard.show.words import Word
from tests.show.conftest import make_environment

ORIGIN = Origin(is_live=False, environment=make_environment(gpu="NVIDIA H200", cuda="12.8"))


def timing(name: str, seconds: float, ratio: Ratio | None = None) -> Timing:
    return Timing(
        name=name,
        first_call_s=10 * seconds,
        rounds_s=(seconds,) * 8,
        calls_per_round=1,
        median_s=seconds,
        low_s=seconds,
        high_s=seconds,
        ratio=ratio,
    )


def comparison(**times_s: float) -> Comparison:
    """Variants with their times; the first is what the others are compared with."""
    (first, base_s), *others = times_s.items()
    timings = [timing(first.replace("_", " "), base_s)]
    for name, seconds in others:
        middle = seconds / base_s
        verdict = "faster" if middle < 0.98 else "slower" if middle > 1.02 else None
        ratio = Ratio(
            median=middle,
            low=middle,
            high=middle,
            confidence=0.99,
            verdict=verdict or "no difference measured",
        )
        timings.append(timing(name.replace("_", " "), seconds, ratio))
    return Comparison(timings=tuple(timings), num_threads=1, origin=ORIGIN)


def loop(first_s: float, later_s: float, wait_s: float = 0.0) -> Loop:
    return Loop(calls_s=(first_s, later_s, later_s), wait_s=wait_s)


def repair(batch: int, *, wait_s: float = 0.0) -> Repair:
    return Repair(
        batch=batch,
        published=LoopPair(eager=loop(3.0, 3.0), compiled=loop(16.0, 1.0)),
        warmed=(LoopPair(eager=loop(3.0, 3.0, wait_s), compiled=loop(1.0, 1.0, wait_s)),),
        interleaved=comparison(eager=3.0, compiled=2.0),
    )


REPAIRS = Repairs(device="cuda", points=(repair(64), repair(8192, wait_s=9.0)), origin=ORIGIN)


class Outcome:
    """An experiment's outcome, with or without a recording."""

    experiment_id = "training.some-gpu"
    failure = None

    def __init__(self, available: object, beside: object = None) -> None:
        self.available = available
        self.beside = beside


def sweep(*speedups: float) -> Sweep:
    points = [
        SweepPoint(size=4 * 4**i, comparison=comparison(eager=1.0, compiled=1.0 / speedup))
        for i, speedup in enumerate(speedups)
    ]
    return Sweep(size_name="texts", points=tuple(points), origin=ORIGIN)


SWEEP = ClassifierSweep(
    device="cuda",
    length=64,
    width=64,
    num_layers=4,
    sweeps={"float32": sweep(0.8, 1.1), "bfloat16": sweep(1.3, 1.25)},
    origin=ORIGIN,
)


def test_answers_are_those_of_the_four_readings() -> None:
    assert answers.answers(repair(64)) == pytest.approx((0.5, 3.0, 3.0, 1.5))
    assert answers.answers(repair(64, wait_s=9.0))[2] == pytest.approx(18.0 / 12.0)
    assert len(answers.reading_words()) == 4


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.5, 0.5, "0.500×, below the claimed 1.2 to 1.5×"),
        (0.9, 1.1, "0.900× to 1.10×, below"),
        (1.6, 1.8, "above the claimed"),
        (1.25, 1.4, "within the claimed"),
        (1.1, 1.3, "neither confirms nor refutes"),
        (1.4, 1.6, "neither confirms nor refutes"),
    ],
)
def test_a_measurement_is_judged_against_the_claim(low: float, high: float, expected: str) -> None:
    assert expected in str(words.claim_finding(low, high))


def test_the_stepper_has_three_readings_and_the_figures_their_numbers() -> None:
    choice = published.repair_stepper(repair(64))
    assert isinstance(choice, Choice) and len(choice.options) == 3
    first, second, _ = (str(figure.caption) for _, figure in choice.options)
    assert "the answer is 0.500×" in first
    assert "the answer is 3.00×" in second


def test_the_answers_are_drawn_with_and_without_a_recording() -> None:
    alone = answers.answers_figure(repair(64), None)
    both = answers.answers_figure(repair(64), REPAIRS)
    assert len(alone.figure["data"]) == 1 and len(both.figure["data"]) == 3
    assert "moves from 0.500× to 1.50×" in str(both.caption)


def test_waiting_is_drawn_or_said_to_be_missing() -> None:
    figure = published.waiting_figure(Outcome(REPAIRS))
    assert isinstance(figure, Figure)
    assert "a factor of 2.00× apart" in str(figure.alt)
    missing = published.waiting_figure(Outcome(None))
    assert isinstance(missing, Word) and "training.some-gpu" in str(missing)


def test_what_a_timer_misses_is_a_share_of_the_time() -> None:
    assert "misses 50 %" in str(published.missed_finding(REPAIRS, -1))
    assert "misses 0 %" in str(published.missed_finding(REPAIRS, 0))
    assert "with 64 rows the speed-up is 1.50×" in str(published.gpu_finding(REPAIRS, 0))
    for missing in (published.missed_finding(None, 0), published.gpu_finding(None, 0)):
        assert str(missing) == "nothing is recorded yet"


def test_sweeps_are_drawn_live_and_recorded() -> None:
    live = {"fixed": sweep(0.8, 1.2), "padded": sweep(0.5, 0.6), "cut": sweep(1.1, 1.2)}
    choice = classifier.live_choice(live)
    captions = [str(figure.caption) for _, figure in choice.options]
    assert "between 0.500× and 0.600×" in captions[1]
    assert "compiling was measured to be faster at 0 and slower at 2" in captions[1]
    assert "faster at 1 and slower at 1" in captions[0]
    assert "with 99 % confidence" in captions[0]
    recorded = classifier.gpu_figure(Outcome(SWEEP))
    assert isinstance(recorded, Figure) and len(recorded.figure["data"]) == 4
    assert isinstance(classifier.gpu_figure(Outcome(None)), Word)


def test_recorded_speedups_are_summed_up() -> None:
    assert str(classifier.range_finding(SWEEP, "float32")) == "between 0.800× and 1.10× in float32"
    reach = str(classifier.reach_finding(SWEEP, "bfloat16", 1.2))
    assert "at 2 of 2 batch sizes and may reach it at 2" in reach
    assert "at 0 of 2" in str(classifier.reach_finding(SWEEP, "float32", 1.2))
    assert str(classifier.range_finding(None, "float32")) == "nothing is recorded yet"
    assert str(classifier.reach_finding(None, "float32", 1.2)) == "nothing is recorded yet"


def test_lengths_are_one_row_a_way() -> None:
    names = ("eager", "padded", "bucketed", "dynamic")
    runs = LengthRuns(
        device="cuda",
        batch=64,
        lengths=(16, 32),
        context=64,
        real_tokens=3072,
        ways={name: LengthRun(graphs=1, tokens=4096, first_pass_s=9.0) for name in names},
        comparison=comparison(eager=1.0, padded=0.8, bucketed=1.25, dynamic=1.0),
        origin=ORIGIN,
    )
    table = classifier.lengths_table(Outcome(runs))
    assert isinstance(table, Table) and len(table.rows) == 4
    assert "between 0.800× and 1.25×" in str(classifier.lengths_finding(runs))
    assert isinstance(classifier.lengths_table(Outcome(None)), Word)
    assert str(classifier.lengths_finding(None)) == "nothing is recorded yet"


def optimizer_times(device: str = "cpu") -> OptimizerTimes:
    compared = comparison(
        loop=8.0, foreach=8.0, fused=2.0, compiled=4.0, powers_inside=4.0, powers_outside=2.0
    )
    return OptimizerTimes(
        device=device, num_tensors=3, num_elements=1000, comparison=compared, origin=ORIGIN
    )


def test_optimizers_are_a_figure_and_with_a_recording_a_choice() -> None:
    assert isinstance(times.optimizer_choice(optimizer_times(), Outcome(None)), Figure)
    both = times.optimizer_choice(optimizer_times(), Outcome(optimizer_times("cuda")))
    assert isinstance(both, Choice) and len(both.options) == 2


def test_optimizers_are_compared_with_the_loop_and_the_powers_with_each_other() -> None:
    assert "4.00× as fast as the loop" in str(times.optimizer_finding(optimizer_times(), "fused"))
    assert str(times.optimizer_finding(None, "fused")) == "nothing is recorded yet"
    assert str(times.powers_finding(None)) == "nothing is recorded yet"
    ways = ("loop", "foreach", "fused", "compiled")
    assert "of these 4, fused=True took the least time" in str(
        times.fastest_finding(optimizer_times(), ways)
    )
    assert "the loop over parameters took" in str(
        times.fastest_finding(optimizer_times(), ways[:2])
    )
    powers = str(times.powers_finding(optimizer_times()))
    assert "powers outside is 2.00× as fast as" in powers and "powers inside" in powers


def test_precisions_are_compared_with_eager_float32() -> None:
    compared = comparison(
        float32_eager=1.0, float32_compiled=1.0, bfloat16_eager=5.0, bfloat16_compiled=4.0
    )
    assert isinstance(times.precision_table(compared), Table)
    assert "takes 5.00× the time" in str(times.precision_finding(compared, "bfloat16 eager"))


def test_drifts_are_distances_from_float64() -> None:
    runs = Trajectories(
        double=(1.0, 0.5), eager=(1.0, 0.5001), compiled=(1.0, 0.4998), step_left_out=(1.0, 0.9)
    )
    caption = str(losses.drift_figure(runs, 0).caption)
    assert "Compiled, it is at most 2.0×10⁻⁴, eager at most 1.0×10⁻⁴" in caption
    assert "step 1 left out it reaches 0.40" in caption
    assert len(losses.bias_table({"query": 1e-8, "key": 1e-4, "value": 2e-8}).rows) == 3


def capture(name: str) -> StepCapture:
    return StepCapture(name=name, graphs=2, breaks={"why": 1, "so": 2}, operations={"forward": 7})


def test_captures_are_counted() -> None:
    table = captured.capture_table([capture("whole"), capture("loss")])
    assert [str(row[2]) for row in table.rows] == [str(table.rows[0][2])] * 2
    assert len(captured.break_table(capture("whole")).rows) == 2


def test_graphs_are_one_column_a_step() -> None:
    table = captured.graphs_table((1, 2), (1, 1))
    assert len(table.columns) == 3
    lengths = captured.length_table({"static": (1, 2), "automatic": (1, 2)}, (9, 14))
    assert str(lengths.columns[2].title) == "2: 14"


def test_rounding_and_bugs_are_told_apart() -> None:
    table = captured.rounding_table(1e-7, 1e-2, 1e-6)
    assert [str(row[-1]) for row in table.rows] == ["rounding", "a bug"]


def test_the_note_on_what_is_kept_stands_at_the_return() -> None:
    """Dynamo's comments quote the source, in which `return` stands as well."""
    lines = ["_to_copy: x", "_to_copy_1: x", "mm: x", "relu: x", "# code: return loss"]
    lines += ["_to_copy_3: x", "        return (loss, relu)"]
    graphs = CastGraphs(forward="\n".join(lines), backward="", forward_casts=4, backward_casts=3)
    (note,) = (note for note in captured.cast_source(graphs).notes if "Kept" in str(note.text))
    assert note.first == 7


def test_tables_of_steady_times_show_no_first_calls() -> None:
    figure = times.optimizer_figure("x", optimizer_times())
    compared = comparison(float32_eager=1.0, float32_compiled=1.0)
    (_, rounds) = published.repair_stepper(repair(64)).options[-1]
    assert isinstance(rounds, Figure)
    for table in (figure.table, rounds.table, times.precision_table(compared)):
        titles = [str(column.title) for column in table.columns]
        assert "Median" in titles and "First call" not in titles


def test_a_graph_without_its_casts_is_refused() -> None:
    graphs = CastGraphs(forward="return x", backward="", forward_casts=0, backward_casts=0)
    with pytest.raises(ValueError, match="_to_copy"):
        captured.cast_source(graphs)


def test_a_kernel_without_powers_is_refused() -> None:
    with pytest.raises(ValueError, match="std::pow"):
        captured.kernel_source("for(int64_t x\n::loadu(out_ptr3\nloadu(out_ptr5\n.store(out_ptr5")


def test_the_data_table_sums_up() -> None:
    table = captured.data_table([3, 4], [1, 2], ["network", "files"])
    assert [str(cell) for cell in (row[0] for row in table.rows)][-1] == "in all"
    assert len(table.rows) == 3


def test_origins_are_marked_as_recorded() -> None:
    figure = classifier.gpu_figure(Outcome(replace(SWEEP)))
    assert isinstance(figure, Figure) and figure.origin is not None
    assert not figure.origin.live
