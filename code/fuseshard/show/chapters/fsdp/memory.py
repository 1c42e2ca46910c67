"""Draw what a rank holds in a training step, by category, beside what the formula says."""

from __future__ import annotations

from collections.abc import Sequence

from fuseshard import palette
from fuseshard.distributed.zero.formulas import model_state_bytes
from fuseshard.distributed.zero.records import ModelStates, StepMemory
from fuseshard.show.chapters.fsdp.ways import way_name
from fuseshard.show.figures import HOVER, FigureBuilder
from fuseshard.show.numbers import size, size_unit
from fuseshard.show.records import Figure, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, plain, word

_FORMULA_PIXELS = 64  # plotly draws the line 1.4 times as long
STAGES = {"ddp": 0, "zero1": 1, "zero2": 2, "zero3": 3, "fully_shard": 3}
"""way to train -> stage of ZeRO"""


def memory_figure(memories: Sequence[StepMemory], num_parameters: int) -> Figure:
    """Stack the categories of each way to train; a line shows the formula for the model states.

    Args:
        memories: one a way, all of the same number of ranks.
        num_parameters: of the model, for the formula.

    Raises:
        ValueError: no memories, or several numbers of ranks.
    """
    if len({memory.world_size for memory in memories}) != 1:
        raise ValueError(
            "memory_figure: got memories of several numbers of ranks or none, must be one number "
            "(bars stand side by side); draw each number of ranks for itself"
        )
    world_size = memories[0].world_size
    drawing = FigureBuilder("memory-by-category", height=430)
    symbol, unit = size_unit([memory.peak for memory in memories])
    places = [way_name(memory.variant) for memory in memories]
    for label, mark, amounts in _categories(memories):
        heights = [amount / unit for amount in amounts]
        hover = [size(amount) for amount in amounts]
        drawing.bars(label, places, heights, mark, hover=hover)
    said = [_formula(memory, num_parameters).total for memory in memories]
    _draw_formula(drawing, places, said, unit)
    drawing.layout |= {"barmode": "stack", "bargap": 0.5}
    drawing.x_axis(word("way to train, {ranks} ranks", ranks=world_size))
    drawing.y_axis(word("held by one rank ({unit})", unit=symbol), rangemode="tozero")
    return drawing.build(
        caption=word(
            "With {ranks} ranks, each stage divides one category more by {ranks}; activations stay "
            "as they are.",
            ranks=world_size,
        ),
        alt=word(
            "{count} stacked bars, one a way to train, which get lower from the first to the "
            "fourth, with a line on top of the third part of each.",
            count=len(memories),
        ),
        table=memory_table(memories, num_parameters, name="memory-drawn"),
    )


def memory_table(
    memories: Sequence[StepMemory], num_parameters: int, *, name: str = "memory-table"
) -> Table:
    """Print what one rank held, to the byte, beside the formula.

    Args:
        memories: one a row.
        num_parameters: of the model, for the formula.
        name: unique on its page.
    """
    table = TableBuilder(name, word("What one rank held in a training step, in bytes."))
    table.texts(word("Way"), [way_name(memory.variant) for memory in memories])
    table.counts(word("Ranks"), [memory.world_size for memory in memories])
    table.counts(word("Rank"), [memory.rank for memory in memories])
    columns = {
        word("Parameters"): [memory.states.parameters for memory in memories],
        word("Gradients"): [memory.states.gradients for memory in memories],
        word("Optimizer"): [memory.states.optimizer_states for memory in memories],
    }
    for title, amounts in columns.items():
        table.counts(title, [round(amount) for amount in amounts])
    said = [_formula(memory, num_parameters).total for memory in memories]
    excess = [memory.states.total - total for memory, total in zip(memories, said, strict=True)]
    for title, amounts in ((word("Formula"), said), (word("Excess"), excess)):
        table.counts(title, [round(amount) for amount in amounts])
    table.counts(word("Gathered"), [memory.gathered for memory in memories])
    table.counts(word("Activations"), [memory.activations for memory in memories])
    table.counts(word("All tensors, at most"), [memory.peak for memory in memories])
    return table.build()


def _draw_formula(
    drawing: FigureBuilder, places: Sequence[Text], said: Sequence[float], unit: float
) -> None:
    """Draw a line across each bar, longer than the bar is wide, so that it is seen."""
    drawing.trace(
        type="scatter",
        mode="markers",
        name=drawing.say(word("formula for the first three")),
        x=[drawing.say(place) for place in places],
        y=[total / unit for total in said],
        marker={
            "symbol": "line-ew-open",
            "size": _FORMULA_PIXELS,
            "color": palette.FORMULA.light,
            "line": {"color": palette.FORMULA.light, "width": 3},
        },
        hovertext=[drawing.say(plain(size(total))) for total in said],
        hovertemplate=HOVER,
    )


def _formula(memory: StepMemory, num_parameters: int) -> ModelStates:
    return model_state_bytes(num_parameters, memory.world_size, STAGES[memory.variant])


def _categories(
    memories: Sequence[StepMemory],
) -> list[tuple[Word, palette.Mark, list[float]]]:
    """What is stacked, from the bottom up: label, mark, bytes of each way."""
    return [
        (word("parameters"), palette.FORWARD, [m.states.parameters for m in memories]),
        (word("gradients"), palette.BACKWARD, [m.states.gradients for m in memories]),
        (word("optimizer states"), palette.UPDATE, [m.states.optimizer_states for m in memories]),
        (word("gathered for a while"), palette.COMMUNICATION, [m.gathered for m in memories]),
        (word("activations"), palette.IDLE, [m.activations for m in memories]),
    ]
