"""Draw the maps of the speed-up, and put single places of them into sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from fuseshard import palette
from fuseshard.compiler.ledger.records import EAGER, MapCell, SpeedMap, SpeedMaps
from fuseshard.measure.records import Ratio, Verdict
from fuseshard.show.beside.draw import beside
from fuseshard.show.cards import origin_line
from fuseshard.show.chapters.when_it_helps.map_words import (
    column_in_sentence,
    columns_title,
    family_title,
    row_in_sentence,
    row_label,
    rows_title,
)
from fuseshard.show.charts.comparison import finding
from fuseshard.show.charts.variants import known_variants, verdict_word
from fuseshard.show.choices import Choice, choose
from fuseshard.show.figures import HOVER, FigureBuilder
from fuseshard.show.numbers import TIMES_SIGN, factor, number
from fuseshard.show.recorded import HasResult
from fuseshard.show.records import Figure, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Word, plain, word

SAME_SIGN = "≈"
"""stands in a place where no difference was measured"""

_DOUBLINGS = 3.0
"""of the speed-up, either way, until a colour is full"""


def map_chooser(maps: Sequence[SpeedMap], *, name: str = "speed-maps") -> Choice:
    """Show one family's map at a time.

    Args:
        maps: at least two, of different families.
        name: lower-case words joined by hyphens, unique on its page.
    """
    options = [
        (family_title(one.family), map_figure(one, name=f"{name}-{one.family}")) for one in maps
    ]
    return choose(name, word("Family of work"), options)


def recorded_chooser(outcome: HasResult[SpeedMaps]) -> Choice | Word:
    """Show the recorded maps, another machine's beside them, or say how to record them.

    Args:
        outcome: of the experiment, called on any machine.
    """
    return beside(outcome, _recorded_chooser)


def _recorded_chooser(made: SpeedMaps) -> Choice:
    # One origin for all four: each figure has to name it.
    maps = [replace(one, origin=made.origin) for one in made.maps]
    return map_chooser(maps, name="speed-maps-gpu")


def map_figure(speeds: SpeedMap, *, name: str) -> Figure:
    """Draw one map: a colour and a factor in each place, or that no difference was measured.

    Args:
        speeds: by `compiler.ledger.maps`, live or recorded.
        name: lower-case words joined by hyphens, unique on its page.
    """
    drawing = FigureBuilder(name, height=110 + 52 * len(speeds.rows))
    rows = [row_label(speeds.family, row) for row in speeds.rows]
    columns = [plain(number(column)) for column in speeds.columns]
    drawing.x_axis(columns_title(speeds.family), type="category", showgrid=False, ticks="")
    drawing.rows(rows)
    if speeds.family != "models":
        title = {"text": drawing.say(rows_title(speeds.family)), "standoff": 8}
        drawing.layout["yaxis"]["title"] = title
    drawing.layout["showlegend"] = False
    by_row = [[speeds.cell(row, column) for column in speeds.columns] for row in speeds.rows]
    drawing.trace(
        type="heatmap",
        name=drawing.say(word("speed-up")),
        x=[drawing.say(column) for column in columns],
        y=[drawing.say(row) for row in rows],
        z=[[_colour_value(cell) for cell in cells] for cells in by_row],
        text=[[drawing.say(plain(_short(cell))) for cell in cells] for cells in by_row],
        hovertext=[[drawing.say(plain(_long(cell))) for cell in cells] for cells in by_row],
        texttemplate=drawing.say(plain("%{text}")),
        hovertemplate=HOVER,
        colorscale=[[0, palette.EAGER.light], [0.5, palette.GRID[0]], [1, palette.COMPILED.light]],
        zmin=-_DOUBLINGS,
        zmax=_DOUBLINGS,
        showscale=False,
        xgap=3,
        ygap=3,
        textfont={"size": 13},
    )
    num_threads = speeds.cells[0].comparison.num_threads if speeds.device == "cpu" else None
    return drawing.build(
        caption=word(
            "{title}, eager time over compiled time: {counts}. Blue: compiled is faster; orange: "
            "eager is; {sign}: no difference measured.",
            title=family_title(speeds.family),
            counts=counts_finding(speeds),
            sign=SAME_SIGN,
        ),
        alt=_alt(speeds),
        table=_table(speeds, name=f"{name}-table"),
        origin=origin_line(speeds.origin, num_threads=num_threads),
    )


def error_table(maps: Sequence[SpeedMap]) -> Table:
    """Show how far eager and compiled results are from float64, at worst in each family.

    Args:
        maps: of different families.
    """
    table = TableBuilder("map-errors", word("Largest error against float64 in each family."))
    table.texts(word("Family"), [family_title(one.family) for one in maps])
    known = known_variants()
    for name in ("eager", "compiled"):
        errors = [max(_error(cell, name) for cell in one.cells) for one in maps]
        table.numbers(known[name].label, errors, significant=2)
    equal = [sum(cell.error == cell.eager_error for cell in one.cells) for one in maps]
    table.counts(word("Places with equal errors"), equal)
    table.counts(word("Places"), [len(one.cells) for one in maps])
    return table.build()


def _error(cell: MapCell, variant: str) -> float:
    return cell.eager_error if variant == EAGER else cell.error


def beside_table(live: Sequence[SpeedMap], recorded: Sequence[SpeedMap]) -> Table:
    """Count the places where compiling wins and loses, on this machine and on the recorded GPU.

    Args:
        live: maps of this build.
        recorded: maps of the same families, in the same order.
    """
    table = TableBuilder(
        "maps-beside",
        word("Places: compiled faster / compiled slower / no difference measured."),
    )
    table.texts(word("Family"), [family_title(one.family) for one in live])
    order: tuple[Verdict, ...] = ("faster", "slower", "no difference measured")
    for title, maps in ((word("here"), live), (word("on the GPU"), recorded)):
        counted = [one.verdicts() for one in maps]
        cells = [" / ".join(str(count[verdict]) for verdict in order) for count in counted]
        table.texts(title, [plain(cell) for cell in cells])
    return table.build()


def counts_finding(speeds: SpeedMap) -> Word:
    """Say in a clause in how many places of a map compiling wins, loses, or does neither."""
    counted = speeds.verdicts()
    return word(
        "of {n} places, {faster} are faster compiled, {slower} are slower, and in {same} no "
        "difference was measured",
        n=len(speeds.cells),
        faster=counted["faster"],
        slower=counted["slower"],
        same=counted["no difference measured"],
    )


def best_finding(speeds: SpeedMap) -> Word:
    """Say in a clause where on a map compiling helps most, if anywhere."""
    best = speeds.extreme(best=True)
    if best is None or best.comparison.verdict != "faster":
        return word("compiling was nowhere measured to be faster")
    return word(
        "at best compiled code is {speedup} as fast ({row}, {column})",
        speedup=factor(best.comparison.ratio.speedup),
        row=row_in_sentence(speeds.family, best.row),
        column=column_in_sentence(speeds.family, best.column),
    )


def cell_finding(cell: MapCell) -> Word:
    """Say in a clause what compiling does in one place of a map."""
    known = known_variants()
    timing, ratio = cell.comparison.candidate()
    return finding(timing, ratio, known[EAGER].in_sentence, known["compiled"].in_sentence)


def range_finding(speeds: SpeedMap, row: str) -> Word:
    """Say after "the speed-up is" what it is in the first and in the last column of a row."""
    cells = [speeds.cell(row, column) for column in speeds.columns]
    if all(cell.speedup is None for cell in cells):
        return word("indistinguishable from 1 at every size")
    return word(
        "{first} at {low} and {last} at {high}",
        first=_spoken(cells[0]),
        low=column_in_sentence(speeds.family, cells[0].column),
        last=_spoken(cells[-1]),
        high=column_in_sentence(speeds.family, cells[-1].column),
    )


def brief_finding(ratio: Ratio) -> Word:
    """Say in as few words as a table's cell has room for what a ratio allows to say."""
    if ratio.verdict == "faster":
        return word("{speedup} as fast", speedup=factor(ratio.speedup))
    if ratio.verdict == "slower":
        return word("{ratio} the time", ratio=factor(ratio.median))
    return word("no difference measured")


