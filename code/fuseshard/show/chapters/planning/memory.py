"""Show where Inductor's buffers live: live memory along a call, under each setting."""

from __future__ import annotations

import re
from collections.abc import Mapping

from fuseshard import palette
from fuseshard.compiler.planning.records import MemoryUse, Timeline
from fuseshard.show.choices import Choice, choose
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.numbers import number
from fuseshard.show.records import Figure, Source, Table
from fuseshard.show.sources import annotated_source, on
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Word, plain, word

KIB = 1024


def setting_words() -> dict[str, Word]:
    """Name the settings of `compiler.planning.measured.SETTINGS`, and eager mode."""
    return {
        "eager": word("eager mode"),
        "nothing": word("no reuse"),
        "in place": word("in place only"),
        "hand on": word("handing on only"),
        "default": word("both: torch's default"),
        "pool": word("both, and pools"),
    }


def wrapper_source(wrapper: str) -> Source:
    """Show the wrapper of the gated program, with its kinds of reuse.

    Args:
        wrapper: as torch writes it by default.
    """
    notes = [
        on(r"buf0 = empty", word("An allocation: shape, strides, dtype.")),
        on(
            r"buf2 = buf0; del buf0  # reuse",
            word("In place: the kernel below reads buf0 and writes its result over it."),
        ),
        on(r"del buf3$", word("The last name goes, and with it the memory.")),
        on(
            r"# reuse",
            word("Handed on: a product writes into memory whose owner is dead."),
            occurrence=2,
        ),
        on(r"return \(buf", word("The output: its memory belongs to the caller from here on.")),
    ]
    caption = word("What Inductor wrote around the kernels of two gated layers")
    return annotated_source(
        "gated-wrapper", caption, without_checks(wrapper), language="python", notes=notes
    )


def without_checks(wrapper: str) -> str:
    """Leave out comments and checks of shapes, which say nothing about memory."""
    silent = re.compile(r"\s*(#|assert_size_stride)")
    return "\n".join(line for line in wrapper.splitlines() if not silent.match(line))


def live_chooser(timelines: Mapping[str, Timeline]) -> Choice:
    """Draw live memory at each call, one figure a setting.

    Args:
        timelines: by setting, "nothing" among them; all of one program.
    """
    names = setting_words()
    reference = timelines["nothing"]
    top = max(timeline.use.peak_bytes for timeline in timelines.values()) / KIB
    options = [
        (names[setting], _live_figure(setting, timeline, reference, top))
        for setting, timeline in timelines.items()
    ]
    start = list(timelines).index("default") if "default" in timelines else 0
    return choose("live-memory", word("Reuse"), options, start=start)


def _live_figure(setting: str, timeline: Timeline, reference: Timeline, top: float) -> Figure:
    name = setting_words()[setting]
    live, before = _live_kib(timeline), _live_kib(reference)
    steps = [float(step) for step in range(1, len(live) + 1)]
    drawing = FigureBuilder(f"live-{setting.replace(' ', '-')}", height=320)
    drawing.x_axis(word("call"), dtick=1)
    drawing.y_axis(word("live memory (KiB)"), range=[0, top * 1.1])
    drawing.bars(
        name,
        steps,
        live,
        palette.COMPILED,
        hover=[f"{number(value)} KiB" for value in live],
        opacity=0.5,  # the dotted line has to be seen in front of the bars
    )
    if setting != "nothing":
        drawing.line(setting_words()["nothing"], steps, before, palette.FORMULA)
    peak = number(timeline.use.peak_bytes / KIB)
    caption = word(
        "Live buffers at each call ({name}): the peak is {peak} KiB, from {n} allocations.",
        name=name,
        peak=peak,
        n=timeline.use.allocations,
    )
    alt = word(
        "One bar a call, {n} in all; the highest reaches {peak} KiB.", n=len(live), peak=peak
    )
    return drawing.build(caption=caption, alt=alt, table=_live_table(setting, timeline, live))


def _live_table(setting: str, timeline: Timeline, live: list[float]) -> Table:
    name = setting_words()[setting]
    table = TableBuilder(
        f"live-{setting.replace(' ', '-')}-table",
        word("Live buffers at each call ({name}).", name=name),
    )
    table.texts(word("Call"), [plain(step) for step in range(1, len(live) + 1)])
    table.code(word("Function"), list(timeline.calls))
    table.numbers(word("Live memory"), live, "KiB", significant=4)
    return table.build()


def _live_kib(timeline: Timeline) -> list[float]:
    return [num_bytes / KIB for num_bytes in timeline.live_at_calls]


def setting_table(worked_out: Mapping[str, MemoryUse], measured: Mapping[str, MemoryUse]) -> Table:
    """Show what each setting asks for, worked out from the text and measured.

    Args:
        worked_out: setting -> from the wrapper's text; eager mode has none.
        measured: setting -> as the allocator reported it.
    """
    names = setting_words()
    caption = word("One call of the gated program: what it asks an allocator for.")
    table = TableBuilder("reuse-settings", caption)
    table.texts(word("Reuse"), [names[setting] for setting in measured])
    table.counts(word("Allocations"), [use.allocations for use in measured.values()])
    asked = [use.allocated_bytes / KIB for use in measured.values()]
    table.numbers(word("Bytes in all"), asked, "KiB", significant=4)
    peaks = [use.peak_bytes / KIB for use in measured.values()]
    table.numbers(word("Peak, measured"), peaks, "KiB", significant=4)
    read = [
        worked_out[setting].peak_bytes / KIB if setting in worked_out else None
        for setting in measured
    ]
    table.numbers(word("Peak, from the text"), read, "KiB", significant=4)
    return table.build()
