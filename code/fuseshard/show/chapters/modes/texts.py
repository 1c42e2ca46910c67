"""What Inductor wrote under each mode: the functions around the kernels, and what differs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fuseshard.compiler.modes.records import Effect, Written
from fuseshard.show.chapters.modes.switches import effect_word
from fuseshard.show.charts.variants import as_value
from fuseshard.show.choices import Choice, choose
from fuseshard.show.records import Source, Table
from fuseshard.show.sources import Anchor, annotated_source, on
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, plain, word


def program_names() -> dict[str, Text]:
    """Return what readers call the three small programs."""
    return {
        "chain": word("A chain of pointwise operations"),
        "layers": word("Two linear layers"),
        "minigpt": word("MiniGPT with one block"),
    }


def written_table(
    written: Mapping[str, Mapping[str, Written]], effects: Mapping[str, Effect]
) -> Table:
    """Compare what each mode made Inductor write with what it writes by default.

    Args:
        written: program -> mode -> module.
        effects: mode -> what differs from the default mode, in every program.
    """
    names = program_names()
    first, *rest = (as_value(names[program]) for program in written)
    caption = word(
        "What Inductor writes for this CPU. Counts are for: {first}; {second}; {third}.",
        first=first,
        second=rest[0],
        third=rest[1],
    )
    table = TableBuilder("written", caption)
    table.code(word("Mode"), list(effects))

    def counts(count: Callable[[Written], int]) -> list[Text]:
        return [
            plain(" / ".join(str(count(written[program][mode])) for program in written))
            for mode in effects
        ]

    table.texts(word("Kernels written"), counts(lambda module: len(module.kernels)))
    table.texts(word("Library calls"), counts(lambda module: module.library_calls))
    table.texts(word("CUDA graphs left out"), counts(lambda module: module.skips))
    differs = [effect_word(effect) for effect in effects.values()]
    table.texts(word("Differs from the default in"), differs)
    return table.build()


def error_table(errors: Mapping[str, Mapping[str, float]], allowed: float) -> Table:
    """Judge the error of each way to run the programs by eager mode's own.

    Args:
        errors: way -> program -> largest error against float64; "eager" is among the ways, and
            "edited" is a module with one operation replaced.
        allowed: multiple of eager mode's error that rounding explains.
    """
    caption = word("Largest error against float64, relative to the largest value.")
    table = TableBuilder("errors", caption)
    edited = word("lite's module, one operation replaced")
    table.texts(word("Way"), [edited if way == "edited" else plain(way) for way in errors])
    for program in errors["eager"]:
        found = [own.get(program) for own in errors.values()]
        table.numbers(program_names()[program], found, significant=2)
    table.texts(
        word("Verdict"),
        [
            # `not <=` also catches NaN, which compares false with everything.
            word("rounding")
            if all(own[name] <= allowed * errors["eager"][name] for name in own)
            else word("a bug")
            for own in errors.values()
        ],
    )
    return table.build()


def call_chooser(calls: Mapping[str, str]) -> Choice:
    """Let the reader pick a mode, and show the function that Inductor wrote for the chain.

    Args:
        calls: mode -> text of the function `call`.
    """
    options = [(plain(mode), _call(mode, code)) for mode, code in calls.items()]
    return choose("chain-calls", word("Mode"), options)


def _call(mode: str, code: str) -> Source:
    return annotated_source(
        f"call-{mode}",
        word("The function that Inductor wrote for the chain, mode {mode}", mode=mode),
        code,
        language="python",
        notes=_notes(code),
        folded=False,
    )


def _notes(code: str) -> Sequence[Anchor]:
    """Explain the lines by which the functions differ."""
    if "cpp_fused" not in code:
        return [
            on(
                r"torch\.ops\.aten\.mul",
                word("No kernel of Inductor's: each operation is a call, as in eager mode."),
            )
        ]
    kernel = on(r"cpp_fused\w*\(", word("One kernel for all six operations."))
    if "'input')" not in code:
        return [kernel]
    return [
        on(r"assert_size_stride\(arg", word("Is the input as it was when this was compiled?")),
        kernel,
    ]
