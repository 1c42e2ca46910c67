"""What is shown of hand-written kernels' speeds (pure data). Oracle: times that the test makes."""

from dataclasses import replace
from typing import Literal

import pytest

from fuseshard.compiler.kernel_times.records import FusedPoint, FusedTimes, RowPoint, RowTimes
from fuseshard.measure.experiments import Outcome
from fuseshard.measure.records import Comparison, Origin
from fuseshard.show.chapters.triton import roofs, speeds
from fuseshard.show.records import Table
from fuseshard.show.words import Word
from tests.show.conftest import make_environment, make_timing

ORIGIN = Origin(
    is_live=False,
    environment=make_environment(gpu="NVIDIA H200", num_gpus=1, driver="570", cuda="13.0"),
)


def comparison(**seconds: float) -> Comparison:
    timings = [make_timing(name.replace("_", " "), s) for name, s in seconds.items()]
    return Comparison(timings=tuple(timings), num_threads=1)


def row_point(columns: int, by_hand_s: float) -> RowPoint:
    return RowPoint(
        task="softmax",
        dtype="bfloat16",
        rows=10,
        columns=columns,
        moved_bytes=4 * 10**9,
        comparison=comparison(copy=1e-3, by_hand=by_hand_s, Inductor=1.25e-3, eager=2e-3),
        errors={},
    )


ROWS = RowTimes(points=(row_point(1024, 1.1e-3), row_point(8192, 1.0e-3)), origin=ORIGIN)

FUSED = FusedTimes(
    points=(
        FusedPoint(
            task="attention",
            shape={"B": 4, "T": 33},
            dtype="bfloat16",
            flop=2e12,
            comparison=comparison(eager=4e-2, by_hand=1e-2, cuDNN=5e-3),
            peak_bytes={"eager": 2**30, "by hand": 2**20, "cuDNN": 2**20},
            errors={},
        ),
    ),
    origin=ORIGIN,
)


def outcome(result: object) -> Outcome[object]:
    return Outcome(experiment_id="triton.x-gpu", state="recorded", note="", available=result)


def cells(table: Table) -> list[list[str]]:
    return [[str(getattr(cell, "text", cell)) for cell in row] for row in table.rows]


def test_speeds_are_shares_of_the_copys() -> None:
    table = speeds.rows_table(outcome(ROWS))
    assert isinstance(table, Table)
    first = cells(table)[0]
    assert first[:3] == ["softmax", "bfloat16", "1\N{NARROW NO-BREAK SPACE}024"]
    assert [cell.replace("\N{NARROW NO-BREAK SPACE}", "") for cell in first[3:]] == [
        "4000",
        "90.9",
        "80.0",
        "50.0",
    ]


@pytest.mark.parametrize(
    ("share", "reached"), [(0.90, "at 2 of 2"), (0.95, "at 1 of 2"), (1.01, "at 0 of 2")]
)
def test_the_finding_counts_the_sizes_that_reach_a_share(share: float, reached: str) -> None:
    said = str(speeds.rows_finding(ROWS, share))
    assert reached in said
    assert said.endswith("and 91 % where they do worst")
    assert str(speeds.rows_finding(None, share)) == "nothing is recorded yet"


def in_two_types(single_s: float, half_s: float) -> RowTimes:
    """The same bytes as float32 and as bfloat16, in which they are twice as many numbers."""
    single = replace(row_point(1024, single_s), dtype="float32")
    return RowTimes(points=(single, row_point(1024, half_s)), origin=ORIGIN)


@pytest.mark.parametrize(
    ("half_s", "why"),
    [
        (2.2e-3, "take 1.1 times as long, so that time goes with the bytes"),
        (3.0e-3, "take 1.5 times as long, so that time goes with the numbers in part"),
        (4.0e-3, "take 2.0 times as long, so that time goes with the numbers"),
    ],
)
def test_where_both_types_miss_they_tell_bytes_from_numbers(half_s: float, why: str) -> None:
    said = str(speeds.held_back_finding(in_two_types(2e-3, half_s), "by hand", 0.95))
    assert said.startswith("softmax misses 95 % at 2 of 2 sizes: at 1024 columns in both types")
    assert said.endswith(why)


