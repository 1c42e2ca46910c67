"""The roofline of each GPU with the programs below it, and what bounds them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from fuseshard import palette
from fuseshard.compiler.described.targets import TARGETS, Target
from fuseshard.compiler.gpu_study import roofs
from fuseshard.compiler.gpu_study.records import Dtype, WorkPoint
from fuseshard.compiler.kernel_times.records import RowTimes
from fuseshard.show.chapters.modes.ways import in_a_row
from fuseshard.show.chapters.triton.names import program_word, target_name
from fuseshard.show.charts.variants import as_value, listed
from fuseshard.show.choices import Choice, choose
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.numbers import duration, number
from fuseshard.show.recorded import nothing_recorded
from fuseshard.show.records import Figure, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Word, plain, word

TERA, MEBI = 1e12, 2.0**20

LABEL_DECADES = 0.2
"""powers of ten between a point with a label and its neighbour"""

TYPES: tuple[Dtype, ...] = ("float32", "bfloat16")


def roofline_chooser(points: Sequence[WorkPoint], targets: Sequence[str]) -> Choice:
    """Draw each GPU's roofs, and the programs at the height that they allow.

    Args:
        points: from `compiler.gpu_study.roofline.work_points`.
        targets: keys of `TARGETS`.
    """
    options = [(plain(target_name(key)), _figure(points, TARGETS[key])) for key in targets]
    return choose("rooflines", word("GPU"), options)


def _figure(points: Sequence[WorkPoint], target: Target) -> Figure:
    drawing = FigureBuilder(f"roofline-{target.key}", height=420)
    ends = _ends(points)
    highest = [roofs.peak_flop_per_s(gpu, "bfloat16") for gpu in TARGETS.values()]
    lowest = ends[0] * min(gpu.memory_bytes_per_s for gpu in TARGETS.values())
    # The same axes for each GPU, or a reader couldn't compare them.
    drawing.log_axis("x", word("operations for each byte"), ends, _rounded)
    tera = [lowest / TERA, max(highest) / TERA]
    drawing.log_axis("y", word("at best (TFLOP/s)"), tera, _rounded)
    for dtype, mark in zip(TYPES, _roof_marks(), strict=True):
        at = _corners(target, dtype, ends)
        heights = [roofs.attainable_flop_per_s(target, dtype, x) / TERA for x in at]
        label = word("roof, {dtype}", dtype=dtype)
        drawing.line(label, at, heights, mark, show=_rounded, mode="lines")
    for dtype, mark in zip(TYPES, _program_marks(), strict=True):
        own = [point for point in points if point.dtype == dtype]
        drawing.points(
            word("programs, {dtype}", dtype=dtype),
            [point.intensity for point in own],
            [_height(target, point) for point in own],
            mark,
            hover=[f"{point.program}: {number(point.intensity)}" for point in own],
        )
    for index, point in enumerate(_apart(points)):
        is_level = roofs.bound_by(target, point) == "computing"
        drawing.note(
            point.intensity,
            _height(target, point),
            program_word(point.program),
            xanchor="right" if is_level else "left",
            xshift=8,
            # Above and below in turn: along a level roof labels would run into one another.
            yshift=16 if is_level and index % 2 else -16,
        )
    caption = word(
        "The {gpu} at best: {finding}.",
        gpu=target_name(target.key),
        finding=_bound_finding(points, target),
    )
    alt = word(
        "Two roofs that rise with {bandwidth} bytes a second and turn level at {fp32} and {bf16} "
        "operations a byte, with {n} points on them.",
        bandwidth=number(target.memory_bytes_per_s),
        fp32=number(roofs.ridge(target, "float32")),
        bf16=number(roofs.ridge(target, "bfloat16")),
        n=len(points),
    )
    return drawing.build(caption=caption, alt=alt, table=_table(points, target))


def _table(points: Sequence[WorkPoint], target: Target) -> Table:
    name = target_name(target.key)
    caption = word("Bounds of each program on the {gpu}.", gpu=name)
    table = TableBuilder(f"roofline-{target.key}-table", caption)
    table.texts(word("Program"), [program_word(point.program) for point in points])
    table.code(word("Type"), [point.dtype for point in points])
    table.numbers(word("Operations a byte"), [point.intensity for point in points])
    heights = [_height(target, point) for point in points]
    table.numbers(word("At best"), heights, "TFLOP/s")
    table.seconds(word("Time at least"), [roofs.least_s(target, point) for point in points])
    table.texts(word("Bound by"), [_bound_word(target, point) for point in points])
    return table.build()


def traffic_table(points: Sequence[WorkPoint]) -> Table:
    """Show what each program has to move, by a formula, and what its launches move.

    Args:
        points: from `compiler.gpu_study.roofline.work_points`.
    """
    caption = word("Bytes by formula, and bytes read off the launches of the compiled program.")
    table = TableBuilder("traffic", caption)
    table.texts(word("Program"), [program_word(point.program) for point in points])
    table.numbers(word("Operations"), [point.flop / 1e6 for point in points], "MFLOP")
    least = [point.least_bytes / MEBI for point in points]
    table.numbers(word("Has to move"), least, "MiB", significant=4)
    moved = [point.traffic.moved_bytes / MEBI for point in points]
    table.numbers(word("Moves"), moved, "MiB", significant=4)
    again = [point.traffic.again_bytes / MEBI or None for point in points]
    table.numbers(word("Loads again"), again, "MiB", significant=4)
    launches = [point.traffic.launches for point in points]
    table.counts(word("Kernel launches"), launches)
    table.counts(word("Library calls"), [point.traffic.library_calls for point in points])
    table.numbers(word("Operations a byte"), [point.intensity for point in points])
    return table.build()


def bound_table(points: Sequence[WorkPoint], targets: Sequence[str]) -> Table:
    """Show the least time of each program on each GPU, and what it waits for.

    Args:
        points: from `compiler.gpu_study.roofline.work_points`.
        targets: keys of `TARGETS`.
    """
    caption = word("The least time that data sheets allow, and what a program waits for.")
    table = TableBuilder("bounds", caption)
    table.texts(word("Program"), [program_word(point.program) for point in points])
    for key in targets:
        gpu = TARGETS[key]
        cells = [
            word(
                "{time}, {bound}",
                time=duration(roofs.least_s(gpu, point)),
                bound=_bound_word(gpu, point),
            )
            for point in points
        ]
        table.texts(plain(target_name(key)), cells)
    return table.build()


def everywhere_finding(points: Sequence[WorkPoint], targets: Sequence[str]) -> Word:
    """Say in a clause which programs wait for memory on every GPU, and which on some.

    Args:
        points: from `compiler.gpu_study.roofline.work_points`.
        targets: keys of `TARGETS`.
    """
    gpus = [TARGETS[key] for key in targets]
    bounds = {p.program: [roofs.bound_by(gpu, p) for gpu in gpus] for p in points}
    everywhere = [key for key, found in bounds.items() if set(found) == {"memory"}]
    some = [key for key, found in bounds.items() if len(set(found)) == 2]
    said = word(
        "{n} of {all} programs wait for memory on all {gpus} GPUs",
        n=len(everywhere),
        all=len(points),
        gpus=len(gpus),
    )
    parts = [
        word(
            "{program} waits for memory on {gpus} alone",
            program=as_value(program_word(key)),
            gpus=in_a_row(
                [
                    plain(target_name(gpu.key))
                    for gpu, bound in zip(gpus, bounds[key], strict=True)
                    if bound == "memory"
                ]
            ),
        )
        for key in some
    ]
    return listed([said, *parts])


def more_finding(points: Sequence[WorkPoint]) -> Word:
    """Say in a clause how many programs move no more than they have to, and which moves most.

    Args:
        points: from `compiler.gpu_study.roofline.work_points`.
    """
    ratios = {p.program: p.traffic.moved_bytes / p.least_bytes for p in points}
    exact = sum(ratio == 1 for ratio in ratios.values())
    worst = max(ratios, key=lambda key: ratios[key])
    return word(
        "{exact} of {n} programs move exactly what the formula says; {program} moves {ratio} "
        "times as much",
        exact=exact,
        n=len(ratios),
        program=as_value(program_word(worst)),
        ratio=number(ratios[worst]),
    )


def _apart(points: Sequence[WorkPoint]) -> list[WorkPoint]:
    """List the points that are far enough from all others to have a label beside them."""
    places = [math.log10(point.intensity) for point in points]
    return [
        point
        for point, place in zip(points, places, strict=True)
        if sum(abs(place - other) < LABEL_DECADES for other in places) == 1
    ]


def _bound_finding(points: Sequence[WorkPoint], target: Target) -> Word:
    waiting = sum(roofs.bound_by(target, point) == "memory" for point in points)
    return word("{n} of {all} programs wait for memory", n=waiting, all=len(points))


def _corners(target: Target, dtype: Dtype, ends: tuple[float, float]) -> list[float]:
    """List where a roof begins, turns level and ends; the ridge may lie outside the figure."""
    low, high = ends
    return sorted({low, min(max(roofs.ridge(target, dtype), low), high), high})


def _ends(points: Sequence[WorkPoint]) -> tuple[float, float]:
    found = [point.intensity for point in points]
    return min(found) / 2, max(found) * 2


def _height(target: Target, point: WorkPoint) -> float:
    return roofs.attainable_flop_per_s(target, point.dtype, point.intensity) / TERA


def _bound_word(target: Target, point: WorkPoint) -> Word:
    return word("memory") if roofs.bound_by(target, point) == "memory" else word("computing")


def _roof_marks() -> tuple[palette.Mark, palette.Mark]:
    return replace(palette.FORMULA, dash="dash"), palette.FORMULA


def _program_marks() -> tuple[palette.Mark, palette.Mark]:
    return palette.COMPILED, replace(palette.COMPILED, symbol="diamond")


def _rounded(value: float) -> str:
    return number(value, 2)


def issue_finding(
    times: RowTimes | None, columns: int, way: str, *, each: float, starts_per_s: float
) -> Word:
    """Say in a clause how near to its instructions' limit a way's softmax in bfloat16 comes.

    Args:
        times: recorded; None if it isn't yet.
        columns: which of the recorded widths.
        way: name of a variant.
        each: instructions of a thread for one number.
        starts_per_s: instructions of threads that the card starts a second at most.
    """
    if times is None:
        return nothing_recorded()
    (point,) = (
        one
        for one in times.points
        if (one.task, one.dtype, one.columns) == ("softmax", "bfloat16", columns)
    )
    seen = point.rows * point.columns / point.comparison[way].median_s
    return word(
        "{seen}\N{NO-BREAK SPACE}billion numbers a second, {share} % of that limit",
        seen=number(seen / 1e9, 3),
        share=round(100 * seen * each / starts_per_s),
    )
