"""Programs of many small kernels. Oracles: exact arithmetic, and eager mode; two C++ compiles."""

import pytest
import torch

from fuseshard.compiler.modes.launching import WIDTH, gpu_launches, launch_report, programs
from fuseshard.compiler.modes.records import LaunchReport
from fuseshard.measure.recordings import RECORDINGS_FOLDER, newest, result_of
from fuseshard.measure.records import to_json
from fuseshard.measure.schema import read


def test_results_are_the_same_in_float64() -> None:
    """Or an equality of bits would hang on the order of sums."""
    x = torch.arange(WIDTH * WIDTH, dtype=torch.float32).view(WIDTH, WIDTH)
    product = programs("cpu", steps=7)["products"]
    columns_moved = (x.sum(dim=1) + 7 * WIDTH).sort().values
    assert torch.equal(product(x).sum(dim=1).sort().values, columns_moved)
    pointwise = programs("cpu", steps=7)["pointwise"]
    assert torch.equal(pointwise(x).double(), pointwise(x.double()))


@pytest.fixture(scope="module")
def report() -> LaunchReport:
    return launch_report("cpu", steps=1, calls=3)


def test_every_way_is_run_and_equal_to_eager_mode(report: LaunchReport) -> None:
    assert [program.name for program in report.programs] == ["pointwise", "products"]
    for program in report.programs:
        assert [run.way for run in program.runs] == ["eager", "default", "reduce-overhead"]
        assert all(run.is_equal for run in program.runs)
        assert all(0 < run.host_s <= run.whole_s for run in program.runs)


def test_a_report_survives_its_recording(report: LaunchReport) -> None:
    assert read(LaunchReport, to_json(report), "recording") == report


def test_on_the_recorded_gpu_a_graph_slows_one_kernel_down_and_speeds_many_up() -> None:
    """The chapter says so of whatever is recorded; a new recording must still bear it out."""
    found = newest(gpu_launches.id, RECORDINGS_FOLDER)
    assert found is not None
    name, entry = found
    recorded = result_of(LaunchReport, entry, name)
    whole_s = {
        (program.name, run.way): run.whole_s
        for program in recorded.programs
        for run in program.runs
    }
    assert all(run.is_equal for program in recorded.programs for run in program.runs)
    for graph in ("reduce-overhead", "graph of default"):
        assert whole_s["products", graph] < whole_s["products", "default"] / 2
    assert whole_s["pointwise", "reduce-overhead"] > whole_s["pointwise", "default"]
    assert whole_s["pointwise", "default"] < whole_s["pointwise", "eager"] / 10
    launched = {
        (program.name, run.way): run.trace.launches
        for program in recorded.programs
        for run in program.runs
    }
    assert launched["products", "default"] == launched["products", "eager"] == 200
    assert launched["pointwise", "default"] == 1
