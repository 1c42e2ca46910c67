"""The interpreter with and without corrections. Oracle: torch in float64, rounded to each type."""

import pytest
import torch

from fuseshard.compiler.gpu_study.by_interpreter import (
    TYPES,
    distances,
    hand_distances,
    plain_interpreter,
)
from fuseshard.compiler.gpu_study.records import Distances
from fuseshard.kernels.softmax import softmax


@pytest.fixture(scope="module")
def found() -> dict[tuple[str, str], Distances]:
    each = hand_distances(softmax, lambda x: torch.softmax(x, -1))
    return {(one.dtype, one.way): one for one in each}


def test_a_hand_written_softmax_is_torchs_in_every_type(
    found: dict[tuple[str, str], Distances],
) -> None:
    for dtype in ("float16", "bfloat16"):
        assert found[dtype, "our interpreter"].off == found[dtype, "torch"].off == 0
    ours, torchs = found["float32", "our interpreter"], found["float32", "torch"]
    assert ours.largest <= 2 * torchs.largest
    assert ours.numbers == 37 * 100


def test_the_plain_interpreter_cuts_bfloat16_off_and_nothing_else(
    found: dict[tuple[str, str], Distances],
) -> None:
    """Must-fail twin: without our correction half of the numbers are too small by one."""
    cut = found["bfloat16", "plain interpreter"]
    assert cut.largest == 1
    assert cut.mean == -cut.off / cut.numbers
    assert 0.4 < cut.off / cut.numbers < 0.6
    for dtype in TYPES[:2]:
        assert found[dtype, "plain interpreter"].off == found[dtype, "our interpreter"].off


def test_distances_have_a_sign() -> None:
    exact = torch.tensor([1.0, 2.0, 3.0]).double()
    got = torch.tensor([1.0, 2.0, 3.0])
    got[0] = torch.nextafter(got[0], torch.tensor(0.0))
    one = distances("torch", "float32", got, exact)
    assert (one.numbers, one.off, one.largest) == (3, 1, 1)
    assert one.mean == pytest.approx(-1 / 3)


def test_a_function_that_no_process_can_import_is_refused() -> None:
    with pytest.raises(ValueError, match="must be a function of a module"):
        plain_interpreter(lambda x: x)
