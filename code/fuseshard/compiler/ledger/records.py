"""What the chapter on when compiling helps measures, as plain data that figures read without torch.

A *switch* is one thing that torch.compile does and that can be left out: see `switches`.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Literal

from fuseshard.measure.records import Comparison, Origin, Verdict

Family = Literal["chain", "matmul", "breaks", "models"]

EAGER, COMPILED = "eager", "compiled"
"""names of the two variants in every cell of a map"""


@dataclass(frozen=True, kw_only=True)
class MapCell:
    """One place of a map: the same work, eager and compiled."""

    row: str
    column: int
    comparison: Comparison
    """"eager" and "compiled", in rounds"""
    error: float
    """largest error of the compiled result against float64, relative to the largest value"""
    eager_error: float
    """the same of the eager result"""

    @property
    def speedup(self) -> float | None:
        """Factor by which compiling is faster; None where no difference was measured."""
        ratio = self.comparison.ratio
        return None if ratio.verdict == "no difference measured" else ratio.speedup


@dataclass(frozen=True, kw_only=True)
class SpeedMap:
    """One family of work over two sizes."""

    family: Family
    device: str
    """cpu or cuda"""
    rows: tuple[str, ...]
    """what the rows are: numbers of operations or breaks, or names of models"""
    columns: tuple[int, ...]
    """sizes, growing"""
    cells: tuple[MapCell, ...]
    """one for each row and column, row by row"""
    origin: Origin | None = None

    def __post_init__(self) -> None:
        wanted = [(row, column) for row in self.rows for column in self.columns]
        places = [(cell.row, cell.column) for cell in self.cells]
        if places != wanted:
            raise ValueError(
                f"SpeedMap {self.family}: got cells {places}, must be {wanted} (a map has one for "
                "each row and column, row by row); measure what is missing."
            )

    def cell(self, row: str, column: int) -> MapCell:
        """Return the cell of a row and a column.

        Raises:
            KeyError: there is no such place.
        """
        for cell in self.cells:
            if (cell.row, cell.column) == (row, column):
                return cell
        raise KeyError(f"no cell ({row!r}, {column}); rows {self.rows}, columns {self.columns}")

    def verdicts(self) -> Counter[Verdict]:
        """Count the cells by what may be said of them."""
        return Counter(cell.comparison.verdict for cell in self.cells)

    def extreme(self, *, best: bool) -> MapCell | None:
        """Return the cell with the largest (or smallest) speed-up that was measured."""
        decided = [cell for cell in self.cells if cell.speedup is not None]
        if not decided:
            return None
        pick = max if best else min
        return pick(decided, key=lambda cell: cell.comparison.ratio.speedup)


@dataclass(frozen=True, kw_only=True)
class SpeedMaps:
    """The maps that one machine has made."""

    maps: tuple[SpeedMap, ...]
    origin: Origin | None = None


@dataclass(frozen=True, kw_only=True)
class Written:
    """What can be read off a module that Inductor wrote with some switches off."""

    switches: tuple[str, ...]
    """those that were on"""
    loops: int
    """`for` loops in its C++: one a pass over the data"""
    vectors: int
    """mentions of `Vectorized`; 0 means that it takes one number at a time"""
    parallel_loops: int
    """loops that are shared out between threads, `#pragma omp for`"""
    buffer_bytes: int
    """bytes that it allocates in one call"""
    code: str
    """the C++ of its kernels"""


@dataclass(frozen=True, kw_only=True)
class Ledger:
    """One function with every combination of switches, and in eager mode, in the same rounds."""

    num_elements: int
    comparison: Comparison
    """"eager", then one variant a combination, named by `account.name_of`"""
    threads: Comparison
    """"eager" and "compiled" on one thread, and as "eager, 2" and "compiled, 2" on two"""
    written: tuple[Written, ...]
    """one a combination of the switches that change the code"""
    origin: Origin | None = None

    def code(self, switches: frozenset[str]) -> str:
        """Return the C++ that was written with exactly these switches on."""
        return next(one.code for one in self.written if frozenset(one.switches) == switches)


@dataclass(frozen=True, kw_only=True)
class Share:
    """What one switch contributes, as a factor on the time: below 1 it saves."""

    switch: str
    factor: float

    @property
    def log(self) -> float:
        """Natural logarithm of the factor: what adds up when factors multiply."""
        return math.log(self.factor)


@dataclass(frozen=True, kw_only=True)
class Generation:
    """Ways to write the same tokens, timed and counted."""

    num_tokens: int
    """tokens that each sequence gets"""
    num_sequences: int
    comparison: Comparison
    """seconds of writing all tokens, by way"""
    tokens: dict[str, tuple[int, ...]]
    """what each way wrote for the first sequence"""
    graphs: dict[str, int]
    """graphs that Dynamo captured for each way, its first call included"""
    origin: Origin | None = None

    def tokens_per_s(self, way: str) -> float:
        """Return tokens per second, of all sequences together."""
        return self.num_tokens * self.num_sequences / self.comparison[way].median_s
