"""Tiles and load widths. Oracle: arithmetic on addresses, and the size of the register file."""

import math

import pytest

from fuseshard.compiler.gpu_study.programs import by_key, gallery
from fuseshard.compiler.gpu_study.records import TilePoint, WidthCase
from fuseshard.compiler.gpu_study.tiles import (
    configuration_codes,
    row_kernel,
    tile_sweep,
    width_cases,
)
from fuseshard.kernels.softmax import softmax_kernel

ITEM_BYTES = {"float32": 4, "bfloat16": 2}


@pytest.fixture(scope="module")
def points() -> tuple[TilePoint, ...]:
    return tile_sweep(softmax_kernel, (1, 16), (1, 2), columns=512, targets=("h200",))


@pytest.fixture(scope="module")
def cases() -> tuple[WidthCase, ...]:
    return width_cases(softmax_kernel, targets=("h200",))


def widest_bits(case: WidthCase) -> int:
    """What a thread can load at once: 16 bytes, if every row begins at a multiple of them."""
    item = ITEM_BYTES[case.dtype]
    return 8 * (math.gcd(case.columns * item, 16) if case.is_aligned else item)


def test_a_tile_that_does_not_fit_into_registers_spills(points: tuple[TilePoint, ...]) -> None:
    by_size = {(point.num_warps, point.varied): point for point in points}
    assert {key: point.elements_per_thread for key, point in by_size.items()} == {
        (1, 1): 16,
        (1, 16): 256,
        (2, 1): 8,
        (2, 16): 128,
    }
    for point in points:  # a thread has 255 registers, and each element needs one
        assert bool(point.resources.spills) == (point.elements_per_thread >= 255)
        assert point.resources.registers > point.elements_per_thread or point.resources.spills


def test_one_warp_has_nobody_to_wait_for(points: tuple[TilePoint, ...]) -> None:
    barriers = {point.num_warps: point.resources.barriers for point in points if point.varied == 1}
    assert barriers[1] == 0
    assert barriers[2] > 0


def test_tiles_with_too_many_elements_a_thread_are_left_out() -> None:
    assert tile_sweep(softmax_kernel, (64,), (1,), columns=512, targets=("h200",)) == ()


def test_loads_are_as_wide_as_addresses_allow(cases: tuple[WidthCase, ...]) -> None:
    assert [case.load_bits for case in cases] == [widest_bits(case) for case in cases]
    assert {case.load_bits for case in cases} == {16, 32, 64, 128}  # or nothing was compared


def test_the_oracle_sees_a_width_that_is_wrong(cases: tuple[WidthCase, ...]) -> None:
    """Must-fail twin: a row whose length is known wrongly."""
    aligned = [case for case in cases if case.columns == 602 and case.is_aligned]
    wrong = [WidthCase(**{**vars(case), "columns": 600}) for case in aligned]
    assert all(case.load_bits != widest_bits(case) for case in wrong)


def test_each_candidate_of_the_autotuner_is_compiled() -> None:
    (gelu,) = by_key(gallery(), "gelu")
    (kernel,) = gelu.build("h200").kernels
    codes = configuration_codes(kernel)
    assert tuple(code.configuration for code in codes) == kernel.configurations
    assert len({code.resources.instructions for code in codes}) == len(codes) > 1


def test_columns_are_rounded_up_to_a_power_of_two() -> None:
    constants = row_kernel(softmax_kernel, rows=4, columns=600).constants
    assert constants == {"NUM_COLUMNS": 600, "BLOCK_ROWS": 4, "BLOCK_COLUMNS": 1024}
