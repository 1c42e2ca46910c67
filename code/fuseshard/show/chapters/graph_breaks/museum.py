"""The museum on the page: a floor plan, a table and a listing for each room, and the verdicts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import get_args

from fuseshard import palette
from fuseshard.compiler.breaks.records import Cause, Specimen, Status
from fuseshard.palette import Mark
from fuseshard.show.chapters.graph_breaks.terms import (
    cause_word,
    room_word,
    status_word,
    verdict_word,
)
from fuseshard.show.choices import Choice, choose
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.numbers import number
from fuseshard.show.records import Figure, Note, Source, Table
from fuseshard.show.sources import annotated_source, lines
from fuseshard.show.tables import MISSING, TableBuilder
from fuseshard.show.words import Text, Word, plain, word


def status_marks() -> dict[Status, Mark]:
    """Draw compiled code in compiled's colour, pale where it is cut; what stays eager in eager's.

    A hatched bar is one graph under fullgraph.
    """
    return {
        "one graph": _look(palette.COMPILED, ""),
        "cut, captured": _look(palette.COMPILED, "/", pale=True),
        "cut, refused": _look(palette.COMPILED, "", pale=True),
        "no graph, captured": _look(palette.EAGER, "/", pale=True),
        "no graph": _look(palette.EAGER, ""),
    }


def _look(like: Mark, pattern: str, *, pale: bool = False) -> Mark:
    colours = (like.band, palette.translucent(like.dark)) if pale else (like.light, like.dark)
    return Mark(*colours, like.dash, like.symbol, pattern)


def floor_plan(specimens: Sequence[Specimen]) -> Figure:
    """Draw how many exhibits of each room break, and how.

    Args:
        specimens: from `compiler.breaks.museum.tour`.
    """
    rooms = rooms_of(specimens)
    drawing = FigureBuilder("floor-plan", height=130 + 44 * len(rooms))
    drawing.x_axis(word("exhibits"), rangemode="tozero")
    drawing.rows([room_word(room) for room in rooms])
    drawing.layout |= {"barmode": "stack", "bargap": 0.3}
    drawing.layout["legend"]["traceorder"] = "normal"
    table = TableBuilder("floor-plan-table", word("Exhibits of each room by what becomes of them."))
    table.texts(word("Room"), [room_word(room) for room in rooms])
    for status, mark in status_marks().items():
        counts = [_count(exhibits, status) for exhibits in rooms.values()]
        table.counts(status_word(status), counts)
        drawing.bars(
            status_word(status),
            counts,
            [room_word(room) for room in rooms],
            mark,
            hover=[number(count) for count in counts],
            orientation="h",
        )
    whole = _count(specimens, "one graph")
    return drawing.build(
        caption=word(
            "{whole} of {all} exhibits are one graph (solid blue). Pale blue is cut into several, "
            "orange is no graph at all by default; hatched is one graph under fullgraph.",
            whole=whole,
            all=len(specimens),
        ),
        alt=word(
            "Stacked bars, one a room. How many exhibits break, room by room: {rooms}.",
            rooms=", ".join(
                f"{number(sum(item.is_broken for item in exhibits))}/{number(len(exhibits))}"
                for exhibits in rooms.values()
            ),
        ),
        table=table.build(),
    )


def rooms_of(specimens: Sequence[Specimen]) -> dict[str, list[Specimen]]:
    """Sort exhibits by their rooms, in the order of the tour."""
    rooms: dict[str, list[Specimen]] = {}
    for specimen in specimens:
        rooms.setdefault(specimen.room, []).append(specimen)
    return rooms


def tables(specimens: Sequence[Specimen]) -> Choice:
    """Show one room at a time: what each exhibit does, what Dynamo says, what repairs it."""
    rooms = rooms_of(specimens).items()
    options = [(room_word(room), _room_table(room, exhibits)) for room, exhibits in rooms]
    return choose("museum", word("Room"), options)


def listings(specimens: Sequence[Specimen]) -> Choice:
    """Show one room at a time: the code of its exhibits, with notes on the lines that break."""
    rooms = rooms_of(specimens).items()
    options = [(room_word(room), _room_listing(room, exhibits)) for room, exhibits in rooms]
    return choose("museum-code", word("Room"), options)


def court(specimens: Sequence[Specimen]) -> Table:
    """Judge older advice on what breaks a graph, cause by cause."""
    causes = [cause for cause in get_args(Cause) if _blamed(specimens, cause)]
    groups = [_blamed(specimens, cause) for cause in causes]
    refused = [sum(item.full.error is not None for item in group) for group in groups]
    table = TableBuilder("court", word("Older advice says: this breaks the graph. Does it?"))
    table.texts(word("Blamed"), [cause_word(cause) for cause in causes])
    table.texts(word("Break"), [_of(_broken(group), group) for group in groups])
    table.texts(
        word("Errors under fullgraph"),
        [_of(count, group) for count, group in zip(refused, groups, strict=True)],
    )
    table.texts(word("Verdict"), [advice_verdict(group) for group in groups])
    return table.build()


def _of(count: int, group: Sequence[Specimen]) -> Text:
    return plain(f"{count}/{len(group)}")


def advice_verdict(group: Sequence[Specimen]) -> Word:
    """Judge one piece of advice by all exhibits that it is about.

    Args:
        group: at least one exhibit, all of one cause.
    """
    verdicts = {item.verdict for item in group}
    if verdicts == {"holds"}:
        return word("holds")
    if not any(item.is_broken for item in group):
        if verdicts == {"no longer"}:
            return word("no longer true")
        return word("no longer true; some recompile at each call")
    if "holds" not in verdicts and "only by default" in verdicts:
        if all(item.is_broken for item in group):
            return word("only without fullgraph")
        return word("only some, and only without fullgraph")
    return word("too general")


def _broken(group: Sequence[Specimen]) -> int:
    return sum(item.is_broken for item in group)


def _blamed(specimens: Sequence[Specimen], cause: Cause) -> list[Specimen]:
    return [item for item in specimens if item.cause == cause]


def _count(specimens: Sequence[Specimen], status: Status) -> int:
    return sum(item.status == status for item in specimens)


def _room_table(room: str, exhibits: Sequence[Specimen]) -> Table:
    caption = word("{room}: what becomes of each exhibit.", room=room_word(room))
    table = TableBuilder(f"room-{room}", caption)
    table.code(word("Exhibit"), [item.title for item in exhibits])
    table.texts(word("Graphs"), [_graphs(item) for item in exhibits])
    table.texts(plain("fullgraph"), [_fullgraph(item) for item in exhibits])
    table.texts(word("Dynamo's message"), [_message(item) for item in exhibits])
    verdicts = [verdict_word(item.verdict) or MISSING for item in exhibits]
    table.texts(word("Older advice: it breaks"), verdicts)
    return table.build()


def _graphs(item: Specimen) -> Text:
    """Say how many graphs the first call captured, and what later ones did."""
    first = item.default.graphs[0]
    if item.never_settles:
        return word("{n}, anew at each call", n=first)
    if not item.default.is_same:
        return word("{n}, with another result", n=first)
    return plain(first)


def _fullgraph(item: Specimen) -> Text:
    return word("error") if item.full.error is not None else plain(item.full.graphs[0])


def _message(item: Specimen) -> Text:
    message = item.message
    if message is None:
        return MISSING
    # The setting in some names is a word too long for a column; the listing shows them whole.
    kind = re.sub(r" with \S+=False`?$", " …", message.kind)
    return plain(f"{kind} → {message.aftermath}" if message.aftermath else kind)


def _room_listing(room: str, exhibits: Sequence[Specimen]) -> Source:
    """Write the room's code down, exhibits and repairs, and hang notes on it."""
    parts: list[str] = []
    notes: list[Note] = []
    for item in exhibits:
        first = 1 + sum(len(part.splitlines()) + 1 for part in parts)
        parts.append(item.source)
        notes.append(_broken_note(item, first))
        if item.fixed_source:
            first += len(item.source.splitlines()) + 1
            parts.append(item.fixed_source)
            text = word("Repaired: one graph, the same result.")
            notes.append(lines(first, first, text))
        elif item.remedy:
            text = word("Repaired by {setting}.", setting=item.remedy)
            notes.append(lines(first, first, text))
    caption = word("{room}: the exhibits' code, with what Dynamo says.", room=room_word(room))
    code = "\n\n".join(parts)
    return annotated_source(
        f"code-{room}", caption, code, language="python", notes=notes, folded=False
    )


def _broken_note(item: Specimen, first: int) -> Note:
    """Hang a note on the line that breaks, or on the first one."""
    message = item.message
    if message is None:
        return lines(first, first, _whole_note(item))
    at = first + (message.line or 1) - 1
    said = {"kind": message.kind, "hint": message.advice}
    n = item.default.graphs[0]
    if not said["hint"]:
        return lines(at, at, word("Graphs: {n}. “{kind}”.", n=n, kind=said["kind"]))
    return lines(at, at, word("Graphs: {n}. “{kind}”. Hint: “{hint}”", n=n, **said))


def _whole_note(item: Specimen) -> Word:
    if item.never_settles:
        return word("One graph, but a new one at each call.")
    if not item.default.is_same:
        return word("One graph, but not the result of eager mode.")
    return word("One graph.")
