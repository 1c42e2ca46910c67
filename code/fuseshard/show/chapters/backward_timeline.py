"""Draw backward passes of DDP: gradients as they become ready, buckets as they are reduced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from fuseshard import palette
from fuseshard.measure import records as measured
from fuseshard.show.cards import origin_line
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.numbers import duration, size
from fuseshard.show.records import Figure, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, word

_MS = 1e-3


class Gradient(Protocol):
    """What is read of `distributed.ddp_timeline.GradientReady`."""

    @property
    def name(self) -> str: ...
    @property
    def num_bytes(self) -> int: ...
    @property
    def ready_s(self) -> float: ...


class Bucket(Protocol):
    """What is read of `distributed.ddp_timeline.BucketReduced`."""

    @property
    def index(self) -> int: ...
    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def num_bytes(self) -> int: ...
    @property
    def launched_s(self) -> float: ...
    @property
    def reduced_s(self) -> float: ...


class Timeline(Protocol):
    """What is read of `distributed.ddp_timeline.BackwardTimeline`."""

    @property
    def step(self) -> int: ...
    @property
    def bucket_cap_bytes(self) -> int: ...
    @property
    def gradients(self) -> Sequence[Gradient]: ...
    @property
    def buckets(self) -> Sequence[Bucket]: ...
    @property
    def last_ready_s(self) -> float: ...
    @property
    def backward_s(self) -> float: ...


def bucket_timeline(timelines: Sequence[Timeline], environment: measured.Environment) -> Figure:
    """Draw when gradients were ready and when buckets were reduced, one group a timeline.

    Args:
        timelines: backward passes recorded by `distributed.ddp_timeline.BackwardRecorder`.
        environment: where they were recorded, for the line below the figure.
    """
    num_rows = sum(2 + len(timeline.buckets) for timeline in timelines)
    drawing = FigureBuilder("bucket-timeline", height=110 + 34 * num_rows)
    labels: dict[int, Word] = {}
    places = []
    row = 0
    for timeline in timelines:
        drawing.note(0.0, row, _setting(timeline), xanchor="left", font={"weight": 700})
        labels[row + 1] = word("gradients")
        for bucket in timeline.buckets:
            labels[row + 2 + bucket.index] = word("bucket {index}", index=bucket.index)
        places.append((row + 1, timeline))
        row += 2 + len(timeline.buckets)
    _draw_timelines(drawing, places)
    drawing.x_axis(word("time since backward began (ms)"), rangemode="tozero")
    drawing.layout["yaxis"] = {
        "tickvals": list(labels),
        "ticktext": [drawing.say(label) for label in labels.values()],
        "range": [num_rows - 0.4, -0.6],
        "automargin": True,
        "fixedrange": True,
        "zeroline": False,
    }
    return drawing.build(
        caption=word(
            "A bucket leaves when its last gradient is ready. With several buckets, all but the "
            "last leave while gradients are still being computed; a single bucket has to wait "
            "for the last gradient."
        ),
        alt=word(
            "Timeline of {count} backward passes, each with a row of points for gradients and a "
            "bar for each bucket from its departure to the arrival of the average.",
            count=len(timelines),
        ),
        table=_timeline_table(timelines),
        origin=origin_line(measured.Origin(is_live=True, environment=environment), num_threads=1),
    )


def _setting(timeline: Timeline) -> Word:
    return word("cap {cap}, step {step}", cap=size(timeline.bucket_cap_bytes), step=timeline.step)


def _draw_timelines(drawing: FigureBuilder, places: Sequence[tuple[int, Timeline]]) -> None:
    """Add three traces: points for gradients, bars for buckets, bars for waiting."""
    gradients = [(row, gradient) for row, line in places for gradient in line.gradients]
    drawing.points(
        word("gradient ready"),
        [gradient.ready_s / _MS for _, gradient in gradients],
        [row for row, _ in gradients],
        palette.BACKWARD,
        hover=[f"{g.name}: {size(g.num_bytes)}, {duration(g.ready_s)}" for _, g in gradients],
    )
    buckets = [(row + 1 + bucket.index, bucket) for row, line in places for bucket in line.buckets]
    _spans(
        drawing,
        word("bucket being reduced"),
        [(row, bucket.launched_s, bucket.reduced_s) for row, bucket in buckets],
        palette.COMMUNICATION,
        sizes=[size(bucket.num_bytes) for _, bucket in buckets],
    )
    waits = [(row, line.last_ready_s, line.backward_s) for row, line in places]
    _spans(drawing, word("waiting for the last bucket"), waits, palette.IDLE)


def _spans(
    drawing: FigureBuilder,
    label: Word,
    spans: Sequence[tuple[int, float, float]],
    mark: palette.Mark,
    *,
    sizes: Sequence[str] | None = None,
) -> None:
    """Draw a horizontal bar for each (row, start in seconds, end in seconds)."""
    said = [f"{size_text}: " for size_text in sizes] if sizes else ["" for _ in spans]
    drawing.bars(
        label,
        [(end - start) / _MS for _, start, end in spans],
        [row for row, _, _ in spans],
        mark,
        hover=[
            f"{text}{duration(start)} → {duration(end)}"
            for text, (_, start, end) in zip(said, spans, strict=True)
        ],
        orientation="h",
        base=[start / _MS for _, start, _ in spans],
        width=0.5,
    )


def _timeline_table(timelines: Sequence[Timeline]) -> Table:
    rows = [(line, bucket) for line in timelines for bucket in line.buckets]
    table = TableBuilder("bucket-times", word("Buckets of each backward pass."))
    settings: list[Text] = [_setting(line) for line, _ in rows]
    table.texts(word("Setting"), settings)
    table.counts(word("Bucket"), [bucket.index for _, bucket in rows])
    table.counts(word("Parameters"), [len(bucket.names) for _, bucket in rows])
    table.sizes(word("Size"), [bucket.num_bytes for _, bucket in rows])
    table.seconds(word("Sent"), [bucket.launched_s for _, bucket in rows])
    table.seconds(word("Reduced"), [bucket.reduced_s for _, bucket in rows])
    table.seconds(word("Last gradient of the pass"), [line.last_ready_s for line, _ in rows])
    return table.build()
