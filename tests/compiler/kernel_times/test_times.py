"""A child with Triton's interpreter. Oracle: float64, and arithmetic on the sizes.

The times themselves mean nothing here: the interpreter takes a thousand times a GPU's. What is
tested is the path that a recording takes, and that a wrong result stops it.
"""

import json
from typing import Any

import pytest
import torch

from fuseshard.compiler.child import run_script
from fuseshard.compiler.kernel_times import rows
from fuseshard.compiler.kernel_times.records import FusedTimes, RowTimes
from fuseshard.measure.schema import read

SCRIPT = """
import json, torch, warnings
from fuseshard.compiler.kernel_times import fused, rows
from fuseshard.measure.records import to_json
torch.set_num_threads(1)
types = (torch.float16,)
made = rows.row_times((33, 64), types, device="cpu", matrix_bytes=1 << 15, point_s=0.05)
heads, attentions = [(37, 32, 51)], [(2, 1, 33, 16)]
whole = fused.fused_times(heads, attentions, device="cpu", dtype=torch.float32, point_s=0.05)
refused = []
rows.TASKS = (rows._Task("softmax", lambda x, w: torch.softmax(x, -1).square(), rows._softmax),)
try:
    rows.row_times((33,), types, device="cpu", matrix_bytes=1 << 12, point_s=0.05)
except AssertionError as error:
    refused.append(str(error))
print(json.dumps([to_json(made), to_json(whole), refused]))
"""


@pytest.fixture(scope="module")
def answers() -> list[Any]:
    done = run_script(SCRIPT, variables={"TRITON_INTERPRET": "1"})
    assert done.exit_code == 0, done.error
    answers: list[Any] = json.loads(done.output.splitlines()[-1])
    return answers


def test_rows_are_timed_in_all_ways_and_right_in_all(answers: list[Any]) -> None:
    times = read(RowTimes, answers[0], "rows")
    assert [(p.task, p.dtype, p.columns) for p in times.points] == [
        (task, "float16", columns) for columns in (33, 64) for task in ("softmax", "rms norm")
    ]
    for point in times.points:
        names = [timing.name for timing in point.comparison.timings]
        assert names == ["copy", "by hand", "Inductor", "eager"]
        assert set(point.errors) == set(names[1:])
        assert max(point.errors.values()) <= 1
        assert point.moved_bytes == 2 * point.rows * point.columns * 2
        assert point.share_of_copy("copy") == 1.0
        slower = point.comparison["by hand"].median_s / point.comparison["copy"].median_s
        assert point.share_of_copy("by hand") == pytest.approx(1 / slower)
        assert point.bytes_per_s("copy") == pytest.approx(
            point.moved_bytes / point.comparison["copy"].median_s
        )


def test_a_wrong_result_stops_the_recording(answers: list[Any]) -> None:
    [refusal] = answers[2]
    assert "softmax" in refusal and "by hand" in refusal


def test_fused_operations_are_timed_in_all_ways_and_right_in_all(answers: list[Any]) -> None:
    times = read(FusedTimes, answers[1], "fused")
    head, attention = times.points
    assert head.shape == {"N": 37, "D": 32, "V": 51}
    assert head.flop == 6 * 37 * 32 * 51
    assert attention.shape == {"B": 2, "H": 1, "T": 33, "D": 16}
    assert attention.flop == 4 * 2 * 16 * sum(range(34))
    for point in times.points:
        assert [timing.name for timing in point.comparison.timings] == [
            "eager",
            "by hand",
            "Inductor",
        ]
        assert point.errors["eager"] == 1.0
        assert max(point.errors.values()) <= 4.0


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("task", ["softmax", "rms norm"])
def test_eager_mode_is_within_rounding_and_a_dropped_column_is_not(
    task: rows.RowTask, dtype: torch.dtype
) -> None:
    x = torch.randn(300, 257, generator=torch.Generator().manual_seed(3)).to(dtype)
    weight = torch.linspace(0.5, 1.5, 257).to(dtype)
    plain = rows._softmax if task == "softmax" else rows._rms_norm
    assert rows.error_share(task, plain(x, weight), x, weight) <= 1
    short = torch.zeros_like(x)
    short[:, :-1] = plain(x[:, :-1], weight[:-1])
    assert rows.error_share(task, short, x, weight) > 1
