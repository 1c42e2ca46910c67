"""Draw after how many calls compiling has paid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fuseshard import palette
from fuseshard.compiler.caches.payback import calls_to_pay_back, payback, saved_s
from fuseshard.compiler.caches.records import RegionPoint, RegionSweep
from fuseshard.show.cards import origin_line
from fuseshard.show.chapters.compile_time.regions import own_variants
from fuseshard.show.choices import Choice, choose
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.numbers import TIMES_SIGN, duration, number
from fuseshard.show.records import Figure, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, plain, word

SPEEDUPS = (1.02, 1.05, 1.1, 1.25, 1.5, 2.0, 3.0)
"""of a later call; the reader's own is among them, or between two of them"""

_POINTS = 24


def payback_choice(point: RegionPoint) -> Choice:
    """Draw the seconds saved against calls, one speed-up of a later call at a time.

    Args:
        point: whose first calls were timed; its eager time is the calculator's.
    """
    first_s = {way: call.elapsed_s for way, call in point.first_calls.items() if call.parts_s}
    eager_s = point.comparison.baseline.median_s
    options = [
        (plain(_speedup(speedup)), _saving_figure(first_s, eager_s, speedup))
        for speedup in SPEEDUPS
    ]
    label = word("Speed-up of a later call")
    return choose("payback", label, options, control="slider", start=3)


def _saving_figure(first_s: Mapping[str, float], eager_s: float, speedup: float) -> Figure:
    """Draw one line a way to compile, from the first call's price through zero."""
    largest_s = max(first_s.values())
    name = f"payback-{round(100 * speedup)}"
    drawing = FigureBuilder(name)
    ends = [min(first_s.values()) / eager_s, _even(largest_s, eager_s, SPEEDUPS[0])]
    drawing.log_axis("x", word("calls"), ends, lambda calls: number(round(calls)))
    drawing.y_axis(word("seconds saved"), range=[-1.1 * largest_s, 0.6 * largest_s])
    known = own_variants()
    for way, seconds in first_s.items():
        calls = _spread(ends[0], ends[1])
        saved = [saved_s(n, seconds, eager_s, 1 / speedup) for n in calls]
        kept = [(n, s) for n, s in zip(calls, saved, strict=True) if s <= largest_s]
        x, y = [n for n, _ in kept], [s for _, s in kept]
        drawing.line(known[way].label, x, y, known[way].mark, show=duration, mode="lines")
    line = {"color": palette.INK[0], "width": 1, "dash": "dot"}
    zero = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 0, "y1": 0, "line": line}
    drawing.layout.setdefault("shapes", []).append(zero)
    even = {way: _even(seconds, eager_s, speedup) for way, seconds in first_s.items()}
    as_fast = _speedup(speedup)
    return drawing.build(
        caption=word(
            "If a later call is {speedup} as fast as an eager one of {eager}, compiling has paid "
            "after so many calls: {counts}. Below the dotted line it hasn't yet.",
            speedup=as_fast,
            eager=duration(eager_s),
            counts=_listed(even),
        ),
        alt=word(
            "Lines of seconds saved against calls, one for each way to compile; each starts below "
            "zero by its first call and crosses zero after so many calls: {counts}.",
            counts=_listed(even),
        ),
        table=_even_table(name, even),
    )


def _speedup(speedup: float) -> str:
    """Print a round factor: 1.5 and not 1.50."""
    return f"{speedup:g}{TIMES_SIGN}"


def _even(first_call_s: float, eager_s: float, speedup: float) -> int:
    calls = calls_to_pay_back(first_call_s, eager_s, 1 / speedup)
    assert calls is not None, "every speed-up of SPEEDUPS is above 1"
    return calls


def _spread(low: float, high: float) -> Sequence[float]:
    """Spread points over a logarithmic axis."""
    step = (high / low) ** (1 / (_POINTS - 1))
    return [low * step**i for i in range(_POINTS)]


def _listed(even: Mapping[str, int]) -> Word:
    known = own_variants()
    first, *rest = [
        word("{calls} ({way})", calls=rounded(calls), way=_as_word(known[way].label))
        for way, calls in even.items()
    ]
    for more in rest:
        first = word("{first}, {rest}", first=first, rest=more)
    return first


def _as_word(label: Text) -> Word | str:
    return label if isinstance(label, Word) else str(label)


def _even_table(name: str, even: Mapping[str, int]) -> Table:
    table = TableBuilder(f"{name}-table", word("Calls until compiling has paid."))
    table.texts(word("Way"), [own_variants()[way].label for way in even])
    table.texts(word("Calls"), [plain(rounded(calls)) for calls in even.values()])
    return table.build()


def rounded(calls: int) -> str:
    """Print a number of calls with the two digits that a quotient of times can carry."""
    return number(float(calls), 2)


def payback_table(sweep: RegionSweep) -> Table:
    """Show after how many calls compiling has paid, with what was measured on this page.

    Args:
        sweep: points whose first calls were timed.
    """
    rows = [
        (point, way)
        for point in sweep.points
        for way, call in point.first_calls.items()
        if call.parts_s
    ]
    found = [
        payback(
            point.first_calls[way].elapsed_s,
            point.comparison.baseline.median_s,
            point.comparison.candidate(way)[1],
        )
        for point, way in rows
    ]
    table = TableBuilder("payback-measured", word("Calls until compiling has paid, as measured."))
    table.counts(word("Layers"), [point.num_layers for point, _ in rows])
    table.texts(word("Way"), [own_variants()[way].label for _, way in rows])
    table.texts(word("Calls"), [_count(f.calls) for f in found])
    table.texts(word("at least"), [_count(f.at_least) for f in found])
    table.texts(word("at most"), [_count(f.at_most) for f in found])
    return table.build(
        notes=[word("never: later calls are no faster than eager ones, or may be no faster.")],
        origin=origin_line(sweep.origin, num_threads=1),
    )


def _count(calls: int | None) -> Text:
    return word("never") if calls is None else plain(rounded(calls))
