"""Draw the times of an optimizer's step, and of a training step in two precisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from fuseshard.compiler.training.records import OptimizerTimes
from fuseshard.measure.records import Comparison
from fuseshard.measure.statistics import paired_ratio
from fuseshard.show.cards import origin_line
from fuseshard.show.chapters.training.words import (
    nothing_recorded,
    optimizer_variants,
    precision_variants,
    variant_finding,
)
from fuseshard.show.charts.comparison import comparison_figure, finding
from fuseshard.show.charts.variants import Variant, verdict_word
from fuseshard.show.choices import Choice, choose
from fuseshard.show.numbers import number
from fuseshard.show.records import Figure, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Word, word


class HasTimes(Protocol):
    """The outcome of the optimizers' experiment, as `measure.experiments` makes it."""

    experiment_id: str

    @property
    def available(self) -> OptimizerTimes | None:
        """The result; None if it isn't recorded yet."""


def optimizer_choice(live: OptimizerTimes, outcome: HasTimes) -> Choice | Figure:
    """Show the ways to do AdamW's step on this CPU, and on a GPU where that is recorded.

    Args:
        live: measured while the page is built.
        outcome: of the experiment, called on any machine.
    """
    here = optimizer_figure("optimizers-here", live)
    if outcome.available is None:
        return here
    recorded = optimizer_figure("optimizers-gpu", outcome.available)
    options = [(word("this CPU"), here), (word("a GPU (recorded)"), recorded)]
    return choose("optimizers", word("Where AdamW's step runs"), options)


def optimizer_figure(name: str, times: OptimizerTimes) -> Figure:
    """Draw the ways to do AdamW's step.

    Args:
        name: lower-case words joined by hyphens, unique on its page.
        times: live or recorded.
    """
    subject = word(
        "A step of AdamW over {tensors} parameters with {elements} numbers",
        tensors=times.num_tensors,
        elements=number(times.num_elements),
    )
    known = optimizer_variants()
    figure = comparison_figure(name, times.comparison, subject=subject, variants=known)
    table = _steady_table(f"{name}-table", times.comparison, subject=subject, known=known)
    return replace(figure, table=table)


def optimizer_finding(times: OptimizerTimes | None, name: str) -> Word:
    """Say in a clause what was measured of one way against the loop over parameters.

    Args:
        times: live or recorded; None if it isn't recorded yet.
        name: which way.
    """
    if times is None:
        return nothing_recorded()
    return variant_finding(times.comparison, name, optimizer_variants())


def gpu_finding(times: OptimizerTimes | None) -> Word:
    """Say in two clauses what was recorded of fused=True and of the compiled optimizer.

    Args:
        times: recorded; None if it isn't yet.
    """
    if times is None:
        return nothing_recorded()
    return word(
        "over {tensors} parameters {fused}, and {compiled}",
        tensors=times.num_tensors,
        fused=optimizer_finding(times, "fused"),
        compiled=optimizer_finding(times, "compiled"),
    )


def powers_finding(times: OptimizerTimes) -> Word:
    """Say in a clause what it is worth to keep the powers out of the loop.

    Args:
        times: live or recorded.
    """
    known = optimizer_variants()
    inside, outside = (times.comparison[f"powers {place}"] for place in ("inside", "outside"))
    ratio = paired_ratio(inside.rounds_s, outside.rounds_s)
    compared = replace(outside, ratio=ratio)
    labels = (known["powers inside"].in_sentence, known["powers outside"].in_sentence)
    return finding(compared, ratio, *labels)


def precision_table(comparison: Comparison) -> Table:
    """Show a training step in two precisions, eager and compiled.

    Args:
        comparison: from `compiler.training.precision.precision_times`.
    """
    subject = word("The published step with a narrower middle")
    return _steady_table("precisions", comparison, subject=subject, known=precision_variants())


def precision_finding(comparison: Comparison, name: str) -> Word:
    """Say in a clause what was measured of one precision against eager mode in float32.

    Args:
        comparison: as `precision_table` takes it.
        name: which variant.
    """
    return variant_finding(comparison, name, precision_variants())


def _steady_table(
    name: str, comparison: Comparison, *, subject: Word, known: Mapping[str, Variant]
) -> Table:
    """Show medians, quartiles and verdicts, and no first calls: a cache may have served them."""
    timings = comparison.timings
    ratios = [timing.ratio for timing in timings]
    table = TableBuilder(name, word("{subject}: times of one call.", subject=subject))
    table.texts(word("Variant"), [known[timing.name].label for timing in timings])
    table.seconds(word("Median"), [timing.median_s for timing in timings])
    table.seconds(word("Lower quartile"), [timing.low_s for timing in timings])
    table.seconds(word("Upper quartile"), [timing.high_s for timing in timings])
    table.numbers(word("Ratio to the first"), [r.median if r else None for r in ratios])
    table.numbers(word("Ratio, at least"), [r.low if r else None for r in ratios])
    table.numbers(word("Ratio, at most"), [r.high if r else None for r in ratios])
    table.texts(word("Verdict"), [verdict_word(timing.verdict) for timing in timings])
    return table.build(origin=origin_line(comparison.origin, num_threads=comparison.num_threads))
