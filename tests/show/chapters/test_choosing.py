"""The chapter's drawings, and what its prose tells a reader to try. Oracle: the planner itself."""

from dataclasses import replace

import pytest

from fuseshard.distributed.planner import survey
from fuseshard.distributed.planning.communication import traffic
from fuseshard.distributed.planning.memory import memory
from fuseshard.distributed.planning.presets import cluster_preset, model_preset
from fuseshard.distributed.planning.records import Degrees
from fuseshard.distributed.planning.step_time import times
from fuseshard.show.chapters.choosing.bars import memory_bars, step_bars
from fuseshard.show.chapters.choosing.tables import axis_table, ledger_table, side_by_side

LLAMA = model_preset("llama3-70b")
FOUR = cluster_preset("h200x8", num_nodes=4)
LAYOUTS = [Degrees(32, 1, 1, 1, 16, False), Degrees(1, 8, 4, 1, 64, False)]


def lengths(figure) -> list[float]:
    """The whole length of each bar, by its name."""
    bars: dict[str, float] = {}
    for trace in figure.figure["data"]:
        for name, length in zip(trace["y"], trace["x"], strict=True):
            bars[name] = bars.get(name, 0.0) + length
    return list(bars.values())


def test_memory_bars_are_as_long_as_what_is_held() -> None:
    figure = memory_bars(LLAMA, FOUR, LAYOUTS)
    held = [memory(LLAMA, degrees).total_bytes / 2**30 for degrees in LAYOUTS]
    assert lengths(figure) == pytest.approx(held)
    assert "1 of 2 layouts stay below 127 GiB" in str(figure.caption)


def test_step_bars_are_as_long_as_steps() -> None:
    figure = step_bars(LLAMA, FOUR, LAYOUTS)
    steps = [times(LLAMA, FOUR, degrees).step_s for degrees in LAYOUTS]
    assert lengths(figure) == pytest.approx(steps)


def test_the_ledger_adds_up() -> None:
    rows = [row[1]["number"] for row in ledger_table(LLAMA).to_json()["rows"]]
    assert sum(rows[:3]) == pytest.approx(rows[3])
    assert rows[5] < rows[4] / 16


def test_each_axis_sends_its_own_traffic() -> None:
    rows = axis_table(LLAMA, 8).to_json()["rows"]
    shards = traffic(LLAMA, Degrees(1, 8, 1, 1, 64, False)).shard_bytes
    assert rows[1][3]["number"] == shards / 1e9
    sent = [row[3]["number"] for row in rows]
    assert sent.index(min(sent)) == 3


def test_side_by_side_names_the_limit_of_each() -> None:
    table = side_by_side(LLAMA, FOUR, LAYOUTS, name="both").to_json()
    assert [row[-1]["msgid"] for row in table["rows"]] == [
        "none of note",
        "sums of TP, inside nodes",
    ]


def test_three_nodes_take_nothing_until_the_batch_divides_by_three() -> None:
    three = cluster_preset("h200x8", num_nodes=3)
    found = survey(LLAMA, three)
    assert (found.feasible, found.too_large) == ((), ())
    assert survey(replace(LLAMA, global_batch=480), three).feasible


def test_slow_links_between_nodes_bring_a_pipeline() -> None:
    assert survey(LLAMA, FOUR).feasible[0].degrees.pp == 1
    slow = replace(FOUR, between_bytes_per_s=5e9)
    assert survey(LLAMA, slow).feasible[0].degrees.pp > 1


def test_short_sequences_need_less_tp() -> None:
    best, short = (
        survey(model, FOUR).feasible[0] for model in (LLAMA, replace(LLAMA, sequence=4096))
    )
    assert short.degrees.tp < best.degrees.tp
    assert (best.limit, short.limit) == ("tensor inside", "compute")
