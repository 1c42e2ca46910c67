"""What fusion is worth. Oracles: eager results, and the loop nests in the written text."""

import torch

from fuseshard.compiler.isolate import isolated
from fuseshard.compiler.scheduling import worth
from fuseshard.compiler.scheduling.decisions import decisions


def test_only_both_settings_together_keep_twelve_operations_apart() -> None:
    tried = worth.settings_tried(64)
    assert {name: s.num_nests for name, s in tried.items()} == {
        "default": 1,
        "max_fusion_size": 1,
        "realize_opcount_threshold": 1,
        "both": 12,
    }
    assert tried["both"].bytes_after == 12 * tried["default"].bytes_after == 12 * 3 * 4 * 64


def test_apart_computes_what_eager_computes() -> None:
    x, y = torch.randn(1000), torch.rand(1000)
    apart = torch.compile(isolated(worth.twelve_operations), options=dict(worth.APART))
    # A compiler may contract x * y + y to one rounding; each of four rounds adds one at most.
    torch.testing.assert_close(apart(x, y), worth.twelve_operations(x, y), rtol=1e-6, atol=1e-6)


def test_lgamma_is_computed_in_both_sums_unless_it_is_kept() -> None:
    x = torch.ones(64, 48)
    twice = decisions(worth.twice_lgamma, x)
    kept = decisions(worth.twice_lgamma, x, options=worth.KEEP)
    assert [node.ops.count("lgamma") for node in twice.nodes] == [1, 1]
    assert [node.ops.count("lgamma") for node in kept.nodes] == [1, 0, 0]


def test_the_sweep_times_three_variants_at_each_size() -> None:
    sweep = worth.chain_sweep(budget_s=0.1)
    assert sweep.sizes == worth.SIZES
    names = {timing.name for timing in sweep.points[0].comparison.timings}
    assert names == {"eager", "apart", "fused"}
