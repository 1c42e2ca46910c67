"""Draw what fusion is worth: the chain at growing sizes, and the case where it loses."""

from __future__ import annotations

from fuseshard import palette
from fuseshard.measure.records import Comparison, Sweep
from fuseshard.palette import Mark
from fuseshard.show.charts.comparison import comparison_figure, finding
from fuseshard.show.charts.sweep import sweep_figure
from fuseshard.show.charts.variants import Variant, known_variants
from fuseshard.show.numbers import number
from fuseshard.show.records import Figure
from fuseshard.show.words import Word, word

# Inductor's code in both, so the colour of compiled in both.
_APART = Mark(palette.COMPILED.light, palette.COMPILED.dark, "dot", "square-open", ".")


def own_variants() -> dict[str, Variant]:
    """Return labels and marks of what this section times."""
    return {
        "eager": known_variants()["eager"],
        "apart": Variant(
            word("compiled, twelve loop nests"), _APART, word("the compiled code with twelve nests")
        ),
        "fused": Variant(
            word("compiled, fused"), palette.COMPILED, word("the fused code of the defaults")
        ),
        "kept": Variant(
            word("compiled, table kept"), _APART, word("the compiled code that keeps the table")
        ),
    }


def chain_figure(sweep: Sweep) -> Figure:
    """Draw times of the chain against elements.

    Args:
        sweep: from `compiler.scheduling.worth.chain_sweep`.
    """
    return sweep_figure(
        "fusion-chain",
        sweep,
        subject=word("Twelve operations, element by element"),
        size=word("elements"),
        candidate="fused",
        variants=own_variants(),
    )


def chain_finding(sweep: Sweep, size: int) -> Word:
    """Say in a clause how the fused chain and the one with twelve nests compare at one size.

    Args:
        sweep: from `compiler.scheduling.worth.chain_sweep`.
        size: one of its sizes.
    """
    point = next(point for point in sweep.points if point.size == size)
    known = own_variants()
    timing, ratio = point.comparison.candidate("fused")
    return word(
        "with {size} elements, {finding}",
        size=number(size),
        finding=finding(timing, ratio, known["apart"].in_sentence, known["fused"].in_sentence),
    )


def lgamma_figure(comparison: Comparison) -> Figure:
    """Draw the costly table summed twice: eager, fused, and kept.

    Args:
        comparison: from `compiler.scheduling.worth.lgamma_comparison`.
    """
    return comparison_figure(
        "fusion-lgamma",
        comparison,
        subject=word("lgamma, summed over rows and over columns"),
        variants=own_variants(),
    )


def lgamma_finding(comparison: Comparison, name: str) -> Word:
    """Say in a clause how one compiled version compares with eager mode.

    Args:
        comparison: from `compiler.scheduling.worth.lgamma_comparison`.
        name: "fused" or "kept".
    """
    known = own_variants()
    timing, ratio = comparison.candidate(name)
    return finding(timing, ratio, known["eager"].in_sentence, known[name].in_sentence)
