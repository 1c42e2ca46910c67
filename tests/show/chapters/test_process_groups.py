"""What the chapter on process groups draws. Oracle: hand-made ranks, links and trials."""

import dataclasses

import pytest

from fuseshard.distributed.network.fit import fit_link
from fuseshard.distributed.network.predict import ring_beats_tree_from_bytes
from fuseshard.distributed.network.records import (
    ALGORITHMS,
    AllReduceTimes,
    Estimate,
    Link,
    LinkTimes,
    SupportTrial,
)
from fuseshard.measure.provenance import environment
from fuseshard.show.chapters.process_groups.link import link_figure, link_table
from fuseshard.show.chapters.process_groups.messages import mismatch_message
from fuseshard.show.chapters.process_groups.moves import moves_table, sent_table
from fuseshard.show.chapters.process_groups.names import fastest_finding, link_finding
from fuseshard.show.chapters.process_groups.races import (
    crossing_table,
    prediction_figure,
    race_figure,
    race_table,
)
from fuseshard.show.chapters.process_groups.support import support_table

LINK = Link.stated(10e-6, 1e9)


def texts(table):
    return [
        [str(getattr(cell, "text", getattr(cell, "code", cell))) for cell in row]
        for row in table.rows
    ]


def link_times(pattern, beta):
    sizes = (4, 1000, 1_000_000)
    rows = tuple(tuple(20e-6 + beta * n for n in sizes) for _ in range(8))
    return LinkTimes(
        pattern=pattern, sizes_bytes=sizes, rounds_s=rows, adding_rounds_s=rows, repeats=1
    )


@pytest.fixture
def links():
    both = [link_times("one way", 1e-9), link_times("both ways", 2e-9)]
    return [(times, fit_link(times)) for times in both]


def race(factors, size=4000, world_size=4):
    return [
        AllReduceTimes(
            algorithm=name,
            world_size=world_size,
            payload_bytes=size,
            rounds_s=tuple(factor * (1 + 0.001 * index) for index in range(9)),
        )
        for name, factor in zip(ALGORITHMS, factors, strict=True)
    ]


def test_a_row_says_what_each_rank_holds():
    table = moves_table("toy", [[1, 2], [3, 4]], {"reduce": [[4, 6], None]})
    assert texts(table) == [["before", "1 2", "3 4"], ["reduce", "4 6", "—"]]
    with pytest.raises(ValueError, match=r"\['reduce'\] have another number of ranks than the 2"):
        moves_table("toy", [[1], [2]], {"reduce": [[3]]})


def test_sent_bytes_stand_beside_their_mean_and_the_formula():
    table = sent_table({"tree": [8, 4, 6]}, {"tree": 5.5}, payload_bytes=4)
    assert texts(table) == [["tree", "8", "4", "6", "6", "5.50000"]]


def trial(collective, op, dtype, reason=""):
    return SupportTrial(
        collective=collective,
        reduce_op=op,
        dtype=dtype,
        outcome="refused" if reason else "works",
        reason=reason,
    )


def test_rows_and_columns_that_end_alike_stand_together():
    trials = [
        trial(name, op, dtype, "no such sum" if (op, dtype) == ("AVG", "int8") else "")
        for dtype in ("float32", "float64", "int8")
        for name, op in (("all_reduce", "AVG"), ("reduce", "AVG"), ("broadcast", ""))
    ]
    table = support_table(trials)
    assert [str(column.title) for column in table.columns[2:]] == ["float32, float64", "int8"]
    assert texts(table) == [
        ["all_reduce, reduce", "AVG", "yes", "no (1)"],
        ["broadcast", "—", "yes", "yes"],
    ]
    assert [str(note) for note in table.notes] == ["1: no such sum"]


def test_trials_that_are_missing_or_wrong_are_refused():
    good = [trial("all_reduce", "SUM", dtype) for dtype in ("int8", "int16")]
    assert support_table(good).rows
    with pytest.raises(ValueError, match="1 gave another result"):
        support_table([dataclasses.replace(good[0], outcome="wrong"), good[1]])
    with pytest.raises(ValueError, match="3 trials of 2 operations and 2 dtypes"):
        support_table([*good, trial("broadcast", "", "int8")])


