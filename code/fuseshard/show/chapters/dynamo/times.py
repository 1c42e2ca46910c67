"""What a call costs: eager, our compiler, torch.compile, with its guards and without."""

from __future__ import annotations

from fuseshard import palette
from fuseshard.measure.records import Comparison
from fuseshard.measure.statistics import paired_ratio
from fuseshard.palette import Mark
from fuseshard.show.charts.comparison import comparison_figure, finding
from fuseshard.show.charts.variants import Variant, known_variants
from fuseshard.show.numbers import duration, number
from fuseshard.show.records import Figure
from fuseshard.show.words import Word, word

_OURS = Mark(palette.COMPILED.light, palette.COMPILED.dark, "dot", "square-open", ".")
_UNGUARDED = Mark(palette.COMPILED.light, palette.COMPILED.dark, "dot", "circle-open", ".")
_BRANCHING = Mark(palette.COMPILED.light, palette.COMPILED.dark, "dash", "x", "/")
_ONE = Mark(palette.EAGER.light, palette.EAGER.dark, "dot", "circle-open", ".")


def own_variants() -> dict[str, Variant]:
    """Return labels and marks of what this chapter times."""
    return {
        "eager": known_variants()["eager"],
        "addition": Variant(word("one addition, eager"), _ONE, word("one eager addition")),
        "ours": Variant(word("our compiler"), _OURS),
        "compiled": known_variants()["compiled"],
        "branching": Variant(
            word("our compiler, one flag less"), _BRANCHING, word("our compiler with one flag less")
        ),
        "unguarded": Variant(
            word("compiled, no guards"), _UNGUARDED, word("the compiled version without guards")
        ),
    }


def call_figure(comparison: Comparison, elements: int) -> Figure:
    """Draw the times of one call of the chapter's function.

    Args:
        comparison: of variants that have a name here.
        elements: of the result.
    """
    subject = word("blend on {n} elements", n=number(elements))
    return comparison_figure(
        f"call-{elements}", comparison, subject=subject, variants=own_variants()
    )


def call_finding(comparison: Comparison, name: str) -> Word:
    """Say in a clause what may be said of one variant against the first."""
    known = own_variants()
    timing, ratio = comparison.candidate(name)
    baseline = known[comparison.baseline.name]
    return finding(timing, ratio, baseline.in_sentence, known[name].in_sentence)


def guard_finding(comparison: Comparison, checks: int) -> Word:
    """Say in a clause what the guards cost in a call, if a difference was measured.

    Args:
        comparison: with "compiled", "unguarded" and "addition" among its variants.
        checks: number of guards.
    """
    guarded, bare = comparison["compiled"], comparison["unguarded"]
    ratio = paired_ratio(bare.rounds_s, guarded.rounds_s)
    if ratio.verdict != "slower":
        return word("no difference was measured between a call with its guards and one without")
    return word(
        "{checks} checks take {cost} of {call} a call, where one eager addition takes {addition}",
        checks=checks,
        cost=duration((ratio.median - 1) * bare.median_s, 2),
        call=duration(guarded.median_s, 2),
        addition=duration(comparison["addition"].median_s, 2),
    )
