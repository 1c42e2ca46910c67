"""Layer 1: what the chapter on tensor parallelism draws, from records made by hand.

Oracle: the numbers that went in.
"""

from dataclasses import dataclass

import pytest

from fuseshard.distributed.tensor.placements import minigpt_placements
from fuseshard.models.minigpt import MiniGPTConfig
from fuseshard.show.chapters.tensor_parallel.layout import placement_choice, placement_figure
from fuseshard.show.chapters.tensor_parallel.tables import (
    block_bytes_table,
    difference_table,
    mistyped_message,
    product_table,
    saved_table,
    shares_table,
)
from fuseshard.show.chapters.tensor_parallel.traffic import traffic_figure
from fuseshard.show.records import Code, Number

CONFIG = MiniGPTConfig(vocabulary=10, width=8, num_heads=4, num_layers=1)
WARNING = (
    "Parallelize plan key 'feed_foward.up' could not be resolved: no submodule matching token "
    "'feed_foward'"
)


@dataclass(frozen=True)
class Apart:
    """A difference of which only the number of epsilons matters."""

    in_epsilons: float
    absolute: float = 5.6e-17

    def is_rounding(self, num_terms: int) -> bool:
        return self.in_epsilons <= num_terms


def numbers(table, row=0):
    return [cell.number for cell in table.rows[row] if isinstance(cell, Number)]


def rectangles(trace):
    """Corners (left, top, right, bottom) of the closed paths of a trace."""
    xs, ys = ([], [])
    for key, found in (("x", xs), ("y", ys)):
        path = []
        for value in trace[key]:
            if value is None:
                found.append((min(path), max(path)))
                path = []
            else:
                path.append(value)
    return [(x[0], y[0], x[1], y[1]) for x, y in zip(xs, ys, strict=True)]


@pytest.mark.parametrize("num_ranks", [2, 4])
def test_filled_areas_add_up_to_each_matrix_once_and_to_each_norm_on_every_rank(num_ranks):
    figure = placement_figure(minigpt_placements(CONFIG, num_ranks), num_ranks)
    traces = figure.figure["data"]
    assert [trace["name"] for trace in traces] == [f"rank {rank}" for rank in range(num_ranks)]
    areas = [
        (right - left) * (low - top) for t in traces for left, top, right, low in rectangles(t)
    ]
    matrices = 2 * 10 * 8 + 24 * 8 + 8 * 8 + 2 * 32 * 8
    assert sum(areas) == matrices + num_ranks * 8 * 12  # the norm, drawn 12 high
    assert len(figure.figure["layout"]["shapes"]) == 7 * num_ranks
    # three stripes of qkv, and one rectangle in each of the six others
    assert [len(rectangles(trace)) for trace in traces] == [9] * num_ranks


def test_the_placements_beside_the_figure_are_pythons_slices():
    table = placement_figure(minigpt_placements(CONFIG, 2), 2).table
    cells = {row[0].code: row for row in table.rows}
    qkv = cells["blocks.0.attention.qkv.weight"]
    assert str(qkv[2]) == "rows"
    assert [cell.code for cell in qkv if isinstance(cell, Code)][2:] == [
        "0:4, 8:12, 16:20",
        "4:8, 12:16, 20:24",
    ]
    assert str(cells["blocks.0.attention.out.weight"][2]) == "columns"
    assert str(cells["blocks.0.attention_norm.weight"][2]) == "not cut"


def test_the_reader_chooses_the_number_of_ranks():
    chosen = placement_choice({n: minigpt_placements(CONFIG, n) for n in (2, 4)})
    assert [str(label) for label, _ in chosen.options] == ["2", "4"]


def test_a_difference_is_rounding_only_if_it_is_in_every_format():
    found = {
        ("whole", 2): {"torch.float32": Apart(12.0), "torch.float64": Apart(1.0)},
        ("no_f", 4): {"torch.float32": Apart(12.0), "torch.float64": Apart(12.5)},
    }
    table = difference_table(found, num_terms=12)
    assert [str(row[-1]) for row in table.rows] == ["rounding", "bug"]
    assert numbers(table)[:3] == [2, 5.6e-17, 12.0]
    assert [str(column.title) for column in table.columns[2:4]] == ["float32", "float32 (ε)"]


def test_an_unknown_variant_is_refused():
    with pytest.raises(ValueError, match="got 'fsdp', must be one of"):
        difference_table({("fsdp", 2): {"torch.float64": Apart(1.0)}}, num_terms=12)


def test_bytes_of_a_block_are_whole_numbers():
    table = block_bytes_table([(2, 32, 32768.0, 32768.0, 35072)])
    assert numbers(table) == [2, 32, 32768, 32768, 35072]
    with pytest.raises(ValueError, match=r"got 0.5 bytes, must be a whole number"):
        block_bytes_table([(2, 32, 0.5, 32768.0, 35072)])


def test_what_is_kept_is_also_counted_in_activations():
    table = saved_table([("alone", 1, 3072, 0.0), ("sharded", 2, 1536, 512.0)], 1024)
    assert numbers(table) == [1, 3072, 3.0, 0]
    assert numbers(table, 1) == [2, 1536, 1.5, 512]
    assert "1024" in str(table.caption)


def test_each_way_to_multiply_has_a_row():
    table = product_table({("claimed", 2): (3, 4), ("pair", 2): (5, 6)})
    assert [numbers(table, row) for row in (0, 1)] == [[2, 3, 4], [2, 5, 6]]


def test_shares_are_listed_or_said_to_be_none():
    table = shares_table([("heads", 6, 4, None, None), ("vocabulary", 5, 2, (3, 2), (3, 2))])
    assert [str(cell) for cell in table.rows[0][3:]] == [
        "refused before it starts",
        "fails in the forward pass",
    ]
    assert [str(cell) for cell in table.rows[1][3:]] == ["3 + 2", "3 + 2"]


def test_the_warning_is_annotated_and_a_changed_one_is_refused():
    source = mistyped_message(WARNING)
    assert [note.first for note in source.notes] == [1, 2]
    assert source.code.replace("\n", " ") == WARNING
    with pytest.raises(ValueError, match="could not be resolved"):
        mistyped_message(WARNING.replace("could not", "couldn't"))


def test_the_traffic_figure_has_both_lines_and_the_counted_points():
    line = [(8, 64.0), (64, 512.0)]
    figure = traffic_figure(line, [(8, 64.0)], 128.0, 16.4)
    formula, points = figure.figure["data"]
    assert list(zip(formula["x"], formula["y"], strict=True)) == [
        *line,
        (None, None),
        (8, 128.0),
        (64, 128.0),
    ]
    assert (points["x"], points["y"]) == ([8], [64.0])
    assert "cross at 16 tokens" in str(figure.caption)