def test_the_link_is_drawn_with_a_line_for_each_pattern(links):
    figure = link_figure(links, environment())
    names = [trace["name"] for trace in figure.figure["data"]]
    assert len(names) == 4 and "α + β S, both ways at once" in names
    assert [row[0] for row in texts(link_table(links))] == ["one way", "both ways at once"]
    assert texts(link_table(links))[1][3] == "2.00"  # ns a byte


@pytest.mark.parametrize(
    ("alpha_low", "beta_low", "said"),
    [
        (0.5, 0.5, "both numbers stand out"),
        (-0.5, 0.5, "the latency can't be told"),
        (0.5, -0.5, "the bandwidth can't be told"),
        (0.0, 0.0, "neither number can be told"),
    ],
)
def test_the_finding_says_what_noise_has_swallowed(alpha_low, beta_low, said):
    alpha, beta = (Estimate(value=1.0, low=low, high=2.0) for low in (alpha_low, beta_low))
    assert said in str(link_finding(Link(alpha_s=alpha, beta_s_per_byte=beta)))


def test_the_finding_names_who_leads():
    assert str(fastest_finding(race([3.0, 1.0, 2.0, 4.0]), 4000)) == "tree is fastest"
    level = str(fastest_finding(race([1.0, 1.0, 1.0, 4.0]), 4000))
    assert level == "between ring, tree and recursive doubling no difference was measured"


def test_the_race_divides_by_the_prediction():
    links = dict.fromkeys(ALGORITHMS[:3], LINK)
    # By the model: ring 6 * (10 + 1) us, tree 4 * (10 + 4) us, doubling 2 * (10 + 4) us.
    table = race_table(
        race([132e-6 / 1.004, 56e-6 / 1.004, 14e-6 / 1.004, 1e-3]), links, environment()
    )
    (row,) = texts(table)
    assert [row[3], row[5], row[7]] == ["2.0", "1.0", "0.50"]


def test_the_race_is_drawn_with_a_line_a_prediction_and_points_a_measurement():
    links = dict.fromkeys(ALGORITHMS[:3], LINK)
    times = [*race([132e-6, 56e-6, 28e-6, 1e-3]), *race([1e-3, 1e-3, 1e-3, 1e-3], size=400_000)]
    figure = race_figure(times, links, environment())
    modes = [trace["mode"] for trace in figure.figure["data"]]
    assert modes == ["lines"] * 3 + ["markers"] * 4
    assert len(texts(figure.table)) == 2
    # ring of 4 kB: 6 * (10 + 1) us, half of 132; tree of 400 kB: 4 * (10 + 400) us, over 1 ms.
    assert "are 0.61 to 2.0 times" in str(figure.caption)


def test_predictions_and_crossings_are_the_models():
    figure = prediction_figure(LINK, 64, [4, 4000, 4_000_000])
    assert [trace["name"] for trace in figure.figure["data"]] == list(ALGORITHMS[:3])
    assert "up to 111 KiB" in str(figure.caption)
    rows = texts(crossing_table(LINK, [2, 64]))
    assert rows[0][1] == "at any size" and rows[1][1] == "above 111 KiB"
    assert ring_beats_tree_from_bytes(LINK, 64) == pytest.approx(111 * 1024, rel=0.01)


def test_the_message_is_read_where_it_matters():
    said = (
        "RuntimeError: Detected mismatch between collectives on ranks. Rank 1 is running: "
        "CollectiveFingerPrint(OpType=BROADCAST), but Rank 0 is: (OpType=ALLREDUCE)."
        "Collectives differ in the following aspects: Op type"
    )
    source = mismatch_message(said)
    assert len(source.notes) == 4 and ").Coll" not in source.code
    with pytest.raises(ValueError, match="differ"):
        mismatch_message(said.replace("differ", "are unlike"))
