"""What N replicas cost: predicted times of all-reduces, and the share of a step that computes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fuseshard import palette
from fuseshard.palette import Mark
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.numbers import number
from fuseshard.show.records import Figure, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import plain, word

Transfer = tuple[float, int, float, float]
"""bytes of the gradients; ranks; seconds in a ring; seconds in a tree"""

_SETTINGS = {
    "eight_cards": (word("eight cards a node"), "dash", "square"),
    "usual": (word("one card a node"), "solid", "circle"),
    "large_buckets": (word("one card, buckets of 1 GB"), "dashdot", "diamond"),
    "more_tokens": (word("one card, four times the tokens"), "longdash", "triangle-up"),
    "fixed_batch": (word("one card, the same batch for all"), "dot", "cross"),
}
_PERCENT = 100


def transfer_table(transfers: Sequence[Transfer]) -> Table:
    """Show what one all-reduce of all gradients is predicted to take.

    Args:
        transfers: a row each, see `Transfer`.
    """
    table = TableBuilder(
        "predicted-transfers",
        word("Predicted time of one all-reduce of all gradients, with one card a node."),
    )
    table.numbers(word("Gradients"), [num_bytes / 1e6 for num_bytes, *_ in transfers], "MB")
    table.counts(word("GPUs"), [ranks for _, ranks, *_ in transfers])
    table.numbers(word("Ring"), [ring * 1e3 for *_, ring, _ in transfers], "ms")
    table.numbers(word("Tree"), [tree * 1e3 for *_, tree in transfers], "ms")
    return table.build()


def efficiency_figure(
    efficiencies: Mapping[str, Sequence[float]],
    world_sizes: Sequence[int],
    *,
    gpus_per_node: int = 8,
) -> Figure:
    """Draw the share of a step in which GPUs compute, over their number.

    Args:
        efficiencies: setting -> one number for each of `world_sizes`; settings are
            "eight_cards", "usual", "large_buckets", "more_tokens" and "fixed_batch".
        world_sizes: numbers of GPUs, ascending, powers of two.
        gpus_per_node: up to so many GPUs share a node, which the figure shades.

    Raises:
        ValueError: a setting has no name here.
    """
    unknown = sorted(set(efficiencies) - set(_SETTINGS))
    if unknown:
        raise ValueError(
            f"efficiency_figure: got the settings {unknown}, must be among {sorted(_SETTINGS)} "
            "(each edition has a name for these); rename them or add a name"
        )
    drawing = FigureBuilder("efficiency-by-ranks", height=440)
    drawing.log_axis("x", word("GPUs"), world_sizes, number)
    ticks = [drawing.say(plain(str(count))) for count in world_sizes]
    drawing.layout["xaxis"] |= {"tickvals": list(world_sizes), "ticktext": ticks}
    drawing.bracket(world_sizes[0], gpus_per_node, word("one node"))
    drawing.y_axis(word("efficiency (%)"), range=[0, 105])
    for setting, values in efficiencies.items():
        label, dash, symbol = _SETTINGS[setting]
        percents = [_PERCENT * value for value in values]
        drawing.line(label, world_sizes, percents, _mark(dash, symbol))
    last = [values[-1] for values in efficiencies.values()]
    return drawing.build(
        caption=word(
            "By the model, efficiency with {ranks} GPUs lies between {low} % and {high} %, "
            "depending on links, buckets and batch.",
            ranks=world_sizes[-1],
            low=number(_PERCENT * min(last), 2),
            high=number(_PERCENT * max(last), 2),
        ),
        alt=word(
            "{count} curves over the number of GPUs on a logarithmic axis, which begin together "
            "at 100 % and end far apart.",
            count=len(efficiencies),
        ),
        table=_efficiency_table(efficiencies, world_sizes),
    )


def _efficiency_table(
    efficiencies: Mapping[str, Sequence[float]], world_sizes: Sequence[int]
) -> Table:
    table = TableBuilder("efficiency-drawn", word("Predicted efficiency, a column a setting."))
    table.counts(word("GPUs"), list(world_sizes))
    for setting, values in efficiencies.items():
        label, *_ = _SETTINGS[setting]
        table.numbers(label, [_PERCENT * value for value in values], "%")
    return table.build()


def _mark(dash: str, symbol: str) -> Mark:
    """Draw a prediction in the colour of formulas, told apart by dash and symbol."""
    formula = palette.FORMULA
    return Mark(formula.light, formula.dark, dash, symbol, formula.pattern)
