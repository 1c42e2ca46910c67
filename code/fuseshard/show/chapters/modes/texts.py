"""What Inductor wrote under each mode: the functions around the kernels, and what differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fuseshard.compiler.modes.records import Effect, Written
from fuseshard.show.chapters.modes.switches import effect_word
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
    written: Mapping[str, Mapping[str, Written]], effects: Mapping[str, Mapping[str, Effect]]
) -> Table:
    """Compare what each mode made Inductor write with what it writes by default.

    Args:
        written: program -> mode -> module.
        effects: program -> mode -> what differs from the default mode.
    """
    rows = [(program, mode) for program in written for mode in written[program]]
    modules = [written[program][mode] for program, mode in rows]
    table = TableBuilder("written", word("What Inductor writes for this CPU under each mode."))
    table.texts(word("Program"), [program_names()[program] for program, _ in rows])
    table.code(word("Mode"), [mode for _, mode in rows])
    table.counts(word("Kernels written"), [len(module.kernels) for module in modules])
    table.counts(word("Library calls"), [module.library_calls for module in modules])
    table.counts(word("CUDA graphs left out"), [module.skips for module in modules])
    differs = [effect_word(effects[program][mode]) for program, mode in rows]
    table.texts(word("Differs from the default in"), differs)
    return table.build()


def error_table(errors: Mapping[str, Mapping[str, float]], allowed: float) -> Table:
    """Judge the error of each way to run a program by eager mode's own.

    Args:
        errors: program -> way -> largest error against float64; "eager" is among the ways,
            and "edited" is a module with one operation replaced.
        allowed: multiple of eager mode's error that rounding explains.
    """
    edited = word("lite's module, one operation replaced")
    rows = [(program, way) for program in errors for way in errors[program]]
    own = [errors[program]["eager"] for program, _ in rows]
    found = [errors[program][way] for program, way in rows]
    caption = word("Largest error against float64, relative to the largest value.")
    table = TableBuilder("errors", caption)
    table.texts(word("Program"), [program_names()[program] for program, _ in rows])
    table.texts(word("Way"), [edited if way == "edited" else plain(way) for _, way in rows])
    table.numbers(word("Error"), found, significant=2)
    table.numbers(word("of eager mode's"), [e / o for e, o in zip(found, own, strict=True)])
    verdicts = [
        # `not <=` also catches NaN, which compares false with everything.
        word("rounding") if error <= allowed * mine else word("a bug")
        for error, mine in zip(found, own, strict=True)
    ]
    table.texts(word("Verdict"), verdicts)
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
