"""Show what a search for the best matrix product costs, and what it gains."""

from __future__ import annotations

from collections.abc import Sequence

from fuseshard import palette
from fuseshard.compiler.templates.records import GemmSize
from fuseshard.palette import Mark
from fuseshard.show.cards import origin_line
from fuseshard.show.chapters.templates.products import place_word
from fuseshard.show.charts.comparison import comparison_figure, finding
from fuseshard.show.charts.variants import Variant, known_variants
from fuseshard.show.choices import Choice, choose
from fuseshard.show.numbers import duration, factor, number
from fuseshard.show.records import Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, plain, word


def _compiled(symbol: str) -> Mark:
    """Compiled in another way: the colour of compiled with another symbol."""
    return Mark(palette.COMPILED.light, palette.COMPILED.dark, "dot", symbol, ".")


def ways() -> dict[str, Variant]:
    """Return labels and marks of the ways to run the layer."""
    return {
        "default": Variant(word("default"), palette.COMPILED, word("the default")),
        "eager": known_variants()["eager"],
        "frozen": Variant(word("frozen"), _compiled("square-open"), word("the frozen layer")),
        "searched": Variant(
            word("frozen, max-autotune"),
            _compiled("diamond-open"),
            word("the frozen layer under max-autotune"),
        ),
    }


def size_chooser(sizes: Sequence[GemmSize]) -> Choice:
    """Draw steady times, one figure a size."""
    options = [
        (
            word("{rows} rows", rows=number(size.rows)),
            comparison_figure(
                f"gemm-{size.rows}",
                size.comparison,
                subject=word("Linear layer and relu at {rows} rows", rows=number(size.rows)),
                variants=ways(),
            ),
        )
        for size in sizes
    ]
    return choose("gemm-sizes", word("Size"), options)


def gain_finding(size: GemmSize) -> Word:
    """Say in a clause what the search gained over the default at one size."""
    timing, ratio = size.comparison.candidate("searched")
    known = ways()
    clause = finding(timing, ratio, known["default"].in_sentence, known["searched"].in_sentence)
    return word("at {rows} rows {finding}", rows=number(size.rows), finding=clause)


def candidate_table(sizes: Sequence[GemmSize]) -> Table:
    """List what Inductor timed at each size, fastest first."""
    timed = [(size, one) for size in sizes for one in size.candidates]
    if not timed:
        table = TableBuilder("candidates", word("max-autotune timed nothing on this machine."))
        table.texts(word("Rows"), [plain(number(size.rows)) for size in sizes])
        return table.build()
    caption = word("What max-autotune timed, by its own clock and without the relu.")
    table = TableBuilder("candidates", caption)
    table.texts(word("Rows"), [plain(number(size.rows)) for size, _ in timed])
    table.code(word("Candidate"), [one.name for _, one in timed])
    table.seconds(word("Time"), [one.seconds for _, one in timed])
    chosen: list[Text] = [
        word("chosen") if one is size.candidates[0] else word("not chosen") for size, one in timed
    ]
    table.texts(word("Choice"), chosen)
    note = word("One machine, one search: close times may come out the other way round.")
    return table.build(notes=[note], origin=origin_line(sizes[0].comparison.origin))


def choice_finding(size: GemmSize) -> Word:
    """Say in a clause what was chosen at one size, by how much, and where the relu went."""
    where = place_word(size.place)
    if len(size.candidates) < 2:
        return word(
            "at {rows} rows there was nothing to choose, and the relu is {where}",
            rows=number(size.rows),
            where=where,
        )
    first, second = size.candidates[:2]
    return word(
        "at {rows} rows {name} won by {factor}, and the relu is {where}",
        rows=number(size.rows),
        name=first.name,
        factor=factor(second.seconds / first.seconds),
        where=where,
    )


def first_call_table(sizes: Sequence[GemmSize]) -> Table:
    """Show the first call of each way at each size."""
    known = ways()
    names = list(sizes[0].first_calls_s)
    caption = word("The first call, with nothing taken from a cache.")
    table = TableBuilder("gemm-first-calls", caption)
    table.texts(word("Rows"), [plain(number(size.rows)) for size in sizes])
    for name in names:
        table.numbers(known[name].label, [size.first_calls_s[name] for size in sizes], "s")
    return table.build(origin=origin_line(sizes[0].comparison.origin))


def price_finding(sizes: Sequence[GemmSize]) -> Word:
    """Say in a clause how much longer the first calls take with a search."""
    searched = sum(size.first_calls_s["searched"] for size in sizes)
    default = sum(size.first_calls_s["default"] for size in sizes)
    return word(
        "the first calls took {searched} with a search and {default} without",
        searched=duration(searched),
        default=duration(default),
    )
