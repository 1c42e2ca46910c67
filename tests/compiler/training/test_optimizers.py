"""AdamW in its ways. Oracles: torch.optim.AdamW as a loop, and Dynamo's counters."""

import pytest
import torch

from fuseshard.compiler.training import optimizers
from fuseshard.compiler.training.adamw import example_params, largest_gap, rounding_bound
from fuseshard.compiler.training.records import OptimizerTimes
from fuseshard.measure.recordings import RECORDINGS_FOLDER, newest, result_of
from fuseshard.measure.records import to_json
from fuseshard.measure.schema import read

SHAPES = ((7, 12), (5,))


@pytest.fixture
def without_inductor(monkeypatch: pytest.MonkeyPatch) -> None:
    original = torch.compile
    monkeypatch.setattr(
        torch,
        "compile",
        lambda fn, **settings: original(fn, **(settings | {"backend": "eager"})),
    )


def test_every_way_does_the_same_step(
    without_inductor: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[list[torch.nn.Parameter]] = []

    def remembered(shapes: tuple, *, device: str = "cpu") -> list[torch.nn.Parameter]:
        made.append(example_params(shapes, device=device))
        return made[-1]

    monkeypatch.setattr(optimizers, "example_params", remembered)
    ways = optimizers.optimizer_steps(SHAPES)
    assert list(ways) == [
        "loop",
        "foreach",
        "fused",
        "compiled",
        "powers inside",
        "powers outside",
    ]
    for step in ways.values():
        step()
        step()
    loop, *others = made
    for params in others:
        assert largest_gap(params, loop) <= rounding_bound(loop, 2, optimizers.LEARNING_RATE)
    assert largest_gap(example_params(SHAPES), loop) > 1e-4  # they have all moved


def test_the_times_survive_their_recording(without_inductor: None) -> None:
    timed = optimizers.optimizer_times(SHAPES, budget_s=0.1)
    assert read(OptimizerTimes, to_json(timed), "recording") == timed
    assert (timed.num_tensors, timed.num_elements) == (2, 89)


def test_a_float_learning_rate_costs_one_graph_more_and_a_tensor_none() -> None:
    assert optimizers.graphs_per_step(1e-3, 4) == (1, 2, 2, 2)
    assert optimizers.graphs_per_step(torch.tensor(1e-3), 4) == (1, 1, 1, 1)


def test_only_the_librarys_kernel_has_powers_in_its_loop() -> None:
    library, by_hand = optimizers.kernel_of_library(), optimizers.kernel_by_hand()
    assert library.code.count("std::pow") == 2
    assert library.code.index("for(") < library.code.index("std::pow")
    assert "std::pow" not in by_hand.code
    assert by_hand.code.count(".store(") == library.code.count(".store(") == 3


def test_the_gpu_experiment_says_what_it_needs() -> None:
    assert optimizers.optimizers_on_gpu.needs == "cuda"


def test_on_the_recorded_gpu_fused_leads_and_powers_outside_do_not_pay() -> None:
    """The chapter says so of whatever is recorded; a new recording must still bear it out."""
    found = newest(optimizers.optimizers_on_gpu.id, RECORDINGS_FOLDER)
    assert found is not None
    name, entry = found
    compared = result_of(OptimizerTimes, entry, name).comparison
    assert min(compared.timings, key=lambda timing: timing.median_s).name == "fused"
    inside, outside = (compared[f"powers {place}"].median_s for place in ("inside", "outside"))
    assert outside > 0.95 * inside
