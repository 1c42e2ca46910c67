"""Reductions and scans by whole tiles instead of one element after the other.

Triton's interpreter knows the sum, the maximum and a few more by name. Every other combine
function, and most of Inductor's are its own, is called in Python for each element of each row.
Here it is called on whole halves of a tile: 10 calls for 1024 columns and any number of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import triton.language as tl

# Triton's own, checked on 3.6 and 3.9: how its interpreter reduces and scans.
from triton.runtime.interpreter import ReduceOps, ScanOps, TensorHandle, _get_np_dtype

from fuseshard.compiler.described.replace import attributes
from fuseshard.compiler.interpreted.rounding import narrow_tiles


@contextmanager
def whole_tiles() -> Iterator[None]:
    """Let the interpreter combine whole tiles while the block runs."""
    reduce = _generic_if_narrow(ReduceOps.apply_impl, _reduce)
    scan = _generic_if_narrow(ScanOps.apply_impl, _scan_any_direction)
    with (
        attributes(ReduceOps, generic_reduce=_reduce, apply_impl=reduce),
        attributes(ScanOps, generic_scan=_scan, apply_impl=scan),
    ):
        yield


def _generic_if_narrow(
    known: Callable[..., Any], generic: Callable[..., Any]
) -> Callable[..., Any]:
    """Keep NumPy's sum and maximum away from tiles that hold bit patterns."""

    def apply_impl(self: Any, tensors: tuple[Any, ...]) -> Any:
        return (generic if narrow_tiles(tensors) else known)(self, tensors)

    return apply_impl


def _reduce(self: Any, tensors: tuple[Any, ...]) -> list[Any]:
    """Combine the first half with the second until one column is left: a tree, as on a GPU.

    Blocks are powers of two, so the halves always match.
    """
    tensors, axis = self.unravel(tensors, self.axis)
    dtypes = [tensor.dtype for tensor in tensors]
    tiles = [tensor.handle.data for tensor in tensors]
    while tiles[0].shape[axis] > 1:
        halves = [np.split(tile, 2, axis) for tile in tiles]
        first, second = ([half[i] for half in halves] for i in (0, 1))
        tiles = _combined(self.combine_fn, (first, second), dtypes)
    columns = [_reduced(self, tile, axis) for tile in tiles]
    return [self.to_tensor(x, dtype) for x, dtype in zip(columns, dtypes, strict=True)]


def _reduced(self: Any, tile: np.ndarray, axis: int) -> Any:
    """Drop the axis that was reduced, or keep it with size 1, as the kernel asked."""
    if self.keep_dims:
        return tile if self.axis is not None else tile.reshape([1] * tile.ndim)
    dropped = tile.squeeze(axis)
    return dropped if dropped.ndim else dropped.item()


def _scan(self: Any, tensors: tuple[Any, ...]) -> list[Any]:
    """Combine each column with the one 1, 2, 4, ... before it: a parallel prefix.

    After the step of width w a column holds the 2w columns up to itself.
    Source: Hillis and Steele 1986, "Data Parallel Algorithms", doi:10.1145/7902.7903.
    """
    dtypes = [tensor.dtype for tensor in tensors]
    tiles = [tensor.handle.data for tensor in tensors]
    size = tiles[0].shape[self.axis]
    columns = np.arange(size)
    shape = [1] * tiles[0].ndim
    shape[self.axis] = size
    width = 1
    while width < size:
        # The first columns have no partner; they are combined with column 0 and then kept as is.
        earlier = [np.take(tile, np.maximum(columns - width, 0), self.axis) for tile in tiles]
        combined = _combined(self.combine_fn, (earlier, tiles), dtypes)
        has_partner = (columns >= width).reshape(shape)
        tiles = [np.where(has_partner, new, x) for new, x in zip(combined, tiles, strict=True)]
        width *= 2
    return [self.to_tensor(tile, dtype) for tile, dtype in zip(tiles, dtypes, strict=True)]


def _scan_any_direction(self: Any, tensors: tuple[Any, ...]) -> list[Any]:
    if not self.reverse:
        return _scan(self, tensors)
    turned = tuple(_tensor(np.flip(t.handle.data, self.axis), t.dtype) for t in tensors)
    return [_tensor(np.flip(t.handle.data, self.axis), t.dtype) for t in _scan(self, turned)]


def _combined(
    combine_fn: Any, operands: tuple[list[np.ndarray], list[np.ndarray]], dtypes: list[Any]
) -> list[np.ndarray]:
    """Call a kernel's combine function once for two lists of tiles."""
    left, right = (list(map(_tensor, tiles, dtypes)) for tiles in operands)
    result = combine_fn.fn(*left, *right)
    results = result if isinstance(result, tuple) else (result,)
    # A function may return a number, or a tile of one row: spread it over the tile again.
    return [np.broadcast_to(_data(x), left[0].handle.data.shape) for x in results]


def _data(value: Any) -> Any:
    return value.handle.data if isinstance(value, tl.core.tensor) else value


def _tensor(data: np.ndarray, dtype: Any) -> Any:
    handle = TensorHandle(np.ascontiguousarray(data, _get_np_dtype(dtype)), dtype)
    return tl.core.tensor(handle, tl.block_type(dtype, list(data.shape)))
