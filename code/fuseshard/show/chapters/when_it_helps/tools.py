"""Show the same model through other tools, and the rules that the page ends in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fuseshard import palette
from fuseshard.measure.records import Comparison, Ratio
from fuseshard.palette import Mark
from fuseshard.show.chapters.when_it_helps.speed_maps import brief_finding
from fuseshard.show.charts.comparison import comparison_figure, finding
from fuseshard.show.charts.variants import Variant, known_variants
from fuseshard.show.records import Figure, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, plain, word


def _compiled_elsewhere(symbol: str) -> Mark:
    """Compiled, though not by torch.compile: its colour with another symbol."""
    return Mark(palette.COMPILED.light, palette.COMPILED.dark, "dot", symbol, ".")


def tool_variants() -> dict[str, Variant]:
    """Return labels and marks of the tools."""
    return {
        "eager": known_variants()["eager"],
        "compiled": Variant(plain("torch.compile"), palette.COMPILED),
        "torchscript": Variant(plain("TorchScript"), _compiled_elsewhere("square-open")),
        "aot_inductor": Variant(plain("AOTInductor"), _compiled_elsewhere("diamond-open")),
        "onnx_runtime": Variant(plain("ONNX Runtime"), _compiled_elsewhere("triangle-up-open")),
    }


def tool_figure(tools: Comparison, batch: int) -> Figure:
    """Draw one call of the model through each tool.

    Args:
        tools: "eager" first, then others of `tool_variants`.
        batch: examples in it.
    """
    return comparison_figure(
        "tools",
        tools,
        subject=word("The MLP at batch {n}", n=batch),
        variants=tool_variants(),
    )


def tool_finding(tools: Comparison, name: str) -> Word:
    """Say in a clause what one tool gains over eager mode, if anything."""
    known = tool_variants()
    timing, ratio = tools.candidate(name)
    return finding(timing, ratio, known["eager"].in_sentence, known[name].in_sentence)


def share_table(shares: Mapping[str, float]) -> Table:
    """Show how much of the bound each tool's difference from eager uses up.

    Args:
        shares: tool -> largest difference over its bound.
    """
    known = tool_variants() | {
        "broken": Variant(word("eager mode, last bias added twice"), palette.EAGER)
    }
    table = TableBuilder("tool-differences", word("Largest difference from eager mode."))
    table.texts(word("Computed by"), [known[name].label for name in shares])
    table.numbers(word("Share of the bound"), list(shares.values()))
    verdicts: list[Text] = [
        word("rounding") if share <= 1 else word("a bug") for share in shares.values()
    ]
    table.texts(word("Verdict"), verdicts)
    return table.build()


def rule_table(evidence: Sequence[Ratio | Word]) -> Table:
    """Show when to compile, each rule with what this page has measured.

    Args:
        evidence: a ratio to eager mode, or a clause, for each of the rules in their order.

    Raises:
        ValueError: there are more or fewer clauses than rules.
    """
    rules = _rules()
    if len(evidence) != len(rules):
        raise ValueError(
            f"rule_table: got {len(evidence)} findings, must be {len(rules)} (a rule without a "
            "measurement is folklore); pass one for each."
        )
    table = TableBuilder("rules", word("When to compile, and what says so on this page."))
    table.texts(word("What your program does"), [situation for situation, _ in rules])
    table.texts(word("What to do"), [advice for _, advice in rules])
    found = [brief_finding(one) if isinstance(one, Ratio) else one for one in evidence]
    table.texts(word("Measured here"), found)
    return table.build()


def _rules() -> list[tuple[Word, Word]]:
    return [
        (
            word("many elementwise operations on large tensors"),
            word("compile; the gain grows with the chain, up to a ceiling"),
        ),
        (
            word("few operations on few numbers"),
            word("don't compile them alone: compile a larger part of the program"),
        ),
        (
            word("large matrix products, and little between them"),
            word("expect no gain; look for larger batches or lower precision"),
        ),
        (
            word("elementwise work between small products"),
            word("compile, and measure at your size"),
        ),
        (
            word("a graph break every few operations"),
            word("remove the breaks first"),
        ),
        (
            word("training steps"),
            word("compile the model, and measure the whole step"),
        ),
        (
            word("tokens one at a time"),
            word("use a cache of fixed size, and compile the step"),
        ),
        (
            word("a script that runs once, for minutes"),
            word("compare its length with the first call"),
        ),
        (
            word("serving without Python"),
            word("export; time AOTInductor and ONNX Runtime"),
        ),
    ]
