"""Tables, figures and texts of the chapter on data parallelism, from differences and counts.

Its timeline of buckets is in `fuseshard.show.chapters.backward_timeline`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from fuseshard import palette
from fuseshard.show.figures import HOVER, FigureBuilder
from fuseshard.show.numbers import magnitude, number, size, size_unit
from fuseshard.show.records import Cell, Column, Figure, Number, Source, Table
from fuseshard.show.sources import annotated_source, on
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, plain, word

_ALL_DIGITS = 12  # more than any count of bytes here has
_LINE_COLUMNS = 72  # what fits beside the navigation without scrolling

StepBytes = tuple[int, int, float, float]
"""ranks; bytes of all gradients; bytes that one rank sent, by the meter; by the kernel"""
Formula = Callable[[int, int], float]
"""bytes of all gradients, ranks -> bytes that one rank sends"""

_VARIANTS = {
    "by_hand": word("by hand, average"),
    "ddp": word("DDP"),
    "ddp_weighted": word("DDP, uneven shards, weighted loss"),
    "ddp_uneven": word("DDP, uneven shards"),
    "summed": word("by hand, sum"),
}


class Difference(Protocol):
    """What is read of `distributed.equivalence.Difference`."""

    @property
    def absolute(self) -> float: ...
    @property
    def in_epsilons(self) -> float: ...
    def is_rounding(self, num_terms: int) -> bool: ...


def difference_table(
    differences: Mapping[str, Mapping[object, Difference]], *, num_terms: int
) -> Table:
    """Judge largest differences from the reference: rounding or bug.

    Args:
        differences: variant -> dtype -> largest difference; variants are "by_hand", "ddp",
            "ddp_weighted", "ddp_uneven" and "summed"; the same dtypes for each.
        num_terms: so many epsilons are rounding.

    Raises:
        ValueError: a variant has no name here.
    """
    unknown = sorted(set(differences) - set(_VARIANTS))
    if unknown:
        raise ValueError(
            f"difference_table: got the variants {unknown}, must be among {sorted(_VARIANTS)} "
            "(each edition has a name for these); rename them or add a name"
        )
    dtypes = list(next(iter(differences.values())))
    names = [str(dtype).removeprefix("torch.") for dtype in dtypes]
    heads: list[Text] = [
        *(plain(name) for name in names),
        *(plain(f"{name} (ε)") for name in names),
    ]
    rows: list[tuple[Cell, ...]] = [
        (
            _VARIANTS[variant],
            *(_magnitude(found[dtype].absolute) for dtype in dtypes),
            *(_magnitude(found[dtype].in_epsilons) for dtype in dtypes),
            _verdict(found, num_terms),
        )
        for variant, found in differences.items()
    ]
    return Table(
        name="gradient-differences",
        caption=word(
            "Largest difference of a gradient from that of one process, also in epsilons (ε); up "
            "to {terms} ε are rounding.",
            terms=num_terms,
        ),
        columns=(
            Column(word("Gradient")),
            *(Column(head, numeric=True) for head in heads),
            Column(word("Verdict")),
        ),
        rows=tuple(rows),
    )


def sent_bytes_table(
    counts: Sequence[StepBytes], formula: Formula, *, name: str = "sent-bytes"
) -> Table:
    """Put the bytes counted in one step beside the formula.

    Args:
        counts: one for each run, see `StepBytes`.
        formula: from bytes of all gradients and ranks to bytes that one rank sends.
        name: unique on its page.
    """
    table = TableBuilder(
        name,
        word(
            "Bytes that one rank sends in one training step: by the formula, by the meter's count "
            "and by the kernel's, and the kernel's excess over the formula."
        ),
    )
    table.counts(word("Ranks"), [ranks for ranks, *_ in counts])
    table.counts(word("Gradients"), [payload for _, payload, *_ in counts], unit="B")
    predicted = [formula(payload, ranks) for ranks, payload, *_ in counts]
    wires = [wire for *_, wire in counts]
    _exact_bytes(table, word("Formula"), predicted)
    _exact_bytes(table, word("Meter"), [metered for *_, metered, _ in counts])
    _exact_bytes(table, word("Kernel"), wires)
    excess = [wire - said for wire, said in zip(wires, predicted, strict=True)]
    _exact_bytes(table, word("Excess"), excess)
    return table.build()


def sent_bytes_figure(
    counts: Sequence[StepBytes], formula: Formula, *, most_ranks: int = 64
) -> Figure:
    """Draw the bytes that one rank sends against the number of ranks, one line a model size.

    Args:
        counts: as for `sent_bytes_table`.
        formula: as for `sent_bytes_table`.
        most_ranks: where the formula's lines end.
    """
    drawing = FigureBuilder("sent-bytes-by-ranks", height=430)
    ranks = [2**power for power in range(1, most_ranks.bit_length())]
    payloads = sorted({payload for _, payload, *_ in counts})
    lines = {payload: [formula(payload, count) for count in ranks] for payload in payloads}
    drawing.log_axis("x", word("ranks"), ranks, number)
    everything = [value for line in lines.values() for value in line]
    drawing.log_axis("y", word("bytes that one rank sends in a step"), everything, size)
    # Ranks and sizes both come in powers of two, so ticks do as well.
    sizes = [2**power for power in range(10, 40) if min(everything) <= 2**power <= max(everything)]
    for axis, ticks, show in (("xaxis", ranks, str), ("yaxis", sizes, _whole_size)):
        texts = [drawing.say(plain(show(tick))) for tick in ticks]
        drawing.layout[axis] |= {"tickvals": ticks, "ticktext": texts}
    _formula_lines(drawing, ranks, lines)
    drawing.points(
        word("counted by the kernel"),
        [ranks for ranks, *_ in counts],
        [wire for *_, wire in counts],
        palette.MEASURED,
        hover=[size(wire) for *_, wire in counts],
    )
    return drawing.build(
        caption=word(
            "Bytes per rank are proportional to the model and level off at twice its gradients: "
            "by the formula, from 2 to {ranks} ranks they grow by a factor of {factor}.",
            ranks=most_ranks,
            factor=number(formula(payloads[0], most_ranks) / formula(payloads[0], 2)),
        ),
        alt=word(
            "{models} parallel curves on logarithmic axes, which rise from 2 ranks on and "
            "flatten, with {points} counted points on them.",
            models=len(payloads),
            points=len(counts),
        ),
        table=sent_bytes_table(counts, formula, name="sent-bytes-drawn"),
    )


def unused_parameters_message(message: str) -> Source:
    """Show what DDP says of parameters without a gradient, with notes on what matters.

    Args:
        message: the exception's text, as torch wrote it.

    Raises:
        ValueError: the text lacks what the notes hang on (torch has changed it).
    """
    return annotated_source(
        "unused-parameters",
        word("What DDP says in the second step."),
        _wrapped(message),
        language="text",
        folded=False,
        notes=[
            # Single words, since any phrase may be cut by the end of a line.
            on("Expected", word("The first step failed; the second says so.")),
            on("producing", word("The cause: parameters without a gradient.")),
            on("indices", word("Which: counted from 0 among those that require a gradient.")),
        ],
    )


def _formula_lines(
    drawing: FigureBuilder, ranks: Sequence[int], lines: Mapping[int, Sequence[float]]
) -> None:
    """Add one trace with a gap between its lines, and each line's model at its end."""
    values = [value for line in lines.values() for value in (*line, None)]
    drawing.trace(
        type="scatter",
        name=drawing.say(word("formula")),
        mode="lines",
        x=[count for _ in lines for count in (*ranks, None)],
        y=values,
        line={"color": palette.FORMULA.light, "dash": palette.FORMULA.dash, "width": 2.5},
        hovertext=[drawing.say(plain(size(value) if value else "")) for value in values],
        hovertemplate=HOVER,
    )
    for payload, line in lines.items():
        label = word("gradients: {size}", size=size(payload))
        drawing.note(ranks[-1], line[-1], label, xanchor="right", yanchor="bottom", yshift=4)


def _exact_bytes(table: TableBuilder, title: Word, values: Sequence[float]) -> None:
    """Add bytes with all digits: integers where all are whole, else as they are."""
    if all(float(value).is_integer() for value in values):
        table.counts(title, [int(value) for value in values], unit="B")
    else:
        table.numbers(title, values, "B", significant=_ALL_DIGITS)


def _whole_size(num_bytes: int) -> str:
    """Print a power of two without decimals: 524288 is "512 KiB"."""
    symbol, unit_bytes = size_unit([num_bytes])
    return f"{int(num_bytes / unit_bytes)} {symbol}"


def _verdict(found: Mapping[object, Difference], num_terms: int) -> Word:
    is_rounding = all(difference.is_rounding(num_terms) for difference in found.values())
    return word("rounding") if is_rounding else word("bug")


def _magnitude(value: float) -> Number:
    return Number(value, magnitude(value))


def _wrapped(text: str) -> str:
    """Break long lines of a message at spaces, and leave out lines that hold nothing."""
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(textwrap.fill(line, _LINE_COLUMNS) for line in lines if line)
