"""Names of what the chapter on training compares, and findings that several figures share."""

from __future__ import annotations

from collections.abc import Mapping

from fuseshard import palette
from fuseshard.measure.records import Comparison
from fuseshard.palette import Mark
from fuseshard.show.charts.comparison import finding
from fuseshard.show.charts.variants import Variant
from fuseshard.show.numbers import factor
from fuseshard.show.words import Word, plain, word

CLAIMED = (1.2, 1.5)
"""speed-up that the published benchmark announces, from and to"""

# Whatever stays eager shares eager's colour, whatever Inductor wrote shares that of compiled.
_FOREACH = Mark(palette.EAGER.light, palette.EAGER.dark, "dot", "circle-open", ".")
_FUSED = Mark(palette.EAGER.light, palette.EAGER.dark, "dashdot", "diamond", "x")
_INSIDE = Mark(palette.COMPILED.light, palette.COMPILED.dark, "dot", "square-open", ".")
_OUTSIDE = Mark(palette.COMPILED.light, palette.COMPILED.dark, "dashdot", "diamond", "x")


def recorded_marks() -> tuple[Mark, ...]:
    """Return marks for several lines that were all recorded: one colour, told apart by shape."""
    light, dark = palette.RECORDED.light, palette.RECORDED.dark
    return (
        palette.RECORDED,
        Mark(light, dark, "dot", "triangle-down-open", "."),
        Mark(light, dark, "longdash", "square-open", "x"),
    )


def family_word(name: str) -> Word:
    """Name a class of the data set."""
    return {
        "network": word("network"),
        "concurrency": word("concurrency"),
        "files": word("files and formats"),
        "testing": word("testing and inspection"),
        "numbers": word("numbers and containers"),
    }[name]


def optimizer_variants() -> dict[str, Variant]:
    """Return labels and marks of the ways to do a step of AdamW."""
    return {
        "loop": Variant(
            word("loop over parameters"), palette.EAGER, word("the loop over parameters")
        ),
        "foreach": Variant(plain("foreach=True"), _FOREACH),
        "fused": Variant(plain("fused=True"), _FUSED),
        "compiled": Variant(
            word("compiled, torch.optim"), palette.COMPILED, word("the compiled torch.optim.AdamW")
        ),
        "powers inside": Variant(
            word("compiled, by hand, powers inside"),
            _INSIDE,
            word("the compiled update by hand with the powers inside"),
        ),
        "powers outside": Variant(
            word("compiled, by hand, powers outside"),
            _OUTSIDE,
            word("the compiled update by hand with the powers outside"),
        ),
    }


def precision_variants() -> dict[str, Variant]:
    """Return labels and marks of the two precisions, eager and compiled."""
    return {
        "float32 eager": Variant(
            word("eager, float32"), palette.EAGER, word("eager mode in float32")
        ),
        "float32 compiled": Variant(
            word("compiled, float32"), palette.COMPILED, word("the compiled version in float32")
        ),
        "bfloat16 eager": Variant(
            word("eager, bfloat16"), _FOREACH, word("eager mode in bfloat16")
        ),
        "bfloat16 compiled": Variant(
            word("compiled, bfloat16"), _INSIDE, word("the compiled version in bfloat16")
        ),
    }


def variant_finding(comparison: Comparison, name: str, known: Mapping[str, Variant]) -> Word:
    """Say in a clause what a comparison allows to say about a variant against its first.

    Args:
        comparison: the measurement.
        name: which variant.
        known: what sentences call the variants.
    """
    timing, ratio = comparison.candidate(name)
    baseline = known[comparison.baseline.name]
    return finding(timing, ratio, baseline.in_sentence, known[name].in_sentence)


def claim_finding(low: float, high: float) -> Word:
    """Say where a measured speed-up lies against the one that was claimed.

    Args:
        low: lower end of what was measured.
        high: upper end; equal to `low` for a single reading.
    """
    measured = (
        word("{factor}", factor=factor(low))
        if low == high
        else word("{low} to {high}", low=factor(low), high=factor(high))
    )
    ends = {"from": f"{CLAIMED[0]:g}", "to": factor(CLAIMED[1], 2)}
    if high < CLAIMED[0]:
        return word("{measured}, below the claimed {from} to {to}", measured=measured, **ends)
    if low > CLAIMED[1]:
        return word("{measured}, above the claimed {from} to {to}", measured=measured, **ends)
    if CLAIMED[0] <= low and high <= CLAIMED[1]:
        return word("{measured}, within the claimed {from} to {to}", measured=measured, **ends)
    return word(
        "{measured}, which neither confirms nor refutes the claimed {from} to {to}",
        measured=measured,
        **ends,
    )
