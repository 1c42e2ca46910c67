"""The published benchmark and its repair. Oracles: a clock of our own, arithmetic; no Inductor."""

import time

import pytest
import torch

from fuseshard.compiler.training import published
from fuseshard.compiler.training.records import Loop, LoopPair, Repairs
from fuseshard.measure.recordings import RECORDINGS_FOLDER, newest, result_of
from fuseshard.measure.records import to_json
from fuseshard.measure.schema import read


def loop(*calls_s: float, wait_s: float = 0.0) -> Loop:
    return Loop(calls_s=calls_s, wait_s=wait_s)


@pytest.fixture(scope="module")
def repairs() -> Repairs:
    original = torch.compile
    torch.compile = lambda fn, **settings: original(fn, backend="eager", **settings)
    try:
        return published.repairs((3, 7), device="cpu", hidden=5, num_calls=4, budget_s=0.2)
    finally:
        torch.compile = original


def test_the_readings_are_those_of_their_calls() -> None:
    pair = LoopPair(eager=loop(3.0, 1.0, 1.0), compiled=loop(7.0, 0.5, 0.5, wait_s=2.0))
    assert pair.stopped_speedup == pytest.approx(5.0 / 8.0)
    assert pair.finished_speedup == pytest.approx(5.0 / 10.0)
    assert pair.compiled.after_first() == loop(0.5, 0.5, wait_s=2.0)


def test_a_loop_without_calls_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        loop()


def test_every_call_is_timed_where_it_happens() -> None:
    waits_s = iter((0.03, 0.0, 0.06))
    timed = published.plain_loop(lambda: time.sleep(next(waits_s)), 3)  # type: ignore[arg-type]
    assert timed.calls_s[0] >= 0.03 and timed.calls_s[2] >= 0.06
    assert timed.calls_s[1] < timed.calls_s[0] < timed.calls_s[2]
    assert timed.stopped_s == pytest.approx(sum(timed.calls_s) / 3)


def test_the_step_trains_and_autocast_changes_it_by_rounding_only() -> None:
    step = published.published_step(compiled=False, batch=3, hidden=5)
    first = float(step().detach())
    assert float(step().detach()) < first
    low = published.published_step(compiled=False, batch=3, hidden=5, autocast=True)
    assert float(low().detach()) == pytest.approx(first, rel=2.0**-6)


def test_the_repair_has_both_variants_at_each_batch(repairs: Repairs) -> None:
    assert [point.batch for point in repairs.points] == [3, 7]
    for point in repairs.points:
        assert len(point.published.eager.calls_s) == len(point.published.compiled.calls_s) == 4
        assert point.after_first == point.warmed[0]
        assert [timing.name for timing in point.interleaved.timings] == ["eager", "compiled"]


def test_without_repeats_the_first_call_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "compile", lambda fn, **settings: fn)
    point = published.repair(3, hidden=5, num_calls=4, repeats=0, budget_s=0.05)
    assert point.after_first.compiled.calls_s == point.published.compiled.calls_s[1:]


def test_a_repair_survives_its_recording(repairs: Repairs) -> None:
    assert read(Repairs, to_json(repairs), "recording") == repairs


def test_on_the_recorded_gpu_waiting_matters_for_many_rows_only() -> None:
    """The chapter says so of whatever is recorded; a new recording must still bear it out."""
    found = newest(published.published_on_gpu.id, RECORDINGS_FOLDER)
    assert found is not None
    name, entry = found
    few, *_, many = result_of(Repairs, entry, name).points
    small, large = few.after_first.eager, many.after_first.eager
    assert small.stopped_s > 0.9 * small.finished_s
    assert large.stopped_s < 0.7 * large.finished_s
    for point in (few, many):  # no reading bears the claim out
        assert point.interleaved.ratio.speedup_high < 1.2
        readings = (point.published, point.after_first)
        assert max(r.stopped_speedup for r in readings) < 1.2
        assert max(r.finished_speedup for r in readings) < 1.2
