"""Whether GPU code computes what torch computes, and where the interpreter alone would not."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fuseshard.compiler.gpu_study.records import Distances, ValueCheck
from fuseshard.show.chapters.triton.names import program_word
from fuseshard.show.charts.variants import as_value
from fuseshard.show.numbers import magnitude, number
from fuseshard.show.records import Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, plain, word


def value_table(checks: Sequence[ValueCheck]) -> Table:
    """Show how far the code written for a GPU is from the exact result, and eager mode from it.

    Args:
        checks: of code as Inductor wrote it.
    """
    caption = word("Code for a GPU, run on the CPU and held against the result in float64.")
    table = TableBuilder("gpu-values", caption)
    table.texts(word("Program"), [program_word(check.program) for check in checks])
    table.code(word("Type"), [check.dtype for check in checks])
    table.counts(word("Kernel launches"), [check.launches for check in checks])
    table.counts(word("Numbers compared"), [check.numbers for check in checks])
    table.texts(word("Largest error"), [_error(check.error) for check in checks])
    table.texts(word("of eager mode"), [_error(check.eager_error) for check in checks])
    table.texts(word("Rounding explains"), [_error(check.bound) for check in checks])
    table.texts(word("Verdict"), [_verdict(check) for check in checks])
    return table.build()


def broken_table(checks: Sequence[ValueCheck]) -> Table:
    """Show what the same comparison says of code that was broken on purpose.

    Args:
        checks: of edited code.
    """
    mistakes = _mistakes()
    caption = word("The same comparison with a mistake in the code: each has to be found.")
    table = TableBuilder("gpu-values-broken", caption)
    table.texts(word("Program"), [program_word(check.program) for check in checks])
    table.texts(
        word("Mistake"), [mistakes.get(check.edit or "", plain(check.edit)) for check in checks]
    )
    table.texts(word("Largest error"), [_error(check.error) for check in checks])
    table.texts(word("Rounding explains"), [_error(check.bound) for check in checks])
    table.texts(word("Verdict"), [_verdict(check) for check in checks])
    return table.build()


def value_finding(checks: Sequence[ValueCheck]) -> Word:
    """Say in a clause of how many programs the code is right, and how near the worst one comes.

    Args:
        checks: of code as Inductor wrote it.
    """
    right = sum(check.is_rounding for check in checks)
    worst = max(checks, key=lambda check: check.error / check.bound)
    return word(
        "{right} of {n} programs differ from the exact result by rounding alone; the worst takes "
        "{part} % of what rounding explains",
        right=right,
        n=len(checks),
        part=number(100 * worst.error / worst.bound, 2),
    )


def half_finding(checks: Sequence[ValueCheck]) -> Word:
    """Say in a clause whether fused bfloat16 code rounds less than eager mode.

    Args:
        checks: in bfloat16.
    """
    nearer = [check for check in checks if check.error < check.eager_error]
    if not nearer:
        return word("in none of {n} programs is it nearer than eager mode", n=len(checks))
    best = max(nearer, key=lambda check: check.eager_error / check.error)
    return word(
        "in {nearer} of {n} programs it is nearer to the exact result than eager mode, in "
        "{program} by a factor of {ratio}",
        nearer=len(nearer),
        n=len(checks),
        program=as_value(program_word(best.program)),
        ratio=number(best.eager_error / best.error, 2),
    )


def distance_table(distances: Sequence[Distances]) -> Table:
    """Show how many results aren't the exact one correctly rounded, and by how much.

    Args:
        distances: from `compiler.gpu_study.by_interpreter.hand_distances`.
    """
    ways = _ways()
    caption = word(
        "A hand-written softmax of {n} numbers: distances from the exact result, rounded to the "
        "type.",
        n=distances[0].numbers,
    )
    table = TableBuilder("interpreter-distances", caption)
    table.code(word("Type"), [one.dtype for one in distances])
    table.texts(word("Computed by"), [ways[one.way] for one in distances])
    table.counts(word("Not the nearest"), [one.off for one in distances])
    table.counts(word("Largest distance"), [one.largest for one in distances], "ulp")
    table.numbers(word("Mean, with sign"), [one.mean for one in distances], "ulp", significant=2)
    return table.build()


def cut_finding(distances: Sequence[Distances]) -> Word:
    """Say in a clause what the plain interpreter does to bfloat16.

    Args:
        distances: as `distance_table` takes them.
    """
    half = {one.way: one for one in distances if one.dtype == "bfloat16"}
    plain_one, ours = half["plain interpreter"], half["our interpreter"]
    return word(
        "as it comes, the interpreter is off in {off} of {n} numbers, by {mean} ulp in the mean of "
        "all; with rounding to nearest in {ours}",
        off=plain_one.off,
        n=plain_one.numbers,
        mean=number(plain_one.mean, 2),
        ours=ours.off,
    )


def _ways() -> dict[str, Text]:
    return {
        "torch": plain("torch"),
        "our interpreter": word("the interpreter, corrected"),
        "plain interpreter": word("the interpreter as it comes"),
    }


def _mistakes() -> dict[str, Text]:
    return {
        "the maximum isn't subtracted": word("the maximum isn't subtracted"),
        "the epsilon is 0": word("the epsilon is 0"),
        "0.71 for the root of one half": word("0.71 for the root of one half"),
    }


def _error(error: float) -> Text:
    """Write an error, which may be no number at all."""
    if not math.isfinite(error):
        return word("not a number")
    return plain(magnitude(error))


def _verdict(check: ValueCheck) -> Word:
    return word("rounding") if check.is_rounding else word("a bug")
