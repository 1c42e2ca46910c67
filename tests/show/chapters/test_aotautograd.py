"""What the chapter on AOTAutograd shows. Oracles: known records; two traces for the listings."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from fuseshard.compiler.joint import around, examples, functional, mincut
from fuseshard.compiler.joint.graphs import readable
from fuseshard.compiler.joint.records import (
    BudgetPoint,
    BudgetSweep,
    Lowering,
    Saved,
    TrainingPoint,
    TrainingSweep,
    Transformed,
    Trial,
    Value,
)
from fuseshard.compiler.joint.trace import AS_EAGER, MIN_CUT, Traced, trace
from fuseshard.measure.experiments import Outcome
from fuseshard.measure.records import Comparison, Timing
from fuseshard.measure.statistics import paired_ratio, quartiles
from fuseshard.show.chapters.aotautograd import budgets, flow, graphs, tables
from fuseshard.show.chapters.aotautograd import training as training_step
from fuseshard.show.records import Figure
from fuseshard.show.words import Word


@pytest.fixture(scope="module")
def traced() -> Traced:
    generator = torch.Generator().manual_seed(0)
    x, weight = (torch.randn(s, generator=generator).requires_grad_() for s in ((7, 12), (12,)))
    cuts = {"eager": AS_EAGER, "min-cut": MIN_CUT}
    return trace(examples.rms_norm, x, weight, partitioners=cuts)


def test_the_joint_graphs_notes_stand_on_their_lines(traced: Traced) -> None:
    source = graphs.joint_source(readable(traced.joint))
    lines = source.code.splitlines()
    begins = next(note for note in source.notes if "backward pass begins" in str(note.text))
    assert "tangents_1, mul)" in lines[begins.first - 1]
    assert "torch.ops" not in source.code and "= None" not in source.code
    compile(source.code.replace("self, ", ""), "listing", "exec")


def test_a_changed_joint_graph_is_refused(traced: Traced) -> None:
    """Must-fail twin: without its cube the listing must not be explained."""
    with pytest.raises(ValueError, match="anchor"):
        graphs.joint_source(readable(traced.joint).replace("pow_2", "cube"))


def test_the_stages_are_those_of_both_partitioners(traced: Traced) -> None:
    stages = {"fx": traced.fx, "joint": readable(traced.joint)}
    for name, halves in traced.halves.items():
        stages[f"forward {name}"] = readable(halves.forward)
        stages[f"backward {name}"] = readable(halves.backward)
    choice = graphs.stage_choice(stages)
    assert [record.name for _, record in choice.options][2:4] == [
        "stage-forward-eager",
        "stage-forward-min-cut",
    ]


def test_the_pure_graphs_one_write_is_pointed_out() -> None:
    def update(buffer: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        buffer.mul_(0.9)
        tail = buffer[1:]
        tail.add_(rows)
        return tail.sin()

    code = functional.pure(update, torch.ones(5, 3), torch.ones(4, 3)).code
    source = graphs.pure_source(code)
    assert "copy_" in source.code.splitlines()[source.notes[-1].first - 1]


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
def test_the_engines_graph_is_shown_without_counters_of_this_process() -> None:
    inputs = [torch.ones(7, 12).requires_grad_(), torch.ones(12).requires_grad_()]
    _, (graph,) = around.run_backward(*inputs)
    code = graphs.engine_source(graph).code
    assert "node1_" in code and "node2_" in code
    assert "eval_with_key" not in code
    assert not re.search(r"\baot\d", code)


@pytest.fixture(scope="module")
def values(traced: Traced) -> list[Value]:
    return mincut.values_of(mincut.merged(traced.joint), traced.num_outputs)


def test_the_flow_has_a_step_for_each_path_and_the_cut(values: list[Value]) -> None:
    _, found = mincut.cheapest_cut(values)
    choice = flow.flow_choice(values, found)
    assert [str(label) for label, _ in choice.options] == [
        "empty",
        "path 1",
        "path 2",
        "path 3",
        "the cut",
    ]
    last = choice.options[-1][1]
    assert "x, weight, rsqrt, together 481" in str(last.caption)


def test_a_tensors_flow_never_exceeds_its_capacity(values: list[Value]) -> None:
    _, found = mincut.cheapest_cut(values)
    table = flow.flow_choice(values, found).options[-1][1].table
    titles = [str(column.title) for column in table.columns]
    capacity, used = titles.index("Capacity"), titles.index("Flow")
    assert all(row[used].number <= row[capacity].number for row in table.rows)
    assert [row[used].number for row in table.rows][:2] == [369, 52]


def test_a_network_without_places_is_refused(values: list[Value]) -> None:
    _, found = mincut.cheapest_cut(values)
    with pytest.raises(ValueError, match="stand only on one side"):
        flow.flow_choice([replace(v, name=f"{v.name}_x") for v in values], found)


def timing(name: str, seconds: float, baseline_s: float | None) -> Timing:
    rounds = [seconds * (1 + 0.001 * (index % 3)) for index in range(25)]
    low, median, high = quartiles(rounds)
    return Timing(
        name=name,
        first_call_s=1.0,
        rounds_s=tuple(rounds),
        calls_per_round=1,
        median_s=median,
        low_s=low,
        high_s=high,
        ratio=None if baseline_s is None else paired_ratio([baseline_s] * 25, rounds),
    )


def saved(name: str, op: str, *shape: int, kind: str = "activation") -> Saved:
    num_bytes = 4 * torch.Size(shape).numel()
    return Saved(name=name, op=op, shape=shape, kind=kind, num_bytes=num_bytes)


WIDTH = 20
EVERYTHING = (
    saved("primals_3", "", 7, WIDTH, kind="input"),
    saved("primals_4", "", 80, WIDTH, kind="parameter"),
    saved("rsqrt", "aten.rsqrt", 7, 1),
    saved("add_1", "aten.add", 7, WIDTH),
    saved("addmm", "aten.addmm", 7, 4 * WIDTH),
    saved("mul_4", "aten.mul", 7, 4 * WIDTH),
    saved("addmm_1", "aten.addmm", 7, WIDTH),
)


@pytest.fixture
def swept() -> BudgetSweep:
    points = (
        BudgetPoint(budget=1.0, saved=EVERYTHING, recomputed={"aten.mul": 2}, flop=100),
        BudgetPoint(budget=0.5, saved=EVERYTHING, recomputed={"aten.mul": 2}, flop=100),
        BudgetPoint(
            budget=0.0,
            saved=EVERYTHING[:2],
            recomputed={"aten.mul": 4, "aten.addmm": 3},
            flop=130,
        ),
    )
    timings = (timing("1.0", 1e-3, None), timing("0.0", 1.5e-3, 1e-3))
    return BudgetSweep(
        points=points,
        comparison=Comparison(timings=timings, num_threads=1),
        variants={"1.0": "1.0", "0.5": "1.0", "0.0": "0.0"},
    )


def test_each_budget_shows_what_it_keeps_by_its_role(swept: BudgetSweep) -> None:
    choice = budgets.budget_choice(swept, width=WIDTH)
    assert [str(label) for label, _ in choice.options] == ["1.0", "0.5", "0.0"]
    most = [row[1].number for row in choice.options[0][1].table.rows]
    assert most == [560, 28, 560, 2240, 2240, 560]
    least = [row[2].number for row in choice.options[2][1].table.rows]
    assert least == [560, 0, 0, 0, 0, 0]
    caption = str(choice.options[2][1].caption)
    assert "repeats 7 operators, 3 of them matrix products: 130 %" in caption


def test_the_trade_has_a_point_for_each_cut(swept: BudgetSweep) -> None:
    figure = budgets.trade_figure(swept)
    assert [trace["name"] for trace in figure.figure["data"]] == ["1.0", "0.0"]
    assert "budget 0.0 takes 1.50× the time of budget 1.0" in str(figure.caption)
    assert str(budgets.time_finding(swept, 0.5)) == "that is the same graph"


def training(peak: Callable[[int], int | None]) -> TrainingSweep:
    names = ("eager", "checkpoint", "1.0", "0.0")
    points = [
        TrainingPoint(name=name, saved_bytes=2**20 * size, peak_bytes=peak(size))
        for name, size in zip(names, (8, 2, 6, 1), strict=True)
    ]
    timings = [timing(names[0], 1e-3, None), *(timing(n, 0.8e-3, 1e-3) for n in names[1:])]
    return TrainingSweep(
        device="cuda",
        dtype="bfloat16",
        width=16,
        num_layers=2,
        batch=3,
        tokens=7,
        points=tuple(points),
        comparison=Comparison(timings=tuple(timings), num_threads=1),
    )


def test_a_recorded_training_step_is_drawn_with_its_peaks() -> None:
    sweep = training(lambda size: 2**21 * size)
    outcome = Outcome(experiment_id="e", state="recorded", note="", available=sweep)
    figure = training_step.training_figure(outcome)
    assert isinstance(figure, Figure)
    kept, peaks = (trace["x"] for trace in figure.figure["data"])
    assert (kept, peaks) == ([8.0, 2.0, 6.0, 1.0], [16.0, 4.0, 12.0, 2.0])
    assert str(training_step.peak_finding(sweep)) == (
        "16.0 MiB in eager mode and 4.00 MiB with checkpoints; compiled, 12.0 MiB at budget 1 and, "
        "lowest, 2.00 MiB at budget 0.0"
    )
    assert str(training_step.kept_finding(sweep)) == "6.00 MiB to 1.00 MiB"
    said = str(training_step.time_finding(sweep))
    assert "budget 1.0 is 1.25× as fast as eager mode" in said
    assert said.endswith("and no smaller budget was measured to be slower than budget 1")


def test_a_peak_that_rises_again_is_told() -> None:
    """Must-fail twin of the test before: the lowest peak isn't that of the lowest budget."""
    rising = training(lambda size: 2**21 * (30 if size == 1 else size))
    said = str(training_step.peak_finding(rising))
    assert said.endswith(
        "lowest at budget 1.0, with 12.0 MiB, and back up at 60.0 MiB at budget 0.0"
    )


