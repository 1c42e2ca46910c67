"""Pure data. Oracle: medians and intervals of rounds that the test makes, by hand."""

from dataclasses import dataclass, replace

import pytest

from fuseshard.measure.pooling import pool
from fuseshard.measure.records import Comparison, Origin, Timing
from fuseshard.measure.statistics import paired_ratio, quartiles


@dataclass(frozen=True, kw_only=True)
class Point:
    size: int
    comparison: Comparison
    error: float
    names: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class Result:
    points: tuple[Point, ...]
    origin: Origin | None = None


def timing(name: str, rounds_s: list[float], baseline_s: list[float] | None = None) -> Timing:
    low_s, median_s, high_s = quartiles(rounds_s)
    return Timing(
        name=name,
        first_call_s=10 * median_s,
        rounds_s=tuple(rounds_s),
        calls_per_round=3,
        median_s=median_s,
        low_s=low_s,
        high_s=high_s,
        ratio=paired_ratio(baseline_s, rounds_s) if baseline_s else None,
    )


def result(slower: float, *, gain: float = 2.0, size: int = 64) -> Result:
    """A process in which everything takes `slower` times as long."""
    eager_s = [slower * (1 + 0.001 * index) for index in range(15)]
    compiled_s = [seconds / gain for seconds in eager_s]
    comparison = Comparison(
        timings=(timing("eager", eager_s), timing("compiled", compiled_s, eager_s)),
        num_threads=1,
    )
    point = Point(size=size, comparison=comparison, error=slower, names={"a": slower})
    return Result(points=(point,))


def test_rounds_of_all_processes_stand_together() -> None:
    pooled = pool([result(1.0), result(1.9), result(1.2)])
    eager, compiled = pooled.points[0].comparison.timings
    assert len(eager.rounds_s) == 45
    assert eager.median_s == pytest.approx(1.2 * 1.007)
    assert eager.low_s < 1.02 and eager.high_s > 1.89  # the spread between processes
    assert eager.first_call_s == pytest.approx(12 * 1.007)
    assert compiled.ratio is not None
    assert compiled.ratio.median == pytest.approx(0.5)
    assert compiled.ratio.verdict == "faster"
    assert pooled.points[0].error == 1.2
    assert pooled.points[0].names == {"a": 1.2}
    assert pooled.points[0].size == 64


def test_the_interval_spans_those_of_all_processes() -> None:
    singles = [result(1.0, gain=1.3), result(1.0, gain=2.0), result(1.0, gain=1.6)]
    ratios = [single.points[0].comparison.ratio for single in singles]
    pooled = pool(singles).points[0].comparison.ratio
    assert (pooled.low, pooled.high) == (1 / 2.0, pytest.approx(1 / 1.3))
    assert pooled.median == pytest.approx(1 / 1.6)
    assert all(pooled.low <= ratio.low <= ratio.high <= pooled.high for ratio in ratios)


def test_one_process_that_disagrees_takes_the_verdict_away() -> None:
    agreed = [result(1.0, gain=1.5), result(1.0, gain=1.2)]
    assert pool(agreed).points[0].comparison.verdict == "faster"
    assert pool([*agreed, result(1.0, gain=0.8)]).points[0].comparison.verdict == (
        "no difference measured"
    )


def test_one_process_stays_as_it_is() -> None:
    single = result(1.3)
    assert pool([single]) == single
    assert pool([single]) != result(1.4)


def test_results_of_different_structure_are_refused() -> None:
    two = result(1.0)
    with pytest.raises(
        ValueError, match=r"len\(Result.points\) differ between processes: \[1, 2\]"
    ):
        pool([two, replace(two, points=two.points * 2)])
    point = two.points[0]
    renamed = replace(point, names={"b": 1.0})
    with pytest.raises(ValueError, match=r"keys of Result\.points"):
        pool([two, replace(two, points=(renamed,))])
    with pytest.raises(ValueError, match="got no results"):
        pool([])
