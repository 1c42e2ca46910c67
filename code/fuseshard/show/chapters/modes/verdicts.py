"""The common claims about modes, judged by what was measured here and recorded on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fuseshard.compiler.modes.records import ModePoint, ModeSweep
from fuseshard.compiler.modes.standing import leaders, ratio_between
from fuseshard.measure.records import Comparison
from fuseshard.show.cards import origin_line
from fuseshard.show.chapters.modes.findings import labels_of
from fuseshard.show.numbers import duration
from fuseshard.show.recorded import is_live, nothing_recorded
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
        inference: of a GPU, live or recorded; None if it isn't recorded yet.
        training: of the same GPU; None if it isn't recorded yet.
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
    where = word("GPU, live") if is_live(inference) else word("GPU, recorded")
    table.texts(where, [row.on_gpu for row in rows])
    table.texts(word("Verdict"), [row.verdict for row in rows])
    return table.build(origin=origin_line(inference.origin if inference else None))


@dataclass(frozen=True)
class _Tally:
    """At how many batch sizes some modes ran, and how they stood among all modes there."""

    tried: int
    alone: int
    """sizes at which every mode outside was measured to be slower"""
    tied: int
    """sizes at which nothing was faster, and some mode outside was as fast"""


def _tally(points: Sequence[ModePoint], ways: Sequence[str]) -> _Tally:
    standings = [_standing(point, ways) for point in points]
    return _Tally(
        tried=len(standings) - standings.count("absent"),
        alone=standings.count("alone"),
        tied=standings.count("tied"),
    )


def _standing(point: ModePoint, ways: Sequence[str]) -> str:
    ran = _compiled(point.comparison)
    if not set(ways) & set(ran):
        return "absent"
    first = set(leaders(point.comparison, ran))
    if not first & set(ways):
        return "behind"
    return "tied" if first - set(ways) else "alone"


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
    first = leaders(smallest.comparison, _compiled(smallest.comparison))
    size = smallest.size
    if not set(GRAPHS) & set(first):
        found = word("batch of {size}: another mode is faster", size=size)
        return _Row(claim, _place(here, GRAPHS), found, word("refuted"))
    others = [way for way in first if way not in GRAPHS]
    found = word("batch of {size}: fastest mode", size=size)
    if others:
        found = word(
            "batch of {size}: no mode is faster, no difference from {others}",
            size=size,
            others=labels_of(others),
        )
    return _Row(claim, _place(here, GRAPHS), found, word("holds on the GPU"))


def _slow_compile(here: Comparison, inference: ModeSweep | None) -> _Row:
    claim = word("max-autotune compiles slowly.")
    local = word("not for this model: the kernels are those of default")
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
    tally = _tally([point for sweep in sweeps for point in sweep.points], TUNED)
    if not tally.tried:
        return _Row(claim, _place(here, TUNED), nothing_recorded(), nothing_recorded())
    found = word(
        "inference and training, {tried} batch sizes tried: fastest alone at {alone}, no slower "
        "than the fastest at {tied}",
        tried=tally.tried,
        alone=tally.alone,
        tied=tally.tied,
    )
    return _Row(claim, _place(here, TUNED), found, _verdict_on_first_place(tally))


def _verdict_on_first_place(tally: _Tally) -> Word:
    if tally.alone == tally.tried:
        return word("holds on the GPU")
    if tally.alone:
        return word("depends on the size")
    return word("not confirmed: only level with others") if tally.tied else word("refuted")


def _right_for_inference(here: Comparison, inference: ModeSweep | None) -> _Row:
    claim = word("reduce-overhead is right for MiniGPT inference.")
    if inference is None:
        return _Row(claim, _place(here, GRAPHS), nothing_recorded(), nothing_recorded())
    (mode,) = GRAPHS
    points = [p for p in inference.points if {mode, "default"} <= set(_compiled(p.comparison))]
    faster = [p for p in points if ratio_between(p.comparison, mode, "default").verdict == "faster"]
    beaten = [p for p in points if _standing(p, GRAPHS) == "behind"]
    found = word(
        "faster than default at {faster} of {tried} batch sizes; another mode is faster at "
        "{beaten}",
        faster=len(faster),
        tried=len(points),
        beaten=len(beaten),
    )
    if len(faster) == len(points) and not beaten:
        verdict = word("holds on the GPU")
    else:
        verdict = word("depends on the size") if faster else word("refuted")
    return _Row(claim, _place(here, GRAPHS), found, verdict)


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
