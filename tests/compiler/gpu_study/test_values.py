"""Values of GPU code. Oracle: the same programs in float64; each comparison has a broken twin."""

import math
from dataclasses import replace

import pytest
import torch

from fuseshard.compiler.gpu_study.programs import Program, by_key
from fuseshard.compiler.gpu_study.records import ROUNDOFFS, SLACK, ValueCheck
from fuseshard.compiler.gpu_study.values import (
    EDITS,
    broken_checks,
    edited,
    largest_error,
    value_checks,
    value_programs,
)

KEYS = ("softmax", "layer-norm")


@pytest.fixture(scope="module")
def programs() -> tuple[Program, ...]:
    return by_key(value_programs(), *KEYS)


def test_gpu_code_differs_by_rounding_and_broken_code_by_more(
    programs: tuple[Program, ...],
) -> None:
    checks = value_checks(programs)
    assert [(check.program, check.is_rounding) for check in checks] == [(key, True) for key in KEYS]
    softmax, norm = checks
    assert (softmax.numbers, softmax.launches) == (37 * 100, 1)
    # Output and gradient of the input, and two rows of parameters.
    assert norm.numbers == 2 * 37 * 100 + 2 * 100
    broken = broken_checks(programs)
    assert [(check.program, check.is_rounding) for check in broken] == [
        (key, False) for key in KEYS
    ]
    assert math.isnan(broken[0].error)  # exp overflows where no maximum is subtracted
    assert broken[1].error > 1


def test_fused_bfloat16_code_rounds_once_where_eager_mode_rounds_often() -> None:
    (norm,) = value_checks(by_key(value_programs("bfloat16"), "layer-norm"), "bfloat16")
    assert norm.is_rounding
    assert norm.error < norm.eager_error
    # Must-fail twin: the same error would be a bug in float32.
    assert not replace(norm, dtype="float32", eager_error=0.0).is_rounding


def test_an_edit_without_a_place_proves_nothing(programs: tuple[Program, ...]) -> None:
    build = programs[0].build("h200")
    (of_norm,) = (edit for edit in EDITS if edit.program == "layer-norm")
    with pytest.raises(ValueError, match="changed nothing in the kernels of layer-norm"):
        edited(build, of_norm)


def test_every_edit_is_of_a_program_that_is_checked() -> None:
    known = {program.key for program in value_programs()}
    assert {edit.program for edit in EDITS} <= known


def test_errors_are_relative_to_the_largest_number_of_each_tensor() -> None:
    exact = {"a": torch.tensor([4.0, -8.0]).double(), "b": torch.tensor([1.0]).double()}
    got = {"a": torch.tensor([5.0, -8.0]), "b": torch.tensor([1.0])}
    assert largest_error(got, exact) == 1 / 8
    assert math.isnan(largest_error({**got, "b": torch.tensor([math.nan])}, exact))
    with pytest.raises(ValueError, match=r"names are \['a'\] and \['a', 'b'\]"):
        largest_error({"a": got["a"]}, exact)


def test_a_program_that_eager_mode_computes_exactly_may_still_be_rounded_once() -> None:
    check = ValueCheck(
        program="copy",
        dtype="bfloat16",
        edit=None,
        numbers=1,
        launches=1,
        error=SLACK * ROUNDOFFS["bfloat16"],
        eager_error=0.0,
    )
    assert check.is_rounding
    assert not replace(check, error=1.01 * check.error).is_rounding


def test_an_unknown_key_is_named(programs: tuple[Program, ...]) -> None:
    with pytest.raises(ValueError, match=r"keys hold \['relu'\], must be among \['softmax'"):
        by_key(programs, "relu")