def count_between(
    speeds: SpeedMap, rows: Sequence[str], low: float, high: float
) -> tuple[int, int]:
    """Count the places of some rows whose measured speed-up lies in a range.

    Args:
        speeds: a map.
        rows: which rows.
        low: least speed-up of the range.
        high: largest.

    Returns:
        How many lie in the range, and of how many places.
    """
    cells = [cell for cell in speeds.cells if cell.row in rows]
    inside = [cell for cell in cells if cell.speedup and low <= cell.speedup <= high]
    return len(inside), len(cells)


def _spoken(cell: MapCell) -> Word | str:
    if cell.speedup is None:
        return word("indistinguishable from 1")
    return factor(cell.speedup)


def _colour_value(cell: MapCell) -> float:
    return math.log2(cell.speedup) if cell.speedup else 0.0


def _short(cell: MapCell) -> str:
    return number(cell.speedup, 2) if cell.speedup else SAME_SIGN


def _long(cell: MapCell) -> str:
    ratio = cell.comparison.ratio
    interval = f"{number(ratio.speedup_low)} – {number(ratio.speedup_high)}{TIMES_SIGN}"
    return f"{_short(cell)} ({interval})"


def _alt(speeds: SpeedMap) -> Word:
    first, last = speeds.cells[0], speeds.cells[-1]
    return word(
        "A grid of {rows} rows and {columns} columns of coloured places. The top left one says "
        "{first}, the bottom right one {last}.",
        rows=len(speeds.rows),
        columns=len(speeds.columns),
        first=_short(first),
        last=_short(last),
    )


def _table(speeds: SpeedMap, *, name: str) -> Table:
    ratios = [cell.comparison.ratio for cell in speeds.cells]
    table = TableBuilder(name, word("{title}: every place.", title=family_title(speeds.family)))
    table.texts(word("Row"), [row_label(speeds.family, cell.row) for cell in speeds.cells])
    table.counts(columns_title(speeds.family), [cell.column for cell in speeds.cells])
    for variant in ("eager", "compiled"):
        seconds = [cell.comparison[variant].median_s for cell in speeds.cells]
        table.seconds(known_variants()[variant].label, seconds)
    table.numbers(word("Speed-up"), [ratio.speedup for ratio in ratios])
    table.numbers(word("at least"), [ratio.speedup_low for ratio in ratios])
    table.numbers(word("at most"), [ratio.speedup_high for ratio in ratios])
    table.texts(word("Verdict"), [verdict_word(ratio.verdict) for ratio in ratios])
    return table.build()
