"""Show what a call costs when there is little to do, and when compiling has paid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fuseshard import palette
from fuseshard.compiler.ledger.payback import calls_to_pay, run_needed
from fuseshard.measure.records import Comparison
from fuseshard.measure.statistics import paired_ratio
from fuseshard.palette import Mark
from fuseshard.show.charts.comparison import comparison_figure
from fuseshard.show.charts.variants import Variant, known_variants
from fuseshard.show.numbers import duration, number
from fuseshard.show.records import Figure, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, plain, word

# All three go through torch.compile, so they have the colour of compiled.
_UNGUARDED = Mark(palette.COMPILED.light, palette.COMPILED.dark, "dashdot", "diamond-open", "\\")
_CAPTURED = Mark(palette.COMPILED.light, palette.COMPILED.dark, "dash", "triangle-up-open", "x")
_WRITTEN = Mark(palette.COMPILED.light, palette.COMPILED.dark, "dot", "square-open", ".")


def path_variants() -> dict[str, Variant]:
    """Return labels and marks of the ways into one written addition."""
    return {
        **{name: known_variants()[name] for name in ("eager", "compiled")},
        "unguarded": Variant(
            word("compiled, guards dropped"),
            _UNGUARDED,
            word("the compiled version without its guards"),
        ),
        "captured": Variant(
            word("captured by Dynamo, run eagerly"),
            _CAPTURED,
            word("the captured graph run eagerly"),
        ),
        "written": Variant(
            word("written module alone"), _WRITTEN, word("the written module alone")
        ),
    }


def path_figure(paths: Comparison) -> Figure:
    """Draw what one addition costs by each way in.

    Args:
        paths: by `compiler.ledger.overhead.call_paths`.
    """
    return comparison_figure(
        "call-paths",
        paths,
        subject=word("One addition on one number"),
        variants=path_variants(),
    )


def path_parts(paths: Comparison) -> Mapping[str, float]:
    """Split a compiled call into the module, the guards, and the wrappers around both.

    Args:
        paths: by `compiler.ledger.overhead.call_paths`.

    Returns:
        Seconds of "module", "guards" and "wrappers"; they add up to the compiled call.
    """
    compiled_s, unguarded_s = paths["compiled"].median_s, paths["unguarded"].median_s
    module_s = paths["written"].median_s
    return {
        "module": module_s,
        "guards": compiled_s - unguarded_s,
        "wrappers": unguarded_s - module_s,
    }


def guard_finding(paths: Comparison) -> Word:
    """Say in a clause what part of a compiled call its guards are, if it can be told.

    Args:
        paths: by `compiler.ledger.overhead.call_paths`.
    """
    ratio = paired_ratio(paths["unguarded"].rounds_s, paths["compiled"].rounds_s)
    if ratio.verdict == "slower":
        share = 100 * (1 - 1 / ratio.median)
        return word("guards are {share} % of the call", share=number(share, 2))
    return word("the guards are too small a part of the call to be measured")


def run_finding(first_call_s: float) -> Word:
    """Say in a clause how long an eager run must be for a speed-up of half to pay."""
    return word(
        "first call {first}; a speed-up of 1.5 pays after {run}",
        first=duration(first_call_s),
        run=duration(run_needed(1.5) * first_call_s),
    )


def payback_table(speedups: Sequence[float], *, first_call_s: float, eager_s: float) -> Table:
    """Show how long a run must be for a speed-up to pay for a first call.

    Args:
        speedups: each above 1.
        first_call_s: seconds of the first, compiling call.
        eager_s: seconds of an eager call.
    """
    table = TableBuilder(
        "payback",
        word(
            "A first call of {first}, paid back by an eager call of {eager} made faster.",
            first=duration(first_call_s),
            eager=duration(eager_s),
        ),
    )
    calls = [calls_to_pay(first_call_s, eager_s, eager_s / speedup) for speedup in speedups]
    needed = [run_needed(speedup) for speedup in speedups]
    table.numbers(word("Speed-up"), list(speedups))
    table.texts(word("Calls until it has paid"), [_rounded(n) for n in calls])
    table.texts(word("Eager run at least"), [plain(duration(n * first_call_s)) for n in needed])
    table.numbers(word("In first calls"), needed)
    return table.build()


def _rounded(calls: int | None) -> Text:
    # A saving is a difference of two measured times: more than two digits would be pretence.
    return plain(number(float(calls), 2)) if calls is not None else word("never")
