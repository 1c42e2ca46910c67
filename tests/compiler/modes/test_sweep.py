"""The sweep of modes, on a CPU. Oracle: its own interface; lite, which compiles no C++."""

import functools

import pytest
import torch

from fuseshard.compiler.modes.records import ModeSweep
from fuseshard.compiler.modes.sweep import FIRST_CALLS, MODES, gpu_inference, mode_sweep
from fuseshard.measure.records import to_json
from fuseshard.measure.schema import read
from fuseshard.models.minigpt import MiniGPT, MiniGPTConfig


@pytest.fixture(scope="module")
def swept() -> ModeSweep:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fuseshard.compiler.modes.sweep.TIMING_S", 0.1)
        small = functools.partial(MiniGPT, MiniGPTConfig(num_layers=1))
        patch.setattr("fuseshard.compiler.modes.sweep.MiniGPT", small)
        return mode_sweep(
            "inference",
            (1, 3),
            device="cpu",
            dtype=torch.bfloat16,
            modes=("lite",),
            budget_s=60.0,
            is_fresh=False,
        )


def test_each_batch_size_has_eager_mode_first_and_then_the_modes(swept: ModeSweep) -> None:
    assert [point.size for point in swept.points] == [1, 3]
    for point in swept.points:
        assert [timing.name for timing in point.comparison.timings] == ["eager", "lite"]
        assert set(point.errors) == {"eager", "lite"}
        assert 0 < point.errors["lite"] < 0.1  # bfloat16 has 8 bits


def test_first_calls_are_only_kept_where_no_cache_could_help(swept: ModeSweep) -> None:
    assert all(point.first_calls_s == {} for point in swept.points)
    assert FIRST_CALLS == 3  # compile, capture, replay


def test_a_sweep_survives_its_recording(swept: ModeSweep) -> None:
    assert read(ModeSweep, to_json(swept), "recording") == swept


def test_without_time_left_a_mode_is_left_out() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fuseshard.compiler.modes.sweep.TIMING_S", 0.1)
        swept = mode_sweep(
            "inference", (1,), device="cpu", modes=("lite",), budget_s=1e-9, is_fresh=False
        )
    assert swept.points == ()


def test_every_mode_that_torch_knows_is_swept_on_a_gpu() -> None:
    assert sorted(MODES) == sorted(torch._inductor.list_mode_options())
    assert gpu_inference.needs == "cuda"
