"""Draw a stack compiled as a whole, layer by layer and with a nested region."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fuseshard import palette
from fuseshard.compiler.caches.records import FirstCall, RegionPoint, RegionSweep
from fuseshard.palette import Mark
from fuseshard.show.beside.draw import beside
from fuseshard.show.cards import origin_line
from fuseshard.show.charts.comparison import comparison_figure, finding
from fuseshard.show.charts.variants import Variant, known_variants
from fuseshard.show.choices import Choice, choose
from fuseshard.show.numbers import duration, number
from fuseshard.show.recorded import HasResult
from fuseshard.show.records import Figure, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, word

# All three run Inductor's code, so all have its colour.
_REGIONAL = Mark(palette.COMPILED.light, palette.COMPILED.dark, "dot", "square-open", ".")
_NESTED = Mark(palette.COMPILED.light, palette.COMPILED.dark, "dashdot", "diamond", "x")


def own_variants() -> dict[str, Variant]:
    """Return labels and marks of the ways in which this chapter compiles a stack."""
    return {
        "eager": known_variants()["eager"],
        "whole": Variant(word("as a whole"), palette.COMPILED, word("the stack as a whole")),
        "regional": Variant(word("layer by layer"), _REGIONAL, word("the stack layer by layer")),
        "nested": Variant(word("nested region"), _NESTED, word("the stack with a nested region")),
    }


def regions_choice(sweep: RegionSweep) -> Choice:
    """Show the steady times of one stack at a time.

    Args:
        sweep: of a CPU.
    """
    options = [(stack_word(point), _steady_figure(point)) for point in _points(sweep)]
    return choose("regions", word("Stack"), options, control="slider", start=len(options) - 2)


def _steady_figure(point: RegionPoint) -> Figure:
    return comparison_figure(
        f"regions-{point.num_layers}-{point.width}",
        point.comparison,
        subject=stack_word(point),
        variants=own_variants(),
        has_first_calls=False,  # they are in `bargain_choice`
    )


def stack_word(point: RegionPoint) -> Word:
    """Name a stack by its layers, their width and the rows of the input."""
    return word(
        "{layers} layers, {rows} rows of {width} features",
        layers=point.num_layers,
        rows=number(point.num_rows),
        width=number(point.width),
    )


def bargain_choice(sweep: RegionSweep) -> Choice:
    """Show what each way to compile a stack takes once and at every call, one stack at a time.

    Args:
        sweep: live or recorded.
    """
    options = [(stack_word(point), _bargain(point, sweep)) for point in _points(sweep)]
    label = word("Stack")
    return choose(f"bargains-{sweep.device}", label, options, start=len(options) - 2)


def _bargain(point: RegionPoint, sweep: RegionSweep) -> Table:
    """Show one stack in four narrow columns, so that a phone has room for them."""
    ways = list(point.first_calls)
    known, calls = own_variants(), [point.first_calls[way] for way in ways]
    table = TableBuilder(
        f"bargain-{sweep.device}-{point.num_layers}-{point.width}",
        word("{stack}, compiled in several ways.", stack=stack_word(point)),
    )
    table.texts(word("Way"), [known[way].label for way in ways])
    table.seconds(word("Once"), [call.elapsed_s or None for call in calls])
    table.seconds(word("Each call"), [point.comparison[way].median_s for way in ways])
    ratios = [point.to_whole.get(way) for way in ways]
    table.numbers(word("over the whole"), [r.median if r else None for r in ratios])
    threads = 1 if sweep.device == "cpu" else None
    return table.build(notes=_notes(calls), origin=origin_line(sweep.origin, num_threads=threads))


def _notes(calls: Sequence[FirstCall]) -> list[Word]:
    """Say why a stack captured no graph or its table has no first call, where that is so."""
    notes = []
    if any(call.graphs == 0 for call in calls):
        notes.append(word("Layer by layer no graph was captured: the layer was found in memory."))
    if not all(call.parts_s for call in calls):
        notes.append(
            word(
                "No first call: it may have found compiled code in memory or on disk, so its time "
                "would say nothing."
            )
        )
    return notes


def recorded_regions(outcome: HasResult[RegionSweep]) -> Choice | Word:
    """Show a recorded sweep, another machine's beside it, or say how to record it.

    Args:
        outcome: of the experiment, called on any machine.
    """
    return beside(outcome, bargain_choice)


def gpu_finding(sweep: RegionSweep | None) -> Word:
    """Say in a clause what was recorded of compiling layer by layer on a GPU.

    Args:
        sweep: recorded; None if it isn't yet.
    """
    if sweep is None:
        return word("what this costs there is not recorded yet")
    return word(
        "{once}; at every call, with the recipe's layers, {narrow}, and with layers of {width} "
        "features, {wide}",
        once=first_call_finding(sweep),
        narrow=region_finding(sweep.points[-1], "regional"),
        width=number(sweep.wide.width),
        wide=region_finding(sweep.wide, "regional"),
    )


def first_call_finding(sweep: RegionSweep) -> Word:
    """Say in a clause what compiling the deepest stack layer by layer saves once.

    Args:
        sweep: live or recorded.
    """
    point = sweep.points[-1]
    whole_s, regional_s = (point.first_calls[way].elapsed_s for way in ("whole", "regional"))
    return word(
        "the first call of {layers} layers takes {whole} as a whole and {regional} layer by layer, "
        "less by a factor of {ratio}",
        layers=point.num_layers,
        whole=duration(whole_s),
        regional=duration(regional_s),
        ratio=number(whole_s / regional_s, 2),
    )


def region_finding(point: RegionPoint, way: str) -> Word:
    """Say in a clause what a way's later calls take against those of the whole.

    Args:
        point: live or recorded.
        way: regional or nested.
    """
    ratio, known = point.to_whole[way], own_variants()
    timing = replace(point.comparison[way], ratio=ratio)
    return finding(timing, ratio, known["whole"].in_sentence, known[way].in_sentence)


def eager_finding(point: RegionPoint, way: str) -> Word:
    """Say in a clause what a way's later calls take against eager mode.

    Args:
        point: live or recorded.
        way: whole, regional or nested.
    """
    timing, ratio = point.comparison.candidate(way)
    known = own_variants()
    return finding(timing, ratio, known["eager"].in_sentence, known[way].in_sentence)


def per_layer_finding(point: RegionPoint) -> Word:
    """Say in a clause what a layer compiled by itself costs at every call, beyond the whole's.

    Args:
        point: of narrow layers.
    """
    own_s, whole_s = (point.comparison[way].median_s for way in ("regional", "whole"))
    extra_s = (own_s - whole_s) / point.num_layers
    if point.to_whole["regional"].verdict != "slower" or extra_s <= 0:
        return word("no such price was measured")
    return word("that is {extra} for each layer and call", extra=duration(extra_s))


def condition_finding(sweep: RegionSweep) -> Word:
    """Say in a clause whether the price of compiling layer by layer depends on the layer.

    Args:
        sweep: live or recorded.
    """
    narrow, wide = (p.to_whole["regional"] for p in (sweep.points[-1], sweep.wide))
    if narrow.verdict == "slower" and wide.high < narrow.low:
        return word(
            "wide layers pay less for it than narrow ones: the price of an entry is the same, and "
            "they compute more between two entries"
        )
    return word("narrow and wide layers could not be told apart in this measurement")


def _points(sweep: RegionSweep) -> Sequence[RegionPoint]:
    return (*sweep.points, sweep.wide)


def label_of(way: str) -> Text:
    """Name a way in legends and heads."""
    return own_variants()[way].label
