"""What the size of a tile, the number of warps and alignment do to a hand-written kernel.

All of it is read from machine code: nothing runs. R = rows of a tile, N = columns of a row.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

from fuseshard.compiler.described.targets import target as find_target
from fuseshard.compiler.gpu import compile_triton
from fuseshard.compiler.gpu_code.kernels import GpuKernel
from fuseshard.compiler.gpu_code.machine import ALIGNED
from fuseshard.compiler.gpu_code.records import MachineCode
from fuseshard.compiler.gpu_study.records import Dtype, TilePoint, WidthCase

POINTERS: dict[Dtype, str] = {"float32": "*fp32", "float16": "*fp16", "bfloat16": "*bf16"}
"""how Triton writes a pointer to each type"""


@dataclass(frozen=True, kw_only=True)
class HandKernel:
    """A hand-written kernel with all that a compiler has to know of a call."""

    fn: Any = field(repr=False)
    """decorated with `triton.jit`"""
    signature: Mapping[str, str]
    """type of each argument that isn't constant, in Triton's words"""
    constants: Mapping[str, int]
    """value of each `tl.constexpr` argument"""

    def compiled(self, target: str, num_warps: int) -> MachineCode:
        """Compile it for a GPU.

        Args:
            target: a key of `fuseshard.compiler.described.targets.TARGETS`.
            num_warps: warps of a block.
        """
        return compile_triton(
            self.fn, self.signature, self.constants, target=target, num_warps=num_warps
        )


def row_kernel(fn: Any, *, rows: int, columns: int, dtype: Dtype = "float32") -> HandKernel:
    """Describe a call of a kernel that takes whole rows, such as `kernels.softmax`'s.

    Args:
        fn: with the arguments out_ptr, x_ptr, num_rows, NUM_COLUMNS, BLOCK_ROWS, BLOCK_COLUMNS.
        rows: of a tile, a power of two.
        columns: of the tensor; the tile's are the next power of two.
        dtype: of the tensors, which begin at addresses divisible by 16.
    """
    pointer = POINTERS[dtype] + ALIGNED
    return HandKernel(
        fn=fn,
        signature={"out_ptr": pointer, "x_ptr": pointer, "num_rows": "i32"},
        constants={
            "NUM_COLUMNS": columns,
            "BLOCK_ROWS": rows,
            "BLOCK_COLUMNS": 1 << (columns - 1).bit_length(),
        },
    )


def tile_sweep(
    fn: Any,
    rows: Sequence[int],
    num_warps: Sequence[int],
    *,
    columns: int = 1024,
    targets: Sequence[str] = ("h200", "mi300x"),
    most_elements: int = 256,
) -> tuple[TilePoint, ...]:
    """Compile a row kernel for growing tiles, until registers no longer hold them.

    Targets are worked on side by side: each vendor's compiler has a process of its own.

    Args:
        fn: see `row_kernel`.
        rows: of a tile, powers of two.
        num_warps: powers of two.
        columns: of the tensor.
        targets: keys of `fuseshard.compiler.described.targets.TARGETS`.
        most_elements: of a tile for each thread of NVIDIA's 32 in a warp; what has more is left
            out, since the assembler takes minutes to spill thousands of registers.

    Returns:
        In the order of targets, warps and rows.
    """
    pairs = [
        (warps, count)
        for warps in num_warps
        for count in rows
        if count * columns <= most_elements * 32 * warps
    ]

    def swept(target: str) -> list[TilePoint]:
        return [_point(fn, target, warps, rows=count, columns=columns) for warps, count in pairs]

    with ThreadPoolExecutor(len(targets)) as pool:
        return tuple(point for points in pool.map(swept, targets) for point in points)


def _point(fn: Any, target: str, num_warps: int, *, rows: int, columns: int) -> TilePoint:
    kernel = row_kernel(fn, rows=rows, columns=columns)
    code = kernel.compiled(target, num_warps)
    tile = rows * kernel.constants["BLOCK_COLUMNS"]
    return TilePoint(
        target=target,
        varied=rows,
        tile=tile,
        num_warps=num_warps,
        elements_per_thread=tile // (num_warps * find_target(target).warp_size),
        resources=code.resources,
        compile_s=code.compile_s,
    )


WIDTHS = ((600, True), (602, True), (601, True), (600, False))
"""columns of a row, and whether its first row is known to begin at a multiple of 16 bytes: where
it isn't, the columns no longer matter"""


def width_cases(
    fn: Any,
    *,
    dtypes: Sequence[Dtype] = ("float32", "bfloat16"),
    targets: Sequence[str] = ("h200", "mi300x"),
) -> tuple[WidthCase, ...]:
    """Compile a row kernel for each of `WIDTHS`, and look at how wide its loads are.

    Args:
        fn: see `row_kernel`.
        dtypes: of the tensors.
        targets: keys of `fuseshard.compiler.described.targets.TARGETS`.

    Returns:
        In the order of targets, types and widths.
    """
    return tuple(
        _width_case(fn, target, dtype, width)
        for target in targets
        for dtype in dtypes
        for width in WIDTHS
    )


def _width_case(fn: Any, target: str, dtype: Dtype, width: tuple[int, bool]) -> WidthCase:
    columns, is_aligned = width
    kernel = row_kernel(fn, rows=1, columns=columns, dtype=dtype)
    if not is_aligned:
        loose = {name: kind.removesuffix(ALIGNED) for name, kind in kernel.signature.items()}
        kernel = replace(kernel, signature=loose)
    return WidthCase(
        target=target,
        columns=columns,
        is_aligned=is_aligned,
        dtype=dtype,
        resources=kernel.compiled(target, 4).resources,
    )


def configuration_codes(kernel: GpuKernel) -> tuple[MachineCode, ...]:
    """Compile a kernel of Inductor's under each configuration that its autotuner would time.

    Args:
        kernel: of a build.

    Returns:
        In Inductor's order. Which one is fastest, only a card can tell.
    """
    return tuple(kernel.machine(index) for index in range(len(kernel.configurations)))
