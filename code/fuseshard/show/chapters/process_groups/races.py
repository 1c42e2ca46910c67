"""Predicted and measured times of all-reduces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fuseshard.distributed.network.predict import PREDICTED, ring_beats_tree_from_bytes
from fuseshard.distributed.network.records import ALGORITHMS, AllReduceTimes, Link
from fuseshard.distributed.network.standing import over_predicted
from fuseshard.measure import records as measured
from fuseshard.measure.records import Environment
from fuseshard.show.cards import origin_line
from fuseshard.show.chapters.process_groups.names import (
    algorithm_word,
    measured_mark,
    predicted_mark,
)
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.numbers import duration, number, size
from fuseshard.show.records import Figure, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import word


def race_table(
    times: Sequence[AllReduceTimes],
    links: Mapping[str, Link],
    environment: Environment,
    *,
    name: str = "all-reduce-times",
) -> Table:
    """Show measured times of all-reduces, and how many times the predicted one each is.

    Args:
        times: of one or more world sizes.
        links: algorithm -> the link by which it is predicted.
        environment: the machine that they were measured on.
        name: unique on its page.
    """
    rows = sorted({(found.world_size, found.payload_bytes) for found in times})
    by_key = {(t.algorithm, t.world_size, t.payload_bytes): t for t in times}
    table = TableBuilder(
        name,
        word("Measured times of all-reduces, and how many times the predicted time that is."),
    )
    table.counts(word("Ranks"), [ranks for ranks, _ in rows])
    table.counts(word("Tensor"), [num_bytes for _, num_bytes in rows], unit="B")
    for algorithm in ALGORITHMS:
        found = [by_key[(algorithm, *row)] for row in rows]
        table.seconds(algorithm_word(algorithm), [t.median_s for t in found])
        if algorithm in PREDICTED:
            ratios = [over_predicted([t], links)[algorithm, t.payload_bytes] for t in found]
            table.numbers(word("over predicted"), ratios, significant=2)
    return table.build(
        origin=origin_line(measured.Origin(is_live=True, environment=environment), num_threads=1)
    )


def race_figure(
    times: Sequence[AllReduceTimes], links: Mapping[str, Link], environment: Environment
) -> Figure:
    """Draw measured times as points and predicted ones as lines, over the size of the tensor.

    Args:
        times: of one world size.
        links: algorithm -> the link by which it is predicted.
        environment: the machine that they were measured on.
    """
    ranks = times[0].world_size
    drawing = FigureBuilder(f"race-of-{ranks}", height=460)
    sizes = sorted({found.payload_bytes for found in times})
    lines = {
        name: [predict(links[name], n, ranks).value for n in sizes]
        for name, predict in PREDICTED.items()
    }
    everything = [value for line in lines.values() for value in line]
    drawing.log_axis("x", word("size of the tensor"), sizes, size)
    drawing.log_axis(
        "y", word("time of an all-reduce"), [*everything, *(t.median_s for t in times)], duration
    )
    for name, line in lines.items():
        label = word("{name}, predicted", name=algorithm_word(name))
        drawing.line(label, sizes, line, predicted_mark(name), show=duration, mode="lines")
    for name in ALGORITHMS:
        found = sorted((t.payload_bytes, t.median_s) for t in times if t.algorithm == name)
        seen = [seconds for _, seconds in found]
        drawing.points(
            algorithm_word(name),
            [num_bytes for num_bytes, _ in found],
            seen,
            measured_mark(name),
            hover=[duration(seconds) for seconds in seen],
        )
    ratios = over_predicted(times, links).values()
    return drawing.build(
        caption=word(
            "With {ranks} ranks, measured times are {low} to {high} times the predicted ones.",
            ranks=ranks,
            low=number(min(ratios), 2),
            high=number(max(ratios), 2),
        ),
        alt=word(
            "{count} rising curves on logarithmic axes, and points beside them.",
            count=len(lines),
        ),
        table=race_table(times, links, environment, name=f"race-of-{ranks}-drawn"),
        origin=origin_line(measured.Origin(is_live=True, environment=environment), num_threads=1),
    )


def prediction_figure(link: Link, world_size: int, sizes_bytes: Sequence[int]) -> Figure:
    """Draw the predicted times of the three all-reduces by hand over the size of the tensor.

    Args:
        link: what a message costs, the same for all pairs of ranks.
        world_size: number of ranks.
        sizes_bytes: where to predict, ascending.
    """
    drawing = FigureBuilder(f"predicted-for-{world_size}", height=420)
    lines = {
        name: [predict(link, n, world_size).value for n in sizes_bytes]
        for name, predict in PREDICTED.items()
    }
    drawing.log_axis("x", word("size of the tensor"), sizes_bytes, size)
    everything = [value for line in lines.values() for value in line]
    drawing.log_axis("y", word("predicted time of an all-reduce"), everything, duration)
    table = TableBuilder(
        f"predicted-for-{world_size}-drawn", word("Predicted times of all-reduces.")
    )
    table.sizes(word("Tensor"), sizes_bytes)
    for name, line in lines.items():
        drawing.line(algorithm_word(name), sizes_bytes, line, predicted_mark(name), show=duration)
        table.seconds(algorithm_word(name), line)
    return drawing.build(
        caption=word(
            "By the model, with {ranks} ranks and links like this machine's, a tree is faster "
            "than a ring up to {cross}.",
            ranks=world_size,
            cross=size(ring_beats_tree_from_bytes(link, world_size)),
        ),
        alt=word(
            "{count} rising curves on logarithmic axes; the ring's begins highest and ends "
            "below the tree's.",
            count=len(lines),
        ),
        table=table.build(),
    )


def crossing_table(link: Link, world_sizes: Sequence[int]) -> Table:
    """Show above which size a ring is predicted to be faster than a tree.

    Args:
        link: what a message costs.
        world_sizes: numbers of ranks, each at least 2.
    """
    table = TableBuilder(
        "ring-beats-tree", word("Size above which the model finds a ring faster than a tree.")
    )
    table.counts(word("Ranks"), list(world_sizes))
    crossings = [ring_beats_tree_from_bytes(link, ranks) for ranks in world_sizes]
    table.texts(
        word("Ring faster"),
        [
            word("at any size") if cross == 0 else word("above {size}", size=size(cross))
            for cross in crossings
        ],
    )
    table.numbers(word("in units of α/β"), [cross / link.balance_bytes for cross in crossings])
    return table.build()