def test_a_missing_recording_is_named() -> None:
    outcome = Outcome(
        experiment_id="aotautograd.budgets-gpu", state="not recorded yet", note="", available=None
    )
    shown = training_step.training_figure(outcome)
    assert isinstance(shown, Word)
    assert "aotautograd.budgets-gpu needs a CUDA GPU" in str(shown)
    for finding in ("peak", "kept", "time"):
        said = getattr(training_step, f"{finding}_finding")(None)
        assert str(said) == "nothing is recorded yet"


def test_lines_of_python_stand_beside_their_operators() -> None:
    lowering = Lowering(
        python="f(x)",
        ops={"none": ("f",), "core": ("f",), "inductor": ("g", "h")},
        num_joint_ops={"none": 2, "core": 3, "inductor": 4},
    )
    (row,) = tables.lowering_table([lowering], {"core": 7, "inductor": 12}).rows
    assert [cell.code for cell in row[:3]] == ["f(x)", "f", "g, h"]
    assert [cell.number for cell in row[3:]] == [2, 3, 4]


def test_each_saved_tensor_has_its_reason(values: list[Value]) -> None:
    table = tables.saved_table("t", values, [saved("rsqrt", "aten.rsqrt", 7, 1)])
    assert "saving it costs least" in str(table.rows[0][-1])


