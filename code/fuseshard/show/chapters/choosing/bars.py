"""Memory and step time of layouts, one lying bar each."""

from __future__ import annotations

from collections.abc import Sequence

from fuseshard import palette
from fuseshard.distributed.planning.memory import memory
from fuseshard.distributed.planning.records import Cluster, Degrees, Memory, ModelShape
from fuseshard.distributed.planning.step_time import times
from fuseshard.palette import Mark
from fuseshard.show.chapters.compile_time.bars import Part, stacked_bars
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.numbers import number, size
from fuseshard.show.planner.layouts import GIB
from fuseshard.show.planner.words import layout_name, short_name
from fuseshard.show.records import Figure, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, word

KEY = word("Names: DP×FSDP×TP×PP, micro-batches, and r for recomputing.")
_PARTS: tuple[tuple[Word, str, Mark], ...] = (
    (word("weights, gradients, optimizer"), "state_bytes", palette.UPDATE),
    (word("gathered by FSDP"), "gathered_bytes", palette.COMMUNICATION),
    (word("activations"), "activation_bytes", palette.FORWARD),
)


def memory_bars(model: ModelShape, cluster: Cluster, layouts: Sequence[Degrees]) -> Figure:
    """Draw what the fullest GPU of each layout holds, and a line where its memory ends.

    Args:
        model: the shape.
        cluster: the machines.
        layouts: from the top; they needn't fit.
    """
    held = [memory(model, degrees) for degrees in layouts]
    names: list[Text] = [short_name(degrees) for degrees in layouts]
    drawing = FigureBuilder("memory-by-layout", height=150 + 42 * len(layouts))
    drawing.x_axis(word("memory (GiB)"), rangemode="tozero")
    drawing.rows(names)
    drawing.layout |= {"barmode": "overlay", "bargap": 0.3}
    ends = [0.0] * len(layouts)
    for label, field, mark in _PARTS:
        lengths = [getattr(one, field) / GIB for one in held]
        drawing.bars(
            label,
            lengths,
            names,
            mark,
            hover=[size(length * GIB) for length in lengths],
            base=list(ends),
            orientation="h",
        )
        ends = [end + length for end, length in zip(ends, lengths, strict=True)]
    drawing.bracket(0, cluster.usable_bytes / GIB, word("fits"))
    fitting = sum(one.total_bytes <= cluster.usable_bytes for one in held)
    return drawing.build(
        caption=word(
            "What the fullest GPU would hold: {fitting} of {count} layouts stay below {usable} "
            "GiB, the part of its memory that may be filled. {key}",
            key=KEY,
            fitting=fitting,
            count=len(layouts),
            usable=number(cluster.usable_bytes / GIB),
        ),
        alt=word("{count} lying bars of three parts over a shaded range.", count=len(layouts)),
        table=_memory_table([layout_name(degrees) for degrees in layouts], held),
    )


def _memory_table(names: Sequence[Text], held: Sequence[Memory]) -> Table:
    table = TableBuilder("memory-by-layout-table", word("The parts of each bar."))
    table.texts(word("Layout"), names)
    for label, field, _ in _PARTS:
        table.numbers(label, [getattr(one, field) / GIB for one in held], "GiB")
    table.numbers(word("in all"), [one.total_bytes / GIB for one in held], "GiB")
    return table.build()


def step_bars(model: ModelShape, cluster: Cluster, layouts: Sequence[Degrees]) -> Figure:
    """Draw where the seconds of a step go, one bar a layout.

    Args:
        model: the shape.
        cluster: the machines.
        layouts: from the top; they needn't fit.
    """
    found = [times(model, cluster, degrees) for degrees in layouts]
    messages = [t.tensor_s + t.pipeline_s + t.shard_s + t.replicate_s for t in found]
    return stacked_bars(
        "step-by-layout",
        word("Layout"),
        [short_name(degrees) for degrees in layouts],
        [
            Part(word("computing"), palette.FORWARD, [t.compute_s for t in found]),
            Part(word("messages"), palette.COMMUNICATION, messages),
            Part(word("bubble"), palette.IDLE, [t.bubble_s for t in found]),
        ],
        caption=word(
            "Where the seconds of a step go, by the planner's arithmetic: from {fastest} s to "
            "{slowest} s on the same GPUs. {key}",
            key=KEY,
            fastest=number(min(t.step_s for t in found)),
            slowest=number(max(t.step_s for t in found)),
        ),
        alt=word("{count} lying bars of up to three parts.", count=len(layouts)),
    )
