"""How fast hand-written kernels are beside Inductor's and the libraries', as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fuseshard.measure.records import Comparison, Origin

RowTask = Literal["softmax", "rms norm"]
FusedTask = Literal["linear and cross-entropy", "attention"]

COPY, BY_HAND, INDUCTOR, EAGER = "copy", "by hand", "Inductor", "eager"


@dataclass(frozen=True, kw_only=True)
class RowPoint:
    """One row-wise operation on one matrix that is larger than the card's caches.

    On a GPU each way but the copy, a single call of the driver, is a CUDA graph: the host's part,
    which differs, is in none of the times.
    """

    task: RowTask
    dtype: str
    rows: int
    columns: int
    moved_bytes: int
    """read once and written once, which nobody can save"""
    comparison: Comparison
    """the first variant copies the matrix: as many bytes, and nothing to compute"""
    errors: dict[str, float]
    """largest error of each variant over the rounding that its result's type allows"""

    def bytes_per_s(self, way: str) -> float:
        """Bytes moved a second, at the median.

        Args:
            way: name of a variant.
        """
        return self.moved_bytes / self.comparison[way].median_s

    def share_of_copy(self, way: str) -> float:
        """Speed of a variant over the speed of the copy, which is near to what memory allows.

        Args:
            way: name of a variant.
        """
        return self.comparison.baseline.median_s / self.comparison[way].median_s


@dataclass(frozen=True, kw_only=True)
class RowTimes:
    """Row-wise operations over widths and types."""

    points: tuple[RowPoint, ...]
    origin: Origin | None = None


@dataclass(frozen=True, kw_only=True)
class FusedPoint:
    """One operation that fuses a product with what follows it.

    On a GPU each way is a CUDA graph, as in `RowPoint`.
    """

    task: FusedTask
    shape: dict[str, int]
    """sizes by their letters, such as {"N": 8192, "D": 1024, "V": 50257}"""
    dtype: str
    flop: float
    """multiplications and additions of the products"""
    comparison: Comparison
    """the first variant is eager mode"""
    peak_bytes: dict[str, int]
    """of the device's memory during one call, above what was there before"""
    errors: dict[str, float]
    """largest error of each variant over that of eager mode, both against float64; eager is 1"""


@dataclass(frozen=True, kw_only=True)
class FusedTimes:
    """Fused operations over sizes."""

    points: tuple[FusedPoint, ...]
    origin: Origin | None = None
