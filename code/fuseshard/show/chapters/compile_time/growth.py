"""Draw how a first call grows with the number of layers, and which part of it doesn't."""

from __future__ import annotations

from fuseshard import palette
from fuseshard.compiler.caches.records import FirstCall, RegionSweep
from fuseshard.palette import Mark
from fuseshard.show.cards import origin_line
from fuseshard.show.chapters.compile_time.bars import Part, stacked_bars
from fuseshard.show.numbers import duration, number
from fuseshard.show.records import Figure
from fuseshard.show.words import Text, Word, plain, word

_PATTERNS = {"dynamo": "", "aotautograd": "/", "inductor": ".", "compiler": "x"}


def first_calls(sweep: RegionSweep) -> dict[int, FirstCall]:
    """Return number of layers -> the first call of a graph with so many.

    Args:
        sweep: of a CPU; compiling layer by layer compiles one layer.
    """
    calls = {1: sweep.points[-1].first_calls["regional"]}
    return calls | {point.num_layers: point.first_calls["whole"] for point in sweep.points}


def growth_figure(sweep: RegionSweep) -> Figure:
    """Draw the stages of a first call for each number of layers.

    Args:
        sweep: of a CPU.
    """
    calls = first_calls(sweep)
    parts = [
        Part(
            _stage(stage),
            Mark(palette.COMPILED.light, palette.COMPILED.dark, "solid", "square", pattern),
            [call.parts_s[stage] for call in calls.values()],
        )
        for stage, pattern in _PATTERNS.items()
    ]
    fewest, most = min(calls), max(calls)
    bars: list[Text] = [word("1 layer"), *(word("{n} layers", n=n) for n in calls if n > 1)]
    return stacked_bars(
        "growth",
        word("Graph"),
        bars,
        parts,
        caption=word(
            "The first call of {most} layers takes {slow}, of one {fast}. The C++ compiler's part "
            "stays about the same, the part of the three stages before it grows from {few} to "
            "{many}.",
            most=most,
            slow=duration(calls[most].elapsed_s),
            fast=duration(calls[fewest].elapsed_s),
            few=duration(python_s(calls[fewest])),
            many=duration(python_s(calls[most])),
        ),
        alt=word(
            "One bar for each number of layers, {layers}, of four parts. The last part, the C++ "
            "compiler, takes {compiler}.",
            layers=", ".join(number(n) for n in calls),
            compiler=", ".join(duration(call.parts_s["compiler"]) for call in calls.values()),
        ),
        origin=origin_line(sweep.origin, num_threads=1),
    )


def python_s(call: FirstCall) -> float:
    """Return the seconds of the stages that are written in Python."""
    return call.elapsed_s - call.parts_s["compiler"]


def _stage(stage: str) -> Text:
    named: dict[str, Text] = {
        "dynamo": word("Dynamo, guards included"),
        "aotautograd": plain("AOTAutograd"),
        "inductor": word("Inductor: loops and code"),
        "compiler": word("C++ compiler"),
    }
    return named[stage]


def opening(sweep: RegionSweep) -> Word:
    """Say what the deepest stack's first call takes, against a later one in eager mode."""
    point = sweep.points[-1]
    first_s = point.first_calls["whole"].elapsed_s
    eager_s = point.comparison.baseline.median_s
    return word(
        "one call of {layers} small layers takes {eager} in eager mode, and the first compiled one "
        "takes {first}, as long as {calls} eager ones",
        layers=point.num_layers,
        eager=duration(eager_s),
        first=duration(first_s),
        calls=number(first_s / eager_s, 2),
    )
