"""Draw the times of an optimizer's step, and of a training step in two precisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from fuseshard.compiler.training.records import OptimizerTimes
from fuseshard.measure.records import Comparison
from fuseshard.measure.statistics import paired_ratio
from fuseshard.show.beside.draw import beside, options_of
from fuseshard.show.chapters.training.words import (
    optimizer_variants,
    precision_variants,
    variant_finding,
)
from fuseshard.show.charts.comparison import comparison_figure, comparison_table, finding
from fuseshard.show.choices import Choice, choose
from fuseshard.show.numbers import duration, number
from fuseshard.show.recorded import HasResult, is_live, nothing_recorded
from fuseshard.show.records import Figure, Table
from fuseshard.show.words import Word, word


def optimizer_choice(live: OptimizerTimes, outcome: HasResult[OptimizerTimes]) -> Choice | Figure:
    """Show the ways to do AdamW's step on this CPU, and on a GPU where that is known.

    Args:
        live: measured while the page is built.
        outcome: of the experiment, called on any machine.
    """
    here = optimizer_figure("optimizers-here", live)
    if outcome.available is None:
        return here
    on_gpu = beside(outcome, partial(optimizer_figure, "optimizers-gpu"))
    if isinstance(on_gpu, Word):
        return here
    where = word("this GPU") if is_live(outcome.available) else word("a GPU (recorded)")
    options = [(word("this CPU"), here), *options_of(where, on_gpu)]
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
    return comparison_figure(
        name,
        times.comparison,
        subject=subject,
        variants=optimizer_variants(),
        has_first_calls=False,
    )


def optimizer_finding(times: OptimizerTimes | None, name: str) -> Word:
    """Say in a clause what was measured of one way against the loop over parameters.

    Args:
        times: live or recorded; None if it isn't recorded yet.
        name: which way.
    """
    if times is None:
        return nothing_recorded()
    return variant_finding(times.comparison, name, optimizer_variants())


def fastest_finding(times: OptimizerTimes, names: Sequence[str]) -> Word:
    """Say in a clause which of several ways took the least time, by its median.

    Args:
        times: live or recorded.
        names: which ways.
    """
    fastest = min(names, key=lambda name: times.comparison[name].median_s)
    label = optimizer_variants()[fastest].in_sentence
    return word(
        "of these {count}, {way} took the least time, {time}",
        count=len(names),
        way=label if isinstance(label, Word) else str(label),
        time=duration(times.comparison[fastest].median_s),
    )


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


def powers_finding(times: OptimizerTimes | None) -> Word:
    """Say in a clause what it is worth to keep the powers out of the loop.

    Args:
        times: live or recorded; None if it isn't recorded yet.
    """
    if times is None:
        return nothing_recorded()
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
    return comparison_table(
        "precisions",
        comparison,
        subject=subject,
        variants=precision_variants(),
        has_first_calls=False,
    )


def precision_finding(comparison: Comparison, name: str) -> Word:
    """Say in a clause what was measured of one precision against eager mode in float32.

    Args:
        comparison: as `precision_table` takes it.
        name: which variant.
    """
    return variant_finding(comparison, name, precision_variants())