def test_where_one_type_waits_for_memory_nothing_is_concluded_from_the_other() -> None:
    """Twice the instructions may show as any ratio below two, once they take longer than memory."""
    said = str(speeds.held_back_finding(in_two_types(1.01e-3, 1.15e-3), "by hand", 0.95))
    assert said == (
        "softmax misses 95 % at 1 of 2 sizes: at 1024 columns in bfloat16 alone, where bfloat16 "
        "takes 1.1 times as long as float32"
    )
    assert "so that" not in said
    mixed = in_two_types(2e-3, 4e-3).points
    wider = [replace(one, columns=2048) for one in in_two_types(1.01e-3, 1.2e-3).points]
    both = str(speeds.held_back_finding(RowTimes(points=(*mixed, *wider)), "by hand", 0.95))
    assert "at 1024 columns in both types" in both
    assert "; at 2048 columns in bfloat16 alone" in both


def test_who_reaches_the_mark_is_held_back_by_nothing() -> None:
    fast = in_two_types(1.01e-3, 1.01e-3)
    assert str(speeds.held_back_finding(fast, "by hand", 0.95)) == "no size misses 95 %"
    assert "misses 95 % at 2 of 2" in str(speeds.held_back_finding(fast, "Inductor", 0.95))
    assert str(speeds.held_back_finding(None, "by hand", 0.95)) == "nothing is recorded yet"
    assert "in one type alone" in str(speeds.held_back_finding(ROWS, "by hand", 0.95))


def test_results_above_the_copys_speed_are_counted() -> None:
    fast = RowTimes(points=(row_point(1024, 0.98e-3), row_point(8192, 0.998e-3)), origin=ORIGIN)
    assert str(speeds.beyond_finding(fast)) == "1 of 6 results come out above 100 %, at most 102 %"
    assert str(speeds.beyond_finding(ROWS)).startswith("0 of 6")
    assert str(speeds.beyond_finding(None)) == "nothing is recorded yet"


def test_numbers_a_second_are_held_against_what_the_instructions_allow() -> None:
    """10 rows of 8192 numbers in 1.25 ms are 65.5 million a second, of 131 that are allowed."""
    said = roofs.issue_finding(ROWS, 8192, "Inductor", each=50, starts_per_s=6.5536e9)
    assert str(said) == "0.0655\N{NO-BREAK SPACE}billion numbers a second, 50 % of that limit"
    nothing = roofs.issue_finding(None, 8192, "Inductor", each=50, starts_per_s=1.0)
    assert str(nothing) == "nothing is recorded yet"


def with_rounds(fused: FusedTimes) -> FusedTimes:
    """The same with enough rounds for a verdict."""
    (point,) = fused.points
    timings = tuple(
        replace(timing, rounds_s=(timing.median_s,) * 20) for timing in point.comparison.timings
    )
    compared = replace(point.comparison, timings=timings)
    return replace(fused, points=(replace(point, comparison=compared),))


ATTENTION: Literal["attention"] = "attention"


def test_factors_are_said_where_a_difference_was_measured() -> None:
    rounds = with_rounds(FUSED)
    said = str(speeds.factor_finding(rounds, ATTENTION, "by hand", "eager"))
    assert said == "4.00× at B = 4, T = 33"
    slower = str(speeds.factor_finding(rounds, ATTENTION, "by hand", "cuDNN"))
    assert slower.startswith("0.500×")
    single_round = speeds.factor_finding(FUSED, ATTENTION, "by hand", "eager")
    assert str(single_round) == "no difference measured at B = 4, T = 33"


def test_leaders_and_memory_are_counted() -> None:
    assert str(speeds.leader_finding(with_rounds(FUSED), ATTENTION)) == "cuDNN at 1 of 1 sizes"
    assert "by hand at 1 of 1" in str(speeds.leader_finding(FUSED, ATTENTION))
    assert str(speeds.memory_finding(FUSED, ATTENTION, ("eager", "cuDNN"))) == (
        "at B = 4, T = 33, counted in what the kernel by hand takes: eager mode 1\u202f000, "
        "cuDNN 1.0"
    )
    findings = (
        speeds.factor_finding(None, ATTENTION, "by hand", "eager"),
        speeds.leader_finding(None, ATTENTION),
        speeds.memory_finding(None, ATTENTION, ("eager",)),
    )
    assert {str(one) for one in findings} == {"nothing is recorded yet"}


def test_fused_operations_have_a_row_a_way() -> None:
    table = speeds.fused_table(outcome(FUSED))
    assert isinstance(table, Table)
    ways = [row[1] for row in cells(table)]
    assert ways == ["eager mode", "by hand", "cuDNN"]
    assert cells(table)[2][0] == "attention, B = 4, T = 33"
    assert cells(table)[2][3] == "400"


def test_without_a_recording_both_say_how_to_get_one() -> None:
    for show in (speeds.rows_table, speeds.fused_table):
        shown = show(outcome(None))
        assert isinstance(shown, Word)
        assert "make record" in str(shown)
