"""One result out of several processes' results, with the spread between processes in it.

On a GPU whatever the host limits (small models, launches) varies between processes by far more
than within one: where code and data lie in memory is drawn once a process. Rounds of one process
would claim a precision that the next process refutes.
"""

import statistics
from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from fuseshard.measure.records import Comparison, Range, Ratio, Timing, Verdict
from fuseshard.measure.statistics import quartiles

R = TypeVar("R")


def pool(results: Sequence[R]) -> R:
    """Merge the results of the same experiment in several processes.

    Comparisons are pooled: rounds of all processes together, ratios with the envelope of all
    intervals; a `Range` spans all ranges. Other measured numbers (float) become their median.
    Everything else is the first process's.

    Args:
        results: dataclasses of one type with equal structure, at least one.

    Returns:
        A result of the same type.

    Raises:
        ValueError: none given, or they differ in structure (say a size that one left out).
    """
    if not results:
        raise ValueError("pool: got no results, required at least one; record first.")
    return cast(R, _pooled(list(results), type(results[0]).__name__))


def _pooled(values: list[Any], where: str) -> Any:
    first = values[0]
    kinds = {type(value) for value in values}
    if len(kinds) > 1:
        raise _differs(where, sorted(kind.__name__ for kind in kinds))
    if isinstance(first, Comparison):
        return _comparison(values, where)
    if isinstance(first, Range):
        return Range(low=min(v.low for v in values), high=max(v.high for v in values))
    if is_dataclass(first):
        names = [field.name for field in fields(first) if field.name != "origin"]
        changes = {
            name: _pooled([getattr(value, name) for value in values], f"{where}.{name}")
            for name in names
        }
        return replace(cast(Any, first), **changes)
    if isinstance(first, tuple | list):
        _require_equal([len(value) for value in values], f"len({where})")
        columns = zip(*values, strict=True)
        return type(first)(_pooled(list(c), f"{where}[{i}]") for i, c in enumerate(columns))
    if isinstance(first, dict):
        _require_equal([sorted(value) for value in values], f"keys of {where}")
        return {key: _pooled([v[key] for v in values], f"{where}[{key!r}]") for key in first}
    return statistics.median(values) if isinstance(first, float) else first


def _comparison(comparisons: list[Comparison], where: str) -> Comparison:
    _require_equal([[t.name for t in c.timings] for c in comparisons], f"variants of {where}")
    columns = zip(*(comparison.timings for comparison in comparisons), strict=True)
    return replace(comparisons[0], timings=tuple(_timing(list(column)) for column in columns))


def _timing(timings: list[Timing]) -> Timing:
    rounds_s = tuple(seconds for timing in timings for seconds in timing.rounds_s)
    low_s, median_s, high_s = quartiles(rounds_s)
    ratios = [timing.ratio for timing in timings if timing.ratio is not None]
    return replace(
        timings[0],
        first_call_s=statistics.median(timing.first_call_s for timing in timings),
        rounds_s=rounds_s,
        low_s=low_s,
        median_s=median_s,
        high_s=high_s,
        ratio=_ratio(ratios) if ratios else None,
    )


def _ratio(ratios: list[Ratio]) -> Ratio:
    """Span every process's interval; a verdict has to be every process's verdict."""
    verdicts = {ratio.verdict for ratio in ratios}
    undecided: Verdict = "no difference measured"
    return Ratio(
        median=statistics.median(ratio.median for ratio in ratios),
        low=min(ratio.low for ratio in ratios),
        high=max(ratio.high for ratio in ratios),
        confidence=min(ratio.confidence for ratio in ratios),
        verdict=verdicts.pop() if len(verdicts) == 1 else undecided,
    )


def _require_equal(values: list[Any], what: str) -> None:
    if any(value != values[0] for value in values):
        raise _differs(what, values)


def _differs(what: str, values: list[Any]) -> ValueError:
    return ValueError(
        f"pool: {what} differ between processes: {values}; must be equal, since numbers are merged "
        "place by place; leave less to the time that is left, or record in one process."
    )
