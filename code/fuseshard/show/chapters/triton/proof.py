"""Whether code written without a GPU is the code that is written with one, program by program."""

from __future__ import annotations

from collections.abc import Sequence

from fuseshard.compiler.gpu_study.same_text.records import CardKernel, SameText, SameTextReport
from fuseshard.show.beside.draw import beside
from fuseshard.show.cards import origin_line
from fuseshard.show.chapters.triton.names import program_word, target_name
from fuseshard.show.chapters.triton.widths import configured
from fuseshard.show.charts.variants import as_value, listed
from fuseshard.show.choices import Choice, choose
from fuseshard.show.recorded import HasResult, nothing_recorded, record_it
from fuseshard.show.records import Source, Table
from fuseshard.show.sources import annotated_source
from fuseshard.show.tables import MISSING, TableBuilder
from fuseshard.show.words import Text, Word, plain, word


def same_text_table(outcome: HasResult[SameTextReport]) -> Table | Choice | Word:
    """Show for each program whether both texts are identical, or how many lines differ.

    Args:
        outcome: of the experiment "gpu.same-text".
    """
    return beside(outcome, _same_text_table)


def _same_text_table(report: SameTextReport) -> Table:
    programs = report.programs
    caption = word(
        "Programs compiled with an {gpu} and with the card hidden: {same} of {n} texts are "
        "identical.",
        gpu=target_name(report.target),
        same=report.num_identical,
        n=len(programs),
    )
    table = TableBuilder("same-text", caption)
    table.texts(word("Program"), [program_word(one.program) for one in programs])
    table.counts(word("Graphs"), [one.graphs for one in programs])
    table.counts(word("Kernels"), [one.num_kernels for one in programs])
    table.texts(word("Text"), [_same_word(one) for one in programs])
    table.counts(word("Lines that differ"), [one.num_different for one in programs])
    return table.build(origin=origin_line(report.origin))


def difference_sources(outcome: HasResult[SameTextReport]) -> list[Source]:
    """Show the first lines of each difference, texts first; an empty list where there is none.

    Args:
        outcome: of the experiment "gpu.same-text".
    """
    programs = outcome.available.programs if outcome.available else ()
    named = [(one, as_value(program_word(one.program))) for one in programs]
    found = [
        _diff(
            f"difference-{one.program}",
            word("{program}: with the card (-) and without it (+)", program=name),
            one.difference,
        )
        for one, name in named
    ]
    found += [
        _diff(
            f"machine-difference-{one.program}-{number}",
            word(
                "{program}, machine code of kernel {number}: with the card (-) and without it (+)",
                program=name,
                number=number,
            ),
            kernel.difference,
        )
        for one, name in named
        for number, kernel in enumerate(one.kernels, start=1)
    ]
    return [source for source in found if source.code]


def _diff(name: str, caption: Word, difference: Sequence[str]) -> Source:
    return annotated_source(name, caption, "\n".join(difference), language="diff", folded=False)


def difference_chooser(outcome: HasResult[SameTextReport]) -> Choice | Source | Word:
    """Show each difference once, whatever the number of programs or kernels that have it.

    Args:
        outcome: of the experiment "gpu.same-text".
    """
    if outcome.available is None:
        return record_it(outcome)
    found = {source.code: source for source in reversed(difference_sources(outcome))}
    distinct = list(reversed(found.values()))
    if not distinct:
        return word("There is nothing to show: all texts are identical.")
    if len(distinct) == 1:
        return distinct[0]
    options = [(source.caption, source) for source in distinct]
    return choose("differences", word("Difference"), options)


def kept_finding(report: SameTextReport | None) -> Word:
    """Say in a clause of how many differing machine codes the recording holds first lines.

    Args:
        report: of the experiment; None if it isn't recorded yet.
    """
    if report is None:
        return nothing_recorded()
    kernels = [kernel for one in report.programs for kernel in one.kernels]
    differing = [kernel for kernel in kernels if kernel.is_same_machine_code is False]
    if not differing:
        return word("none differs")
    kept = sum(bool(kernel.difference) for kernel in differing)
    if not kept:
        return word("{n} differ, and the recording doesn't hold in what", n=len(differing))
    filled = sum(bool(k.difference) and all("NOP" in x for x in k.difference) for k in differing)
    return word(
        "{n} differ, {filled} in nothing but NOP, which does nothing and fills; the first lines "
        "are recorded for {kept}",
        n=len(differing),
        filled=filled,
        kept=kept,
    )


def explained_finding(report: SameTextReport | None) -> Word:
    """Say in a clause which programs' texts differ, and why, as far as their lines tell.

    Args:
        report: of the experiment; None if it isn't recorded yet.
    """
    if report is None:
        return nothing_recorded()
    differing = [one for one in report.programs if not one.is_identical]
    named = [one for one in differing if _is_named(one)]
    parts: list[Text] = []
    if named:
        parts.append(
            word("{n} in nothing but the name under which they were compiled", n=len(named))
        )
    for one in differing:
        if one not in named:
            parts.append(
                word(
                    "{program}: {why}",
                    program=as_value(program_word(one.program)),
                    why=_why(one),
                )
            )
    return listed(parts) if parts else word("no text differs")


