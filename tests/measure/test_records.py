"""Pure data. Oracle: records written down by hand, and JSON's own round trip."""

import json
import math
from dataclasses import dataclass, replace
from typing import Any

import pytest

from fuseshard.measure.records import (
    BreakEven,
    Comparison,
    Environment,
    Origin,
    Ratio,
    Sweep,
    SweepPoint,
    Timing,
    Verdict,
    to_json,
)
from fuseshard.measure.schema import RecordError, read

ENVIRONMENT = Environment(
    date_utc="2026-01-02T03:04:05Z",
    python="3.12.3",
    torch="2.11.0+cu130",
    triton=None,
    compiler=None,
    system="Linux x86_64",
    cpu="Some CPU",
    cpu_capability="AVX2",
    num_cores=16,
    num_threads=1,
    gpu="Some GPU 9000",
    num_gpus=1,
    driver="1.2",
    cuda="13.0",
    commit=None,
    is_modified=False,
)

RATIOS: dict[Verdict, float] = {"faster": 0.5, "slower": 2.0, "no difference measured": 1.0}


def timing(name: str, verdict: Verdict | None = None) -> Timing:
    centre = RATIOS[verdict] if verdict else 1.0
    ratio = verdict and Ratio(
        median=centre, low=0.9 * centre, high=1.1 * centre, confidence=0.99, verdict=verdict
    )
    return Timing(
        name=name,
        first_call_s=1.5,
        rounds_s=(centre, 1.25 * centre),
        calls_per_round=3,
        median_s=1.125 * centre,
        low_s=centre,
        high_s=1.25 * centre,
        ratio=ratio or None,
    )


def comparison(*verdicts: Verdict) -> Comparison:
    others = [timing(f"candidate {i}", verdict) for i, verdict in enumerate(verdicts)]
    return Comparison(timings=(timing("baseline"), *others), num_threads=1)


def a_sweep(*verdicts: Verdict) -> Sweep:
    points = (SweepPoint(size=2**i, comparison=comparison(v)) for i, v in enumerate(verdicts))
    return Sweep(
        size_name="rows",
        points=tuple(points),
        origin=Origin(is_live=True, environment=ENVIRONMENT),
    )


def test_a_sweep_survives_json_unchanged() -> None:
    before = a_sweep("slower", "no difference measured", "faster")
    after = read(Sweep, json.loads(json.dumps(to_json(before))), "file.json")
    assert after == before
    assert after != a_sweep("slower", "faster", "faster")


@pytest.mark.parametrize("bad", [math.inf, math.nan])
def test_numbers_that_json_lacks_are_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="required a finite number"):
        to_json(replace(timing("a"), first_call_s=bad))


def broken(path: tuple[Any, ...], value: object) -> dict[str, Any]:
    """A sweep's JSON with one place overwritten, or taken out if the value is Ellipsis."""
    data: Any = to_json(a_sweep("slower", "faster"))
    place = data
    for key in path[:-1]:
        place = place[key]
    if value is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return data  # type: ignore[no-any-return]


FIRST = ("points", 0, "comparison", "timings", 1)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("size_name",), 3, r"f\.json\.size_name: got 3 \(int\), required text"),
        (("size_name",), ..., r"f\.json\.size_name: got nothing, required by Sweep"),
        (("extra",), 1, r"f\.json\.extra: got 1 \(int\), required no such field in Sweep"),
        (("points",), {}, r"f\.json\.points: got \{\} \(dict\), required a list"),
        (("points", 1, "size"), 2.5, r"points\[1\]\.size: got 2\.5 \(float\), required a whole"),
        (("points", 1, "size"), True, r"points\[1\]\.size: got True \(bool\), required a whole"),
        (("points", 1, "size"), 1, r"f\.json: Sweep: got sizes \(1, 1\); required .* growing"),
        ((*FIRST, "median_s"), "1", r"timings\[1\]\.median_s: got '1' \(str\), required a finite"),
        ((*FIRST, "median_s"), math.nan, r"median_s: got nan \(float\), required a finite number"),
        ((*FIRST, "median_s"), 10**400, r"median_s: got 1000.*\(int\), required a finite number"),
        ((*FIRST, "rounds_s", 1), None, r"rounds_s\[1\]: got None \(NoneType\), required a finite"),
        ((*FIRST, "rounds_s"), [], r"timings\[1\]: Timing 'candidate 0': got 0 rounds"),
        ((*FIRST, "ratio", "verdict"), "quick", r"ratio\.verdict: got 'quick' .* one of 'faster'"),
        ((*FIRST, "ratio", "low"), 9.0, r"ratio: Ratio: got low 9\.0, .* required 0 < low"),
        (("origin", "is_live"), "yes", r"origin\.is_live: got 'yes' \(str\), required true or"),
        (("origin", "environment", "gpu"), 1, r"environment\.gpu: got 1 \(int\), required text"),
    ],
)
def test_an_error_names_file_and_field(path: tuple[Any, ...], value: object, message: str) -> None:
    assert read(Sweep, broken(("size_name",), "rows"), "f.json").size_name == "rows"
    with pytest.raises(RecordError, match=message):
        read(Sweep, broken(path, value), "f.json")


