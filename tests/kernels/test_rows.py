"""Softmax, RMS norm and copy. Oracles: plain torch in float64, and torch's own softmax.

The kernels run in Triton's interpreter, in a child process of about 8 s. Numbers are errors in
units of the bound that row_cases.py derives: up to 1 is right.
"""

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture(scope="module")
def found(interpreted: Callable[[str], Any]) -> Any:
    return interpreted("row_cases")


def test_results_are_as_good_as_their_arithmetic_allows(found: Any) -> None:
    assert len(found["equal"]) == 3 * (2 * 5 + 2 * 3)
    assert not {name: value for name, value in found["equal"].items() if value > 1}


def test_rows_and_warps_set_by_hand_change_no_result(found: Any) -> None:
    assert len(found["by hand"]) == 3 * (2 + 2 * 2)
    assert not {name: value for name, value in found["by hand"].items() if value > 1}


def test_one_mistake_leaves_the_bound(found: Any) -> None:
    """Must-fail twin of the two above."""
    assert len(found["mistaken"]) == 4
    assert not {name: value for name, value in found["mistaken"].items() if value < 10}


def test_infinities_give_nan_where_torch_does_and_only_there(found: Any) -> None:
    special = found["special"]
    assert not [name for name, row in special.items() if not row["same_nan"]]
    assert not [name for name, row in special.items() if not row["close"]]
    # Positive control: half of these rows have no softmax.
    assert [name for name, row in special.items() if row["nan"]] == ["all -inf", "inf", "nan"]


def test_autograd_reaches_both_arguments(found: Any) -> None:
    assert found["autograd"] == {"x": True, "w": True, "shape": [2, 3, 7]}


def test_a_copy_is_equal_bit_for_bit(found: Any) -> None:
    assert found["copies"]
    assert all(found["copies"].values()), found["copies"]


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("dtype", "softmax: x is torch.float64, must be one of torch.float32, torch.float16"),
        ("strides", "softmax: x has strides (1, 8) for shape (8, 4), must be contiguous"),
        ("device", "softmax: x is on meta, must be on cpu (Triton's interpreter runs here)"),
        ("gradient", "softmax: x needs a gradient, must not (this kernel has no backward pass"),
        ("rows", "softmax: x has shape (4, 0), must have a last dim of at least 1"),
        ("scalar", "softmax: x has shape (), must have a last dim of at least 1"),
        ("power", "plan_rows: rows_per_program is 3, must be a power of two"),
        ("width", "plan_rows: num_columns is 65537, must be 1 to 65536"),
        ("weight shape", "rms_norm: weight has shape (4,), must have (8,)"),
        ("weight dtype", "rms_norm: weight is torch.float16 on cpu, must be torch.float32 on cpu"),
        ("dy shape", "rms_norm_backward: dy has shape (2, 8), must have (4, 8)"),
        ("no gradient", "copy: x needs a gradient, must not"),
        ("fine", "accepted"),
        ("no rows", "accepted"),
    ],
)
def test_what_a_kernel_would_misread_is_refused(found: Any, case: str, message: str) -> None:
    assert found["refusals"][case].startswith(message)
