"""Tables of the chapter on tensor parallelism, from differences, counts and sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from fuseshard.show.numbers import magnitude
from fuseshard.show.records import Cell, Column, Number, Source, Table
from fuseshard.show.sources import annotated_source, on
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, plain, word

_ALL_DIGITS = 12
"""more than any count of bytes here has"""

BlockBytes = tuple[int, int, float, float, float]
"""ranks; tokens in the step; bytes that a rank sent for one block by formula, meter, kernel"""
Saved = tuple[str, int, int, float]
"""variant; ranks; bytes saved for backward on a rank; bytes that a rank sent"""
Shares = tuple[str, int, int, tuple[int, ...] | None, tuple[int, ...] | None]
"""what is cut ("heads", "vocabulary"); its size; ranks; parts by hand and by DTensor, or None"""

_VARIANTS = {
    "alone": word("one process"),
    "whole": word("by hand"),
    "sharded": word("by hand, sequence parallel"),
    "regathered": word("by hand, sequence parallel, gathered twice"),
    "library": word("DTensor"),
    "library_sequence": word("DTensor, sequence parallel"),
    "no_f": word("by hand without f"),
    "contiguous": word("by hand, qkv cut without regard to heads"),
}
WAYS = {
    "claimed": word("X broadcast, outputs concatenated"),
    "columns": word("X already there, outputs concatenated"),
    "pair": word("columns, then rows: two products"),
}
"""ways to multiply by a matrix that is cut"""
_CUTS = {"heads": word("attention heads"), "vocabulary": word("tokens of the vocabulary")}


class Difference(Protocol):
    """What is read of `distributed.equivalence.Difference`."""

    @property
    def absolute(self) -> float: ...
    @property
    def in_epsilons(self) -> float: ...
    def is_rounding(self, num_terms: int) -> bool: ...


def difference_table(
    differences: Mapping[tuple[str, int], Mapping[object, Difference]], *, num_terms: int
) -> Table:
    """Judge the largest differences from one process: rounding or bug.

    Args:
        differences: (variant, ranks) -> dtype -> largest difference; the same dtypes for each.
        num_terms: so many epsilons are rounding.

    Raises:
        ValueError: a variant has no name here.
    """
    dtypes = list(next(iter(differences.values())))
    columns = [Column(word("Variant")), Column(word("Ranks"), numeric=True)]
    for name in (str(dtype).removeprefix("torch.") for dtype in dtypes):
        columns += [Column(plain(name), numeric=True), Column(plain(f"{name} (ε)"), numeric=True)]
    rows: list[tuple[Cell, ...]] = []
    for (variant, ranks), found in differences.items():
        row: list[Cell] = [_name(variant, _VARIANTS), Number(ranks, str(ranks))]
        for dtype in dtypes:
            row += [_magnitude(found[dtype].absolute), _magnitude(found[dtype].in_epsilons)]
        is_rounding = all(one.is_rounding(num_terms) for one in found.values())
        rows.append((*row, word("rounding") if is_rounding else word("bug")))
    return Table(
        name="tensor-parallel-differences",
        caption=word(
            "Largest difference of loss, logits and gradients from those of one process, also in "
            "epsilons (ε); up to {terms} ε are rounding.",
            terms=num_terms,
        ),
        columns=(*columns, Column(word("Verdict"))),
        rows=tuple(rows),
    )


def block_bytes_table(counts: Sequence[BlockBytes]) -> Table:
    """Put the bytes counted for one block beside the formula.

    Args:
        counts: one a run, see `BlockBytes`.
    """
    table = TableBuilder(
        "block-bytes",
        word(
            "Bytes that one rank sends for one block in one training step: by the formula, by the "
            "meter's count and by the kernel's."
        ),
    )
    table.counts(word("Ranks"), [ranks for ranks, *_ in counts])
    table.counts(word("Tokens"), [tokens for _, tokens, *_ in counts])
    for title, place in ((word("Formula"), 2), (word("Meter"), 3), (word("Kernel"), 4)):
        table.counts(title, [_whole(count[place]) for count in counts], unit="B")
    return table.build()


def saved_table(saved: Sequence[Saved], activation_bytes: int) -> Table:
    """Compare what a forward pass keeps on a rank, and what the step sends.

    Args:
        saved: one a variant and number of ranks, see `Saved`.
        activation_bytes: size of one activation of all tokens, [B, T, D].
    """
    table = TableBuilder(
        "saved-activations",
        word(
            "What one block keeps on a rank for its backward pass, also in activations of {size} "
            "bytes, and what a rank sends for it in a step.",
            size=activation_bytes,
        ),
    )
    table.texts(word("Variant"), [_name(variant, _VARIANTS) for variant, *_ in saved])
    table.counts(word("Ranks"), [ranks for _, ranks, *_ in saved])
    table.counts(word("Kept"), [num_bytes for _, _, num_bytes, _ in saved], unit="B")
    in_activations = [num_bytes / activation_bytes for _, _, num_bytes, _ in saved]
    table.numbers(word("Activations"), in_activations, significant=4)
    table.counts(word("Sent"), [_whole(sent) for *_, sent in saved], unit="B")
    return table.build()


def product_table(sent: Mapping[tuple[str, int], tuple[int, int]]) -> Table:
    """Show what is sent for a product with a large matrix, three ways.

    Args:
        sent: ("claimed", "columns" or "pair", ranks) -> bytes that a rank sends forward and
            backward.
    """
    table = TableBuilder(
        "product-bytes", word("Bytes that a rank sends for a product whose matrix is cut.")
    )
    table.texts(word("Way"), [_name(way, WAYS) for way, _ in sent])
    table.counts(word("Ranks"), [ranks for _, ranks in sent])
    table.counts(word("Forward"), [forward for forward, _ in sent.values()], unit="B")
    table.counts(word("Backward"), [backward for _, backward in sent.values()], unit="B")
    return table.build()


def shares_table(shares: Sequence[Shares]) -> Table:
    """Show how a size that the ranks don't divide is shared out, by hand and by DTensor.

    Args:
        shares: one a size, see `Shares`; None means that there are none.
    """
    table = TableBuilder(
        "uneven-shares", word("Parts of sizes that the number of ranks doesn't divide.")
    )
    table.texts(word("What is cut"), [_name(what, _CUTS) for what, *_ in shares])
    table.counts(word("Size"), [size for _, size, *_ in shares])
    table.counts(word("Ranks"), [ranks for _, _, ranks, *_ in shares])
    refused, failed = word("refused before it starts"), word("fails in the forward pass")
    table.texts(word("By hand"), [_parts(hand, refused) for *_, hand, _ in shares])
    table.texts(word("DTensor"), [_parts(library, failed) for *_, library in shares])
    return table.build()


def mistyped_message(message: str) -> Source:
    """Show what torch says of a plan's key that matches nothing, with notes on what matters.

    Args:
        message: the warning's text up to the module that it prints.

    Raises:
        ValueError: the text lacks what the notes hang on (torch has changed it).
    """
    lines = message.replace(": no", ":\nno").replace(" in module", "\nin module")
    return annotated_source(
        "mistyped-key",
        word("What torch says of a key that matches nothing."),
        lines,
        language="text",
        folded=False,
        notes=[
            on("could not be resolved", word("The key, with its missing letter.")),
            on("no submodule", word("The part of it that fits no name at this level.")),
        ],
    )


def _name(key: str, names: Mapping[str, Word]) -> Word:
    if key not in names:
        raise ValueError(
            f"tensor_parallel tables: got {key!r}, must be one of {sorted(names)} (each edition "
            "has a name for these); rename it or add a name"
        )
    return names[key]


def _magnitude(value: float) -> Number:
    return Number(value, magnitude(value))


def _parts(parts: tuple[int, ...] | None, otherwise: Word) -> Text:
    return otherwise if parts is None else plain(" + ".join(str(part) for part in parts))


def _whole(value: float) -> int:
    """A count of bytes as an integer.

    Raises:
        ValueError: it isn't whole.
    """
    if not float(value).is_integer():
        raise ValueError(
            f"tensor_parallel tables: got {value} bytes, must be a whole number (a mean over the "
            "ranks is one where the ranks divide the tensor); choose such sizes"
        )
    return int(value)
