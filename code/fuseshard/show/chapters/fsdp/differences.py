"""Judge trained parameters against those of one process: rounding or bug."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from fuseshard.show.chapters.fsdp.ways import way_name
from fuseshard.show.numbers import magnitude
from fuseshard.show.records import Cell, Column, Number, Source, Table
from fuseshard.show.sources import annotated_source, on
from fuseshard.show.words import Text, Word, plain, word


class Difference(Protocol):
    """What is read of `distributed.equivalence.Difference`."""

    @property
    def absolute(self) -> float: ...
    @property
    def in_epsilons(self) -> float: ...
    def is_rounding(self, num_terms: int) -> bool: ...


def parameter_table(
    differences: Mapping[str, Mapping[object, Difference]], *, num_terms: int, num_steps: int
) -> Table:
    """Print the largest difference of a parameter after some steps, and the verdict.

    Args:
        differences: way to train, or mistake -> dtype -> largest difference; the same dtypes.
        num_terms: so many epsilons are rounding.
        num_steps: steps of the optimizer that were taken.
    """
    dtypes = list(next(iter(differences.values())))
    names = [str(dtype).removeprefix("torch.") for dtype in dtypes]
    heads: list[Text] = [*map(plain, names), *(plain(f"{name} (ε)") for name in names)]
    rows: list[tuple[Cell, ...]] = [
        (
            way_name(way),
            *(_number(found[dtype].absolute) for dtype in dtypes),
            *(_number(found[dtype].in_epsilons) for dtype in dtypes),
            verdict([found[dtype].is_rounding(num_terms) for dtype in dtypes]),
        )
        for way, found in differences.items()
    ]
    return Table(
        name="parameter-differences",
        caption=word(
            "Largest difference of a parameter from that of one process after {steps} steps of "
            "AdamW, also in epsilons (ε); up to {terms} ε are rounding.",
            steps=num_steps,
            terms=num_terms,
        ),
        columns=(
            Column(word("Parameters")),
            *(Column(head, numeric=True) for head in heads),
            Column(word("Verdict")),
        ),
        rows=tuple(rows),
    )


def verdict(is_rounding: list[bool]) -> Word:
    """Say what differences in several formats mean together.

    Args:
        is_rounding: for each format, whether rounding explains the difference.
    """
    return word("rounding") if all(is_rounding) else word("bug")


def mixed_tensors_message(message: str) -> Source:
    """Show what torch says when a module is called around its hooks, with notes.

    Args:
        message: the exception's text, as torch wrote it.

    Raises:
        ValueError: the text lacks what the notes hang on (torch has changed it).
    """
    return annotated_source(
        "mixed-tensors",
        word("What a call around the hooks leads to."),
        message.replace(" got ", "\ngot ").replace(", need ", ",\nneed "),
        language="text",
        folded=False,
        notes=[
            on(r"aten\.", word("The first operator that needs a parameter.")),
            on("mixed", word("The input is whole, the parameter still a shard.")),
            on("convert", word("Misleading here: what is missing is the gather.")),
        ],
    )


def _number(value: float) -> Number:
    return Number(value, magnitude(value))
