"""The size sweep. Oracle: the sweep's own interface and eager PyTorch; two compiles a size."""

import statistics

import pytest
import torch

from fuseshard.compiler import breakeven
from fuseshard.compiler.breakeven import cpu_size_sweep, gpu_size_sweep, head_sweep
from fuseshard.compiler.graphs import graphs_captured
from fuseshard.compiler.records import HeadSweep
from fuseshard.measure.recordings import RECORDINGS_FOLDER, newest, result_of
from fuseshard.measure.records import to_json
from fuseshard.measure.schema import read


@pytest.fixture(scope="module")
def swept() -> HeadSweep:
    return head_sweep((1, 12), budget_s=0.2)


def test_both_ways_are_timed_at_every_size(swept: HeadSweep) -> None:
    assert swept.by_hand.sizes == swept.library.sizes == (1, 12)
    assert (swept.device, swept.width, swept.vocabulary) == ("cpu", 64, 600)
    for way in (swept.by_hand, swept.library):
        for point in way.points:
            names = [timing.name for timing in point.comparison.timings]
            assert names == [breakeven.EAGER, breakeven.COMPILED]


def test_a_sweep_survives_its_recording(swept: HeadSweep) -> None:
    assert read(HeadSweep, to_json(swept), "recording") == swept


def test_each_ratio_is_of_its_own_way_in_the_same_rounds(swept: HeadSweep) -> None:
    for way in (swept.by_hand, swept.library):
        for point in way.points:
            eager, compiled = point.comparison.timings
            pairs = zip(eager.rounds_s, compiled.rounds_s, strict=True)
            assert eager.ratio is None
            assert point.comparison.ratio.median == statistics.median(c / e for e, c in pairs)
    assert swept.by_hand.points[0].comparison != swept.library.points[0].comparison


@pytest.mark.parametrize("way", breakeven.WAYS)
def test_the_compiled_variant_is_compiled_and_equal_to_eager(way: str) -> None:
    variants = breakeven._variants(12, "cpu")
    results = {}
    compiled, eager = (variants[f"{way} {name}"] for name in (breakeven.COMPILED, breakeven.EAGER))
    assert graphs_captured(lambda: results.update(c=compiled())) == 1
    assert graphs_captured(lambda: results.update(e=eager())) == 0
    torch.testing.assert_close(results["c"], results["e"])


def test_on_the_recorded_gpu_calls_grow_far_less_than_rows_and_lines_stay_flat() -> None:
    """The chapter says so of whatever is recorded; a new recording must still bear it out."""
    found = newest(gpu_size_sweep.id, RECORDINGS_FOLDER)
    assert found is not None
    name, entry = found
    recorded = result_of(HeadSweep, entry, name)
    compiled_s = {p.size: p.comparison["compiled"].median_s for p in recorded.by_hand.points}
    assert compiled_s[4096] < 10 * compiled_s[1]
    assert compiled_s[65536] > 2 * compiled_s[1]
    for sweep in (recorded.by_hand, recorded.library):
        flat = [p.comparison.ratio.speedup for p in sweep.points if p.size <= 4096]
        assert max(flat) < 1.2 * min(flat)


def test_the_experiments_say_what_they_need() -> None:
    assert (cpu_size_sweep.needs, gpu_size_sweep.needs) == ("cpu", "cuda")


@pytest.mark.parametrize("rows", [(), (4, 4), (8, 2)])
def test_sizes_must_grow(rows: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="required at least one, growing"):
        head_sweep(rows)
