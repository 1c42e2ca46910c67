"""A cache under two widths of vectors. Oracle: eager mode, in each process."""

import pytest
import torch

from fuseshard.compiler.debugging import widths
from fuseshard.compiler.debugging.widths import COLUMNS, width_trials
from fuseshard.compiler.rounding import softmax_bound


@pytest.mark.timeout(600)
def test_only_the_cache_of_another_width_does_harm() -> None:
    """Pins a fact of torch 2.13: once it is mended, the page has to say so."""
    trials = width_trials()
    if torch.backends.cpu.get_cpu_capability() != "AVX512":
        assert trials == ()
        return
    wide, carried, alone = trials
    assert [trial.capability for trial in trials] == ["AVX512", "AVX2", "AVX2"]
    assert wide.graph == alone.graph == "miss"
    assert max(wide.difference, alone.difference) <= softmax_bound(COLUMNS)
    if carried.difference is None:  # it reads past a register, and so may end in any way
        assert carried.error
    else:
        assert carried.graph == carried.autograd == "hit"
        assert carried.difference > 100 * softmax_bound(COLUMNS)


def test_a_narrower_processor_has_no_second_part_to_play(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX2")
    assert width_trials() == ()


def test_a_process_that_crashes_is_told_from_one_that_is_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(widths, "_SOFTMAX", "import os; os.abort()")
    trial = widths._trial("avx2", "unused")
    assert (trial.difference, trial.capability) == (None, "AVX2")
    assert trial.error
