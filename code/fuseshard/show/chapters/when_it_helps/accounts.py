"""Draw how one speed-up is shared out among its switches, by one rule or another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fuseshard import palette
from fuseshard.compiler.ledger import account
from fuseshard.compiler.ledger.account import Times
from fuseshard.compiler.ledger.records import EAGER, Ledger, Share
from fuseshard.palette import Mark
from fuseshard.show.cards import origin_line
from fuseshard.show.choices import Choice, choose
from fuseshard.show.figures import HOVER, FigureBuilder
from fuseshard.show.numbers import TIMES_SIGN, duration, factor, number
from fuseshard.show.records import Figure, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Plain, Text, Word, plain, word

DIVISION_SIGN = "÷"


@dataclass(frozen=True)
class _Bar:
    """One step of an account: from what time to what time."""

    label: Text
    begin_s: float
    end_s: float


def order_chooser(made: Ledger, times: Times) -> Choice:
    """Show the same account by four rules, one at a time.

    Args:
        made: by `switches.ledger`.
        times: its times, by combination of switches.
    """
    vectors_first = ("vectors", "fusion", "call")
    fusion_first = ("fusion", "vectors", "call")
    rules: list[tuple[Word, str, tuple[Share, ...]]] = [
        (word("vectors first"), "vectors-first", account.cumulative(times, vectors_first)),
        (word("fusion first"), "fusion-first", account.cumulative(times, fusion_first)),
        (
            word("each turned off alone"),
            "one-at-a-time",
            account.one_at_a_time(times, vectors_first),
        ),
        (word("mean over all orders"), "all-orders", account.shapley(times, vectors_first)),
    ]
    options = [
        (label, account_figure(made, times, shares, name=f"account-{name}", rule=label))
        for label, name, shares in rules
    ]
    return choose("accounts", word("Rule"), options)


def account_figure(
    made: Ledger, times: Times, shares: Sequence[Share], *, name: str, rule: Word
) -> Figure:
    """Draw the way from eager mode's time to the compiled call's, a bar a step.

    Args:
        made: by `switches.ledger`.
        times: its times, by combination of switches.
        shares: what each switch is charged with.
        name: lower-case words joined by hyphens, unique on its page.
        rule: how the shares were found.
    """
    bars = _bars(made, times, shares)
    drawing = FigureBuilder(name, height=120 + 52 * len(bars))
    ends = [second for bar in bars for second in (bar.begin_s, bar.end_s)]
    drawing.log_axis("x", word("time per call"), ends, lambda value: duration(value, 1))
    drawing.rows([bar.label for bar in bars])
    drawing.layout["showlegend"] = False
    for bar in bars:
        _draw(drawing, bar)
    return drawing.build(
        caption=word(
            "From eager mode to the compiled call, {rule}: {steps}.",
            rule=rule,
            steps=_steps_finding(bars),
        ),
        alt=word(
            "{n} bars from top to bottom on a logarithmic axis of time, each beginning where the "
            "one above ends: from {begin} to {end}.",
            n=len(bars),
            begin=duration(bars[0].begin_s),
            end=duration(bars[-1].end_s),
        ),
        table=_table(bars, name=f"{name}-table"),
        origin=origin_line(made.origin, num_threads=1),
    )


def written_table(made: Ledger) -> Table:
    """Show what proves, in the code that was written, that each switch was where it should be.

    Args:
        made: by `switches.ledger`.
    """
    rows = made.written
    table = TableBuilder("written", word("The same function, written in four ways."))
    table.texts(word("Switched on"), [_set_word(row.switches) for row in rows])
    table.counts(word("Loops"), [row.loops for row in rows])
    table.counts(word("Mentions of Vectorized"), [row.vectors for row in rows])
    table.counts(word("Loops shared by threads"), [row.parallel_loops for row in rows])
    table.counts(word("Allocated"), [row.buffer_bytes for row in rows], unit="B")
    names = [account.name_of(row.switches) for row in rows]
    table.seconds(word("Median time"), [made.comparison[name].median_s for name in names])
    return table.build(origin=origin_line(made.origin, num_threads=1))


def thread_finding(made: Ledger, variant: str) -> Word:
    """Say in a clause what a second thread does for eager mode or for the written module.

    Args:
        made: by `switches.ledger`.
        variant: "eager" or "compiled".
    """
    ratio = account.thread_ratio(made, variant)
    if ratio.verdict == "faster":
        return word("{speedup} the speed of one thread", speedup=factor(ratio.speedup))
    if ratio.verdict == "slower":
        return word("{ratio} the time of one thread", ratio=factor(ratio.median))
    return word("no measurable difference")


def share_finding(shares: Sequence[Share], switch: str) -> str:
    """Say by what factor a switch is charged: a division sign where it saves time."""
    return _step(next(share.factor for share in shares if share.switch == switch))


def step_text(time_factor: float) -> str:
    """Write a factor on the time: divided by 2, or multiplied by it."""
    return _step(time_factor)


def _bars(made: Ledger, times: Times, shares: Sequence[Share]) -> list[_Bar]:
    """Chain the steps: eager, plain loops, the switches, and what the rule leaves over."""
    nothing_s, everything_s = times[frozenset()], times[frozenset(s.switch for s in shares)]
    bars = [_Bar(word("plain loops"), made.comparison[EAGER].median_s, nothing_s)]
    for share in shares:
        begin_s = bars[-1].end_s
        bars.append(_Bar(switch_word(share.switch), begin_s, begin_s * share.factor))
    if not math.isclose(bars[-1].end_s, everything_s, rel_tol=1e-9):
        bars.append(_Bar(word("charged to nobody"), bars[-1].end_s, everything_s))
    return bars


def switch_word(switch: str) -> Word:
    """Name a switch as the reader meets it."""
    return {
        "vectors": word("vectors"),
        "fusion": word("fusion"),
        "call": word("guards and wrappers"),
    }[switch]


def _draw(drawing: FigureBuilder, bar: _Bar) -> None:
    mark, label = _mark(bar), drawing.say(bar.label)
    middle_s = math.sqrt(bar.begin_s * bar.end_s)  # of a logarithmic axis
    arrow = "triangle-left" if bar.end_s < bar.begin_s else "triangle-right"
    times = (bar.begin_s, middle_s, bar.end_s)
    drawing.trace(
        type="scatter",
        name=label,
        x=list(times),
        y=[label] * 3,
        mode="lines+markers+text",
        text=["", drawing.say(plain(_step(bar.end_s / bar.begin_s))), ""],
        textposition="top center",
        line={"color": mark.light, "width": 9},
        marker={
            "color": mark.light,
            "size": [1, 1, 16],
            "symbol": ["circle", "circle", arrow],
        },
        hovertext=[drawing.say(plain(duration(second))) for second in times],
        hovertemplate=HOVER,
        cliponaxis=False,
    )


def _mark(bar: _Bar) -> Mark:
    """What saves time has the colour of compiled, what costs time that of eager."""
    return palette.COMPILED if bar.end_s < bar.begin_s else palette.EAGER


def _step(time_factor: float) -> str:
    if time_factor < 1:
        return f"{DIVISION_SIGN}{number(1 / time_factor)}"
    return f"{TIMES_SIGN}{number(time_factor)}"


def _steps_finding(bars: Sequence[_Bar]) -> Word:
    first, *rest = [
        word("{label} {factor}", label=_value(bar.label), factor=_step(bar.end_s / bar.begin_s))
        for bar in bars
    ]
    joined = first
    for one in rest:
        joined = word("{first}, {rest}", first=joined, rest=one)
    whole = bars[0].begin_s / bars[-1].end_s
    return word("{steps}; together {whole}", steps=joined, whole=factor(whole))


def _value(text: Text) -> Word | str:
    return str(text) if isinstance(text, Plain) else text


def _set_word(switches: Sequence[str]) -> Word:
    if not switches:
        return word("neither")
    if len(switches) == 1:
        return switch_word(switches[0])
    return word("vectors and fusion")


def _table(bars: Sequence[_Bar], *, name: str) -> Table:
    table = TableBuilder(name, word("The steps from eager mode to the compiled call."))
    table.texts(word("Step"), [bar.label for bar in bars])
    table.seconds(word("From"), [bar.begin_s for bar in bars])
    table.seconds(word("To"), [bar.end_s for bar in bars])
    table.texts(word("Factor on the time"), [plain(_step(b.end_s / b.begin_s)) for b in bars])
    return table.build()