def test_whole_numbers_are_read_where_a_float_is_due() -> None:
    after = read(Sweep, broken((*FIRST, "median_s"), 3), "f.json")
    assert after.points[0].comparison["candidate 0"].median_s == 3.0


@dataclass(frozen=True)
class Call:
    name: str
    grid: tuple[int, ...]


@dataclass(frozen=True)
class Copy:
    name: str
    source: str | None


@dataclass(frozen=True)
class Steps:
    steps: tuple[Call | Copy, ...]
    numbers: tuple[complex, ...] = ()


def test_one_of_several_records_is_told_by_its_fields() -> None:
    before = Steps((Copy("c", None), Call("k", (1, 2))), (1, 0.5, True))
    assert read(Steps, json.loads(json.dumps(to_json(before))), "f.json") == before


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"steps": [{"name": "k", "grid": [1.5]}]}, r"steps\[0\]\.grid\[0\]: got 1\.5"),
        ({"steps": [{"name": "c", "sauce": "x"}]}, "no such field in Call"),
        ({"steps": [None]}, r"steps\[0\]: got None"),
        ({"steps": [], "numbers": ["1"]}, "required a number"),
    ],
)
def test_what_fits_none_of_several_records_is_named(data: object, message: str) -> None:
    with pytest.raises(RecordError, match=message):
        read(Steps, data, "f.json")


def test_a_long_value_is_cut_in_the_message() -> None:
    with pytest.raises(RecordError, match=r"got 'x{56}\.\.\. \(str\)"):
        read(Sweep, broken(("points", 0, "size"), "x" * 500), "f.json")


F: Verdict = "faster"
S: Verdict = "slower"
N: Verdict = "no difference measured"


@pytest.mark.parametrize(
    ("verdicts", "slower_until", "faster_from"),
    [
        ((S, S, F, F), 2, 4),
        ((S, N, N, F), 1, 8),
        ((S, F, N, F), 1, 8),  # one lucky size in the middle doesn't count
        ((S, F, S, S), 1, None),
        ((F, F, F, F), None, 1),
        ((N, N, N, N), None, None),
        ((S, S, S, S), 8, None),
        ((N, S, F, F), None, 4),
    ],
)
def test_break_even_is_the_bracket_that_the_verdicts_allow(
    verdicts: tuple[Verdict, ...], slower_until: int | None, faster_from: int | None
) -> None:
    found = a_sweep(*verdicts).break_even()
    assert found == BreakEven(slower_until=slower_until, faster_from=faster_from)


def test_break_even_asks_for_a_name_among_three_variants() -> None:
    points = (SweepPoint(size=1, comparison=comparison(S, F)),)
    three = Sweep(size_name="rows", points=points)
    assert three.break_even("candidate 1").faster_from == 1
    assert three.break_even("candidate 0").faster_from is None
    with pytest.raises(ValueError, match="needs exactly 2"):
        three.break_even()


def test_a_verdict_without_a_name_needs_two_variants() -> None:
    assert comparison(F).verdict == "faster"
    with pytest.raises(ValueError, match="got 3 variants and no name"):
        _ = comparison(F, S).verdict
    assert comparison(F, S)["candidate 1"].verdict == "slower"


def test_the_baseline_has_no_ratio_to_itself() -> None:
    assert comparison(F).baseline.verdict is None
    with pytest.raises(ValueError, match="'baseline' is what the others are compared with"):
        comparison(F).candidate("baseline")


def test_an_unknown_variant_is_answered_with_the_known_ones() -> None:
    with pytest.raises(KeyError, match="no variant 'x'; there are 'baseline', 'candidate 0'"):
        comparison(F)["x"]


def test_speed_up_is_the_inverse_with_its_ends_swapped() -> None:
    ratio = Ratio(median=0.5, low=0.25, high=1.0, confidence=0.99, verdict="faster")
    assert (ratio.speedup_low, ratio.speedup, ratio.speedup_high) == (1.0, 2.0, 4.0)
