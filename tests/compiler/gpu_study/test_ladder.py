"""Deeds at each stage. Oracle: the counts of MachineCode.resources, and the kernel read by eye."""

import inspect
from dataclasses import replace

import pytest

from fuseshard.compiler.gpu_code.records import MachineCode
from fuseshard.compiler.gpu_study.ladder import DEEDS, ladder
from fuseshard.compiler.gpu_study.tiles import row_kernel
from fuseshard.kernels.softmax import softmax_kernel

SOURCE = inspect.getsource(softmax_kernel.fn)
ONCE = {"load": 1, "exchange": 2, "wait": 0, "exp": 1, "divide": 1, "store": 1}
"""what the source of a softmax has: two reductions, and everything else once"""


def compiled(target: str) -> MachineCode:
    return row_kernel(softmax_kernel, rows=1, columns=600).compiled(target, 4)


@pytest.mark.parametrize("target", ["h200", "mi300x"])
def test_deeds_stay_single_down_to_ttgir_and_multiply_below(target: str) -> None:
    code = compiled(target)
    rungs = {rung.stage: rung for rung in ladder(SOURCE, code).rungs}
    counts = {s: {deed: rung.count(deed) for deed in DEEDS} for s, rung in rungs.items()}
    assert counts["Triton"] == counts["TTIR"] == counts["TTGIR"] == ONCE
    *_, machine = rungs
    assert counts[machine]["load"] == code.resources.loads
    assert counts[machine]["exchange"] == code.resources.shuffles > 2
    # Four warps of one row: a thread's share of 1024 columns.
    assert counts[machine]["exp"] == 1024 // (4 * (64 if target == "mi300x" else 32))
    assert rungs["Triton"].num_lines == 9


def test_a_stage_that_lost_a_load_is_refused() -> None:
    """Must-fail twin: the machine code with one load less."""
    code = compiled("h200")
    assert code.sass is not None
    lines = code.sass.splitlines()
    index = next(i for i, line in enumerate(lines) if " LDG." in line)
    fewer = "\n".join([*lines[:index], *lines[index + 1 :]])
    ladder(SOURCE, code)
    with pytest.raises(ValueError, match=r"must be .* as counted for its resources"):
        ladder(SOURCE, replace(code, sass=fewer))
