"""The common claims about modes, judged by what was measured here and recorded on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fuseshard.compiler.modes.records import ModePoint, ModeSweep
from fuseshard.compiler.modes.standing import leaders
from fuseshard.measure.records import Comparison
from fuseshard.show.cards import origin_line
from fuseshard.show.chapters.modes.ways import nothing_recorded
from fuseshard.show.numbers import duration
from fuseshard.show.records import Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Word, word

GRAPHS = ("reduce-overhead",)
TUNED = ("max-autotune", "max-autotune-no-cudagraphs")


@dataclass(frozen=True)
class _Row:
    """One claim, what there is to say about it here and on the GPU, and the verdict."""

    claim: Word
    here: Word
    on_gpu: Word
    verdict: Word


def claims_table(
    modes: Sequence[str], here: Comparison, inference: ModeSweep | None, training: ModeSweep | None
) -> Table:
    """Judge five statements about modes that older material makes.

    Args:
        modes: that this torch knows.
        here: eager mode and the modes on the small MiniGPT, on this machine's CPU.
        inference: recorded on a GPU; None if it isn't yet.
        training: recorded on a GPU; None if it isn't yet.
    """
    rows = [
        _three_modes(modes),
        _lowest_latency(here, inference),
        _slow_compile(here, inference),
        _fastest_run(here, inference, training),
        _right_for_inference(here, inference),
    ]
    table = TableBuilder("claims", word("What is said about modes, and what was measured."))
    table.texts(word("Claim"), [row.claim for row in rows])
    table.texts(word("This CPU, live"), [row.here for row in rows])
    table.texts(word("GPU, recorded"), [row.on_gpu for row in rows])
    table.texts(word("Verdict"), [row.verdict for row in rows])
    return table.build(origin=origin_line(inference.origin if inference else None))


def wins(sweep: ModeSweep, ways: Sequence[str]) -> list[ModePoint]:
    """Return the batch sizes at which no other way was measured to be faster than one of these.

    Args:
        sweep: recorded.
        ways: modes that belong together.
    """
    return [
        point
        for point in sweep.points
        if set(ways) & set(leaders(point.comparison, _compiled(point.comparison)))
    ]


def _three_modes(modes: Sequence[str]) -> _Row:
    return _Row(
        claim=word("There are three modes."),
        here=word("{n} modes", n=len(modes)),
        on_gpu=word("not a matter of the machine"),
        verdict=word("holds") if len(modes) == 3 else word("outdated"),
    )


def _lowest_latency(here: Comparison, inference: ModeSweep | None) -> _Row:
    claim = word("reduce-overhead has the lowest latency.")
    if inference is None:
        return _Row(claim, _place(here, GRAPHS), nothing_recorded(), nothing_recorded())
    smallest = inference.points[0]
    is_won = smallest in wins(inference, GRAPHS)
    size = smallest.size
    return _Row(
        claim,
        _place(here, GRAPHS),
        word("batch of {size}: fastest mode", size=size)
        if is_won
        else word("batch of {size}: another mode is faster", size=size),
        word("holds on the GPU") if is_won else word("refuted"),
    )


def _slow_compile(here: Comparison, inference: ModeSweep | None) -> _Row:
    claim = word("max-autotune compiles slowly.")
    local = word("not for this model: it writes what default writes")
    if inference is None:
        return _Row(claim, local, nothing_recorded(), nothing_recorded())
    calls = inference.points[0].first_calls_s
    tuned = [mode for mode in TUNED if mode in calls]
    if not tuned:
        return _Row(claim, local, nothing_recorded(), nothing_recorded())
    slowest = max(calls[mode][0] for mode in tuned)
    is_slow = slowest > calls["default"][0]
    return _Row(
        claim,
        local,
        word(
            "first call {tuned}, default {default}",
            tuned=duration(slowest),
            default=duration(calls["default"][0]),
        ),
        word("holds on the GPU") if is_slow else word("refuted"),
    )


def _fastest_run(here: Comparison, inference: ModeSweep | None, training: ModeSweep | None) -> _Row:
    claim = word("max-autotune runs fastest.")
    sweeps = [sweep for sweep in (inference, training) if sweep is not None]
    tried = [
        (sweep, point)
        for sweep in sweeps
        for point in sweep.points
        if set(TUNED) & set(_compiled(point.comparison))
    ]
    won = [point for sweep, point in tried if point in wins(sweep, TUNED)]
    return _Row(
        claim,
        _place(here, TUNED),
        _share(won, tried) if tried else nothing_recorded(),
        _extent(len(won), len(tried)),
    )


def _right_for_inference(here: Comparison, inference: ModeSweep | None) -> _Row:
    claim = word("reduce-overhead is right for MiniGPT inference.")
    if inference is None:
        return _Row(claim, _place(here, GRAPHS), nothing_recorded(), nothing_recorded())
    won = wins(inference, GRAPHS)
    return _Row(
        claim,
        _place(here, GRAPHS),
        _share(won, inference.points),
        _extent(len(won), len(inference.points)),
    )


def _compiled(comparison: Comparison) -> tuple[str, ...]:
    """The modes in a comparison, without eager mode and the graph by hand."""
    others = ("eager", "by hand")
    return tuple(t.name for t in comparison.timings if t.name not in others)


def _place(here: Comparison, ways: Sequence[str]) -> Word:
    """Say whether one of these modes is measured to be slower than the fastest mode here."""
    if set(ways) & set(leaders(here, _compiled(here))):
        first = leaders(here, _compiled(here))
        if len(first) > len(set(ways) & set(first)):
            return word("no faster than the others")
        return word("fastest mode")
    return word("another mode is faster")


def _share(won: Sequence[object], tried: Sequence[object]) -> Word:
    return word(
        "fastest mode, alone or tied, at {won} of {tried} batch sizes",
        won=len(won),
        tried=len(tried),
    )


def _extent(num_won: int, num_tried: int) -> Word:
    if not num_tried:
        return nothing_recorded()
    if num_won == num_tried:
        return word("holds on the GPU")
    return word("depends on the size") if num_won else word("refuted")
