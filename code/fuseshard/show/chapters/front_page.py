"""What the book's first page shows: one fused chain against its size."""

from __future__ import annotations

from fuseshard.measure.records import Sweep
from fuseshard.show.charts.sweep import break_even_finding, sweep_figure
from fuseshard.show.charts.variants import known_variants
from fuseshard.show.records import Figure
from fuseshard.show.words import Word, word


def chain_figure(sweep: Sweep) -> Figure:
    """Draw a chain of elementwise operations, eager against compiled, by array size.

    Args:
        sweep: variants "eager" and "compiled" over numbers of elements.
    """
    return sweep_figure(
        "chain-by-size",
        sweep,
        subject=word("Six elementwise operations, run one by one or fused into one loop"),
        size=word("elements"),
    )


def chain_finding(sweep: Sweep) -> Word:
    """Say in one clause where fusing the chain pays on the machine that measured it.

    Args:
        sweep: as `chain_figure` takes it.
    """
    known = known_variants()
    labels = (known["eager"].in_sentence, known["compiled"].in_sentence)
    return break_even_finding(sweep, "compiled", labels, word("elements"))
