"""Measurements with known times, for the tests of what is computed from them."""

from collections.abc import Callable

from fuseshard.compiler.ledger.records import MapCell, SpeedMap
from fuseshard.measure.records import Comparison, Timing
from fuseshard.measure.statistics import paired_ratio

ROUNDS = 9


def known_comparison(**seconds: float) -> Comparison:
    """A comparison in which every round of a variant took the same time."""
    (_, first_s), *_ = seconds.items()
    timings = tuple(
        Timing(
            name=name,
            first_call_s=1.0,
            rounds_s=(value,) * ROUNDS,
            calls_per_round=1,
            median_s=value,
            low_s=value,
            high_s=value,
            ratio=None if i == 0 else paired_ratio((first_s,) * ROUNDS, (value,) * ROUNDS),
        )
        for i, (name, value) in enumerate(seconds.items())
    )
    return Comparison(timings=timings, num_threads=1)


def known_map(
    family: str,
    rows: tuple[str, ...],
    columns: tuple[int, ...],
    seconds: Callable[[str, int], tuple[float, float]],
) -> SpeedMap:
    """A map whose eager and compiled times are those of a formula."""
    cells = []
    for row in rows:
        for column in columns:
            eager_s, compiled_s = seconds(row, column)
            comparison = known_comparison(eager=eager_s, compiled=compiled_s)
            cells.append(
                MapCell(row=row, column=column, comparison=comparison, error=0.0, eager_error=0.0)
            )
    return SpeedMap(
        family=family, device="cpu", rows=rows, columns=columns, cells=tuple(cells), origin=None
    )
