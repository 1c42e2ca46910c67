"""What calls cost. Oracle: counts, not times: a busy machine must not fail these tests."""

import torch

from fuseshard.compiler.recompiles import costs
from fuseshard.measure.experiments import registered


def test_a_lookup_sweep_has_both_ways_at_each_count() -> None:
    found = costs.lookup_sweep((1, 3), budget_s=0.2)
    assert found.sizes == (1, 3)
    names = [[t.name for t in point.comparison.timings] for point in found.points]
    assert names == [["front", "last"]] * 2


def test_as_many_entries_are_compiled_as_asked_for_beyond_the_limit() -> None:
    made = costs._lookups(10)
    with torch.compiler.set_stance("fail_on_recompile"):
        for _ in range(20):
            assert made["last"]() is not None
        assert made["front"]() is not None
    assert torch.compiler.config.recompile_limit == 8


def test_the_fallback_is_compared_with_eager() -> None:
    found = costs.fallback_comparison(budget_s=0.2)
    assert [timing.name for timing in found.timings] == ["eager", "hit", "fallback"]
    assert found.baseline.name == "eager"


def test_the_gpu_experiment_is_registered() -> None:
    assert "recompiles.lengths-gpu" in [made.id for made in registered()]


def test_cuda_graphs_are_kept_for_symbols_by_default() -> None:
    assert not costs.drops_symbolic_cuda_graphs()


def test_recordings_are_heard_and_the_callback_is_removed() -> None:
    handler = costs.callback_handler
    before = list(handler.start_callbacks)
    with costs._recordings() as notes:
        with handler.install_callbacks(costs.CallbackTrigger.CUDAGRAPH_RECORDING, "0/0"):
            pass
        with handler.install_callbacks(costs.CallbackTrigger.DYNAMO, "0/0"):
            pass
    assert len(notes) == 1
    assert handler.start_callbacks == before
