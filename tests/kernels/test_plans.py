"""Default sizes, and tensors refused in this process. Oracle: the docstring's table, arithmetic."""

import pytest
import torch

from fuseshard.kernels import checks, plans
from fuseshard.kernels.plans import plan_rows
from fuseshard.kernels.softmax import softmax, softmax_kernel


@pytest.mark.parametrize(
    ("columns", "rows", "warps"),
    [
        (1, 2048, 4),
        (600, 2, 4),
        (1024, 2, 4),
        (1025, 1, 4),
        (2048, 1, 4),
        (4096, 1, 4),
        (8192, 1, 8),
        (16384, 1, 16),
        (32768, 1, 32),
        (65536, 1, 32),
    ],
)
def test_rows_and_warps_are_those_of_the_table(columns: int, rows: int, warps: int) -> None:
    plan = plan_rows(columns)
    assert (plan.rows_per_program, plan.num_warps) == (rows, warps)


@pytest.mark.parametrize("columns", range(1, 32769, 777))
@pytest.mark.parametrize(("warp_size", "elements"), [(32, 32), (32, 16), (64, 32)])
def test_a_thread_holds_as_many_elements_as_were_asked_for(
    columns: int, warp_size: int, elements: int
) -> None:
    plan = plan_rows(columns, warp_size=warp_size, elements_per_thread=elements)
    threads = plan.num_warps * warp_size
    assert plans.MIN_THREADS <= threads <= plans.MAX_THREADS
    held = plan.rows_per_program * plan.block_columns / threads
    if plan.rows_per_program > 1:
        assert held == elements / plans.SHORT_ROWS_SHARE
    else:
        assert held in (elements / plans.SHORT_ROWS_SHARE, elements) or (
            threads == plans.MAX_THREADS
        )
    assert columns <= plan.block_columns < 2 * columns


def test_numbers_set_by_hand_win() -> None:
    plan = plan_rows(600, rows_per_program=1, num_warps=2)
    assert (plan.rows_per_program, plan.num_warps) == (1, 2)


@pytest.mark.parametrize("tiles", [1, 7, 393])
@pytest.mark.parametrize("num_splits", [None, 1, 3, 500])
@pytest.mark.parametrize("programs", [0, 1, 64, 1000])
def test_every_split_gets_a_tile(tiles: int, num_splits: int | None, programs: int) -> None:
    share = plans.tiles_per_split(tiles, num_splits, programs=programs)
    splits = -(-tiles // share)
    assert (splits - 1) * share < tiles <= splits * share
    assert splits <= (num_splits or max(1, plans.FULL_GRID))


def test_a_full_grid_is_split_no_further() -> None:
    assert plans.tiles_per_split(393, None, programs=528) == 393
    assert plans.tiles_per_split(393, None, programs=64) == 44  # 9 splits: 576 programs


def test_amd_gets_fewer_stages() -> None:
    half = torch.bfloat16
    assert plans.plan_attention(half, 128).num_stages == 3
    assert plans.plan_attention(half, 128, warp_size=64).num_stages == 2
    assert plans.plan_product(half, warp_size=64).num_stages == 2


def test_a_head_is_rounded_up_to_a_tile() -> None:
    assert [plans.plan_attention(torch.float16, d).depth for d in (1, 16, 40, 128)] == [
        16,
        16,
        64,
        128,
    ]


def test_without_the_interpreter_a_cpu_tensor_is_refused() -> None:
    assert not checks.is_interpreted(softmax_kernel)
    with pytest.raises(ValueError, match=r"x is on cpu, must be on cuda .*TRITON_INTERPRET=1"):
        softmax(torch.ones(2, 3))
