"""Layouts as tables and sentences: pure data. Oracle: what `survey` found."""

from dataclasses import replace

import pytest

from fuseshard.distributed.planner import survey
from fuseshard.distributed.planning.presets import (
    CLUSTERS,
    MODELS,
    cluster_preset,
    model_preset,
)
from fuseshard.distributed.planning.records import Degrees, Limit, Reason
from fuseshard.show.html import text
from fuseshard.show.planner import words
from fuseshard.show.planner.layouts import (
    binding,
    layout_table,
    obstacle_texts,
    tally,
)
from fuseshard.show.planner.widget import PLANNER_MIME, planner_widget
from fuseshard.show.planner.words import CLUSTER_FIELDS, MODEL_FIELDS, layout_name
from tests.distributed.planning.shapes import LAB, SMALL

LLAMA = model_preset("llama3-70b")
FOUR = cluster_preset("h200x8", num_nodes=4)


def test_each_layout_is_a_row_with_its_memory_and_time() -> None:
    layouts = survey(LLAMA, FOUR).feasible[:4]
    rows = layout_table(layouts).to_json()["rows"]
    assert len(rows) == 4
    for row, layout in zip(rows, layouts, strict=True):
        assert [cell["number"] for cell in row[:5]] == list(layout.degrees[:5])
        assert row[6]["number"] == layout.memory.total_bytes / 2**30
        assert row[7]["number"] == layout.step_s


def test_what_binds_is_the_layout_that_lacks_least_memory() -> None:
    found = survey(LLAMA, FOUR)
    said = str(binding(found, FOUR))
    blocked = found.feasible[0].blocked
    assert blocked is not None
    assert said.startswith(f"Memory binds: {layout_name(blocked.degrees)} would take ")
    assert "of the 127 GiB" in said


def test_where_memory_binds_nothing_the_largest_loss_is_said() -> None:
    roomy = replace(FOUR, memory_bytes=1e15)
    assert str(binding(survey(LLAMA, roomy), roomy)).startswith("Memory keeps no faster layout")


def test_where_nothing_fits_the_nearest_miss_is_said() -> None:
    one = cluster_preset("h200x8")
    found = survey(LLAMA, one)
    assert found.nearest is not None
    assert f"the smallest, {layout_name(found.nearest.degrees)}, needs 134 GiB" in str(
        binding(found, one)
    )


def test_where_no_mesh_is_possible_the_commonest_reason_is_said() -> None:
    odd = replace(LAB, gpus_per_node=7, num_nodes=1)
    found = survey(SMALL, odd)
    assert (found.feasible, found.too_large) == ((), ())
    assert "most often because DP and FSDP don't divide the batch" in str(binding(found, odd))
    # DP 7 and FSDP 7 fail at the batch, TP 7 at the heads, PP 7 at the layers.
    assert str(tally(found)).endswith("don't divide the model: 4.")
    assert str(obstacle_texts(found)[0]) == "DP and FSDP don't divide the batch (2)"


@pytest.mark.parametrize(
    ("degrees", "name"),
    [
        (Degrees(1, 1, 1, 1, 3, False), "DP 1, micro-batches: 3"),
        (Degrees(2, 1, 4, 1, 8, True), "DP 2 · TP 4, micro-batches: 8, recomputing"),
    ],
)
def test_a_name_leaves_out_axes_of_one(degrees: Degrees, name: str) -> None:
    assert str(layout_name(degrees)) == name


def test_every_limit_and_reason_has_words() -> None:
    assert set(words.LIMITS) == set(Limit.__args__)
    assert set(words.OBSTACLES) == set(Reason.__args__)


def test_the_widget_holds_presets_words_and_the_first_table() -> None:
    widget = planner_widget("plan", model="llama3-70b", cluster="h200x8", num_nodes=4)
    bundle = widget._repr_mimebundle_()
    data = bundle[PLANNER_MIME]
    assert [known["key"] for known in data["models"]] == list(MODELS)
    assert [known["key"] for known in data["clusters"]] == list(CLUSTERS)
    assert data["planned"] == widget.table.to_json()
    assert len(data["planned"]["rows"]) == data["most_rows"]
    for fields, known in ((MODEL_FIELDS, "models"), (CLUSTER_FIELDS, "clusters")):
        assert {field.name for field in fields} <= set(data[known][0]["sizes"])
    assert "Memory binds" in bundle["text/plain"]
    assert "Memory binds" in bundle["text/html"]


def test_an_unknown_preset_is_refused_in_the_cell() -> None:
    with pytest.raises(ValueError, match="cluster: name is 'b200', must be one of"):
        planner_widget("plan", model="minigpt", cluster="b200")


def test_the_table_reads_in_a_terminal() -> None:
    said = text(layout_table(survey(LLAMA, FOUR).feasible[:2]).to_json())
    assert said.splitlines()[1].split()[:4] == ["DP", "FSDP", "TP", "PP"]
