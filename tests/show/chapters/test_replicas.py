"""Layer 1: who is dealt which samples, and what N ranks cost, from records made by hand.

Oracle: the numbers that went in; captions are tested on data that contradict them too.
"""

import json

import pytest

from fuseshard.show.chapters.replicas.samples import deal_table
from fuseshard.show.chapters.replicas.scaling import efficiency_figure, transfer_table
from fuseshard.show.records import Number

PADDED = [[0, 2], [1, 0]]
EVEN = [[3, 1], [0, 2]]


def column(table, title: str) -> list[object]:
    heads = [str(head.title) for head in table.columns]
    return [row[heads.index(title)] for row in table.rows]


def test_samples_stand_by_epoch_and_rank() -> None:
    table = deal_table({True: [PADDED, EVEN], False: [PADDED, PADDED]})
    assert [str(cell) for cell in column(table, "Rank 1")] == ["1, 0", "0, 2", "1, 0", "1, 0"]
    assert [str(cell) for cell in column(table, "set_epoch")] == [
        "called",
        "called",
        "not called",
        "not called",
    ]
    assert [str(cell) for cell in column(table, "Seen twice")] == ["0", "—", "0", "0"]


@pytest.mark.parametrize(("epoch", "said"), [(PADDED, "1 of 4 places"), (EVEN, "0 of 4 places")])
def test_the_caption_counts_places_of_repeated_samples(epoch, said: str) -> None:
    assert said in str(deal_table({True: [epoch]}).caption)


def test_transfers_stand_in_milliseconds() -> None:
    table = transfer_table([(1e6, 8, 0.5, 0.25), (14e9, 64, 0.001, 2.0)])
    numbers = [[cell.number for cell in row if isinstance(cell, Number)] for row in table.rows]
    assert numbers == [[1.0, 8, 500.0, 250.0], [14e3, 64, 1.0, 2000.0]]


def test_the_figure_draws_percents_in_a_line_a_setting() -> None:
    figure = efficiency_figure({"usual": [1.0, 0.5], "fixed_batch": [1.0, 0.125]}, [1, 64])
    traces = figure.figure["data"]
    assert [trace["y"] for trace in traces] == [[100.0, 50.0], [100.0, 12.5]]
    assert len({trace["line"]["dash"] for trace in traces}) == 2
    assert "64 GPUs lies between 12 % and 50 %" in str(figure.caption)
    assert [cell.number for cell in figure.table.rows[1]] == [64, 50.0, 12.5]
    assert "one card a node" in json.dumps(figure.figure)
    assert [shape["x1"] for shape in figure.figure["layout"]["shapes"]] == [8]


def test_the_caption_follows_the_data() -> None:
    figure = efficiency_figure({"usual": [1.0, 0.9], "eight_cards": [1.0, 0.99]}, [1, 16])
    assert "16 GPUs lies between 90 % and 99 %" in str(figure.caption)


def test_a_setting_without_a_name_is_refused() -> None:
    with pytest.raises(ValueError, match=r"got the settings \['other'\], must be among"):
        efficiency_figure({"other": [1.0]}, [1])
