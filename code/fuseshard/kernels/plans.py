"""How the work of a kernel is dealt out: rows and warps of a program, sizes of a tile.

A program is one block of the grid; Triton deals its tile out to the threads of `num_warps` warps.
Everything here is a default: launchers take the same numbers as keyword arguments.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

NVIDIA_WARP = 32
"""threads of a warp; 64 on AMD's data centre cards"""
MAX_COLUMNS = 65536
"""of a row that is one block: 1024 threads then hold 64 elements each, all of their registers"""
ELEMENTS_PER_THREAD = 32
"""of a long row: eight loads of 128 bits for float32, four for 16-bit types. With more, a thread's
registers leave no room for other threads"""
SHORT_ROWS_SHARE = 2
"""how many times fewer elements a thread holds of rows that share a block. Fewer still leave a
thread of a 16-bit type a single load of 128 bits; more was slower on an H200"""
MIN_THREADS = 128
"""of a block: 32 blocks fit on a multiprocessor, so that smaller ones can't fill it"""
MAX_THREADS = 1024
"""of a block, on NVIDIA as on AMD"""
MIN_TILE = 16
"""rows, columns and depth of the smallest tile that tl.dot takes"""
FULL_GRID = 528
"""programs: four for each of an H200's 132 multiprocessors"""


@dataclass(frozen=True, kw_only=True)
class RowPlan:
    """How many rows a program takes, and how many warps share them."""

    rows_per_program: int
    """a power of two"""
    block_columns: int
    """the row's length, rounded up to a power of two"""
    num_warps: int
    """a power of two"""


@dataclass(frozen=True, kw_only=True)
class TilePlan:
    """The tile of a kernel that multiplies matrices."""

    rows: int
    """of the product; a power of two, at least 16"""
    columns: int
    """of the product; a power of two, at least 16"""
    depth: int
    """summands of the product that are loaded at a time; a power of two, at least 16"""
    num_warps: int
    num_stages: int
    """loop iterations whose loads are under way at once"""

    def __post_init__(self) -> None:
        for name in ("rows", "columns", "depth"):
            size = getattr(self, name)
            if size < MIN_TILE or size != power_of_two(size):
                raise ValueError(
                    f"TilePlan: {name} is {size}, must be a power of two and at least {MIN_TILE} "
                    f"(tensor cores multiply such tiles); use {power_of_two(max(MIN_TILE, size))}."
                )


def plan_rows(
    num_columns: int,
    *,
    elements_per_thread: int = ELEMENTS_PER_THREAD,
    warp_size: int = NVIDIA_WARP,
    rows_per_program: int | None = None,
    num_warps: int | None = None,
) -> RowPlan:
    """Choose rows and warps for a kernel that holds whole rows in registers.

    A long row gets as many threads as hold `elements_per_thread` elements each, at least the
    smallest block, 128 threads. Short rows share that block, half as many elements a thread, so
    that its threads still have their vector loads. With warps of 32:

        columns              1 .. 1024   2048   4096   8192   16384   32768
        rows_per_program   2048 .. 2        1      1      1       1       1
        num_warps             4 .. 4        4      4      8      16      32

    Args:
        num_columns: of a row, 1 to MAX_COLUMNS.
        elements_per_thread: half as many for a kernel that holds twice as many tensors.
        warp_size: threads that run in step, see warp_size_here.
        rows_per_program: to set it by hand.
        num_warps: to set it by hand.

    Raises:
        ValueError: too many columns or none, or a number set by hand isn't a power of two.
    """
    if not 1 <= num_columns <= MAX_COLUMNS:
        raise ValueError(
            f"plan_rows: num_columns is {num_columns}, must be 1 to {MAX_COLUMNS} (a program holds "
            "a whole row in registers); choose a kernel that walks along its rows."
        )
    block_columns = power_of_two(num_columns)
    room = MIN_THREADS * elements_per_thread
    threads = min(MAX_THREADS, MIN_THREADS * max(1, block_columns // room))
    return RowPlan(
        rows_per_program=_chosen(
            "rows_per_program", rows_per_program, max(1, room // SHORT_ROWS_SHARE // block_columns)
        ),
        block_columns=block_columns,
        num_warps=_chosen("num_warps", num_warps, threads // warp_size),
    )


def plan_product(dtype: torch.dtype, *, warp_size: int = NVIDIA_WARP) -> TilePlan:
    """Choose the tile of a product whose summands are loaded a few at a time.

    In 16 bits, 128 x 128 float32 sums are 64 registers in each of 256 threads. That tile does 64
    multiplications for each element that it loads, and tensor cores do them. In float32 they are
    done one by one, from operands in registers too, so that the tile is smaller.

    Args:
        dtype: of what is multiplied.
        warp_size: threads that run in step, see warp_size_here.
    """
    if dtype.itemsize == 2:
        stages = _stages(warp_size)
        return TilePlan(rows=128, columns=128, depth=64, num_warps=8, num_stages=stages)
    return TilePlan(rows=32, columns=64, depth=32, num_warps=4, num_stages=2)


def plan_attention(dtype: torch.dtype, head_size: int, *, warp_size: int = NVIDIA_WARP) -> TilePlan:
    """Choose the tile of attention: rows are queries, columns keys, depth a whole head.

    Args:
        dtype: of what is multiplied.
        head_size: rounded up to a power of two.
        warp_size: threads that run in step, see warp_size_here.
    """
    depth = max(MIN_TILE, power_of_two(head_size))
    if dtype.itemsize == 2:
        stages = _stages(warp_size)
        return TilePlan(rows=128, columns=64, depth=depth, num_warps=8, num_stages=stages)
    return TilePlan(rows=32, columns=32, depth=depth, num_warps=4, num_stages=2)


def tiles_per_split(num_tiles: int, num_splits: int | None, *, programs: int) -> int:
    """Deal tiles out to programs that each walk along some of them.

    Args:
        num_tiles: at least 1.
        num_splits: shares; by default as many as make a full grid.
        programs: that walk side by side, in other rows.

    Returns:
        Tiles of a share; the last may have fewer, but none is left without.

    Raises:
        ValueError: num_splits is less than 1.
    """
    wanted = -(-FULL_GRID // max(1, programs)) if num_splits is None else num_splits
    if wanted < 1:
        raise ValueError(
            f"tiles_per_split: num_splits is {num_splits}, must be at least 1 (somebody has to "
            "take the tiles); leave it out for a full grid."
        )
    return -(-num_tiles // min(wanted, num_tiles))


def warp_size_here() -> int:
    """Threads of a warp on the kind of GPU that this torch is built for; asks no device."""
    return 64 if torch.version.hip else NVIDIA_WARP


def power_of_two(number: int) -> int:
    """Round up to a power of two, which every size of a Triton tile has to be."""
    return 1 << (number - 1).bit_length()


def _stages(warp_size: int) -> int:
    """AMD's 64 KiB of shared memory hold fewer tiles than are on their way at NVIDIA's."""
    return 3 if warp_size == NVIDIA_WARP else 2


def _chosen(name: str, given: int | None, default: int) -> int:
    """Prefer the number set by hand."""
    if given is None:
        return default
    if given < 1 or given != power_of_two(given):
        raise ValueError(
            f"plan_rows: {name} is {given}, must be a power of two (Triton's tiles and blocks "
            f"are); use {power_of_two(max(1, given))}, or leave it out for {default}."
        )
    return given