def _is_named(one: SameText) -> bool:
    """Tell whether every line that differs only says who compiled."""
    return bool(one.difference) and all("compiled_module_main(" in line for line in one.difference)


def _why(one: SameText) -> Word:
    if one.failure is not None:
        return word("not compared: {why}", why=one.failure)
    if any("constant_pad_nd" in line for line in one.difference):
        return word(
            "with a card Inductor measures whether padding a matrix pays, without one it can't, "
            "and pads nothing"
        )
    return word("{n} lines differ, for a reason that they don't tell", n=one.num_different)


def card_table(outcome: HasResult[SameTextReport]) -> Table | Choice | Word:
    """Show kernels as the card runs them beside what is known without it.

    Args:
        outcome: of the experiment "gpu.same-text".
    """
    return beside(outcome, _card_table)


def _card_table(report: SameTextReport) -> Table:
    rows = [(one, kernel) for one in report.programs for kernel in _compiled(one)]
    caption = word("What the autotuner chose on the card, and the machine code it runs.")
    table = TableBuilder("card-kernels", caption)
    table.texts(word("Program"), [program_word(one.program) for one, _ in rows])
    table.code(word("Chosen"), [configured(kernel.chosen) for _, kernel in rows])
    table.texts(word("Known candidate"), [_candidate(kernel) for _, kernel in rows])
    table.counts(word("Registers on the card"), [kernel.card_registers for _, kernel in rows])
    table.counts(word("without it"), [kernel.registers for _, kernel in rows])
    table.counts(word("Spills on the card"), [kernel.card_spills for _, kernel in rows])
    table.counts(word("spills without it"), [kernel.spills for _, kernel in rows])
    table.texts(word("Machine code"), [_machine_word(kernel) for _, kernel in rows])
    return table.build(origin=origin_line(report.origin))


def same_text_finding(report: SameTextReport | None) -> Word:
    """Say in a clause how many texts are identical, and of how many kernels the machine code is.

    Args:
        report: of the experiment; None if it isn't recorded yet.
    """
    if report is None:
        return nothing_recorded()
    kernels = [kernel for one in report.programs for kernel in one.kernels]
    compared = [kernel for kernel in kernels if kernel.is_same_machine_code is not None]
    return word(
        "{same} of {n} programs have identical text; of {compared} kernels whose machine code was "
        "compared, {equal} have the same instructions",
        same=report.num_identical,
        n=len(report.programs),
        compared=len(compared),
        equal=sum(kernel.is_same_machine_code is True for kernel in compared),
    )


def taken_finding(report: SameTextReport | None) -> Word:
    """Say in a clause of how many kernels registers and spills are the same on the card.

    Args:
        report: of the experiment; None if it isn't recorded yet.
    """
    if report is None:
        return nothing_recorded()
    kernels = [kernel for one in report.programs for kernel in one.kernels]
    compared = [kernel for kernel in kernels if kernel.registers is not None]
    others = [kernel for kernel in compared if not _takes_the_same(kernel)]
    same, n = len(compared) - len(others), len(compared)
    equal = sum(kernel.is_same_machine_code is True for kernel in others)
    if not equal:
        return word("registers and spills agree in {same} of {n} kernels", same=same, n=n)
    return word(
        "registers and spills agree in {same} of {n} kernels; with the same instructions, and yet "
        "other numbers of these: {equal}",
        same=same,
        n=n,
        equal=equal,
    )


def chosen_finding(report: SameTextReport | None, program: str) -> Word:
    """Say in a clause what the card's autotuner chose for each kernel of a program.

    Args:
        report: of the experiment; None if it isn't recorded yet.
        program: its key.

    Raises:
        ValueError: the report has no kernel of that program.
    """
    if report is None:
        return nothing_recorded()
    kernels = [k for one in report.programs if one.program == program for k in one.kernels]
    if not kernels:
        raise ValueError(
            f"chosen_finding: {program} has no kernel in the report, must have one (its choice is "
            f"spoken of); take one of {[one.program for one in report.programs if one.kernels]}."
        )
    return listed(
        [
            word("{configuration}, which is no candidate", configuration=configured(kernel.chosen))
            if kernel.index is None
            else word(
                "{configuration}, number {index} of the candidates",
                configuration=configured(kernel.chosen),
                index=kernel.index + 1,
            )
            for kernel in kernels
        ]
    )


def _takes_the_same(kernel: CardKernel) -> bool:
    return (kernel.card_registers, kernel.card_spills) == (kernel.registers, kernel.spills)


def _compiled(one: SameText) -> Sequence[CardKernel]:
    """List the kernels that were compiled without the card as well, or couldn't be."""
    return [kernel for kernel in one.kernels if kernel.registers is not None or not _known(kernel)]


def _known(kernel: CardKernel) -> bool:
    return kernel.index is not None


def _candidate(kernel: CardKernel) -> Text:
    if kernel.index is None:
        return word("no: made after loading")
    return plain(f"{kernel.index + 1}")


def _same_word(one: SameText) -> Word:
    if one.failure is not None:
        return word("not compared: {why}", why=one.failure)
    return word("identical") if one.is_identical else word("differs")


def _machine_word(kernel: CardKernel) -> Text:
    if kernel.is_same_machine_code is None:
        return MISSING
    return word("identical") if kernel.is_same_machine_code else word("differs")