def test_counted_bytes_stand_beside_formulas() -> None:
    table = tables.bytes_table({"eager": (7, 12), "0.99": (3, 4)}, {"eager": 7})
    assert [str(cell) if not hasattr(cell, "number") else cell.number for cell in table.rows[0]][
        1:
    ] == [7, 12, 7]
    with pytest.raises(ValueError, match=r"got \['guessed'\]"):
        tables.bytes_table({"guessed": (1, 1)}, {})


def test_beyond_rounding_and_nan_are_bugs() -> None:
    table = tables.gradient_table(
        {"by hand": 2e-16, "min-cut": float(tables.ROUNDING), "forgetful": 0.3}
    )
    assert [str(row[2]) for row in table.rows] == ["rounding", "rounding", "a bug"]


def test_errors_are_shown_by_their_first_clause() -> None:
    trials = [
        Trial(name="twice", eager="", compiled="", difference=0.0),
        Trial(name="changed", eager="", compiled="changed in place: [7, 5] is", difference=None),
    ]
    rows = tables.trial_table(trials).rows
    assert str(rows[0][2]) == "a gradient, 0 from eager's"
    assert str(rows[1][2]) == "error: changed in place"


def test_transforms_and_rows_of_gradients_are_tabled() -> None:
    made = [Transformed(name="grad", num_graphs=1, num_ops=7, difference=0.0)]
    assert len(tables.transform_table(made).rows) == 1
    table = tables.bend_table({"eager": [1.0, 2.0], "compiled": [3.0, 4.0]})
    assert [cell.number for cell in table.rows[1][1:]] == [3.0, 4.0]
