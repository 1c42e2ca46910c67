"""Whether code written without a GPU is the code that is written with one, program by program."""

from __future__ import annotations

from collections.abc import Sequence

from fuseshard.compiler.gpu_study.same_text.records import CardKernel, SameText, SameTextReport
from fuseshard.show.beside.draw import beside
from fuseshard.show.cards import origin_line
from fuseshard.show.chapters.triton.names import program_word, target_name
from fuseshard.show.chapters.triton.widths import configured
from fuseshard.show.charts.variants import as_value
from fuseshard.show.choices import Choice
from fuseshard.show.recorded import HasResult, nothing_recorded
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
    """Show the first lines of each difference; an empty list where there is none.

    Args:
        outcome: of the experiment "gpu.same-text".
    """
    report = outcome.available
    differing = [one for one in report.programs if one.difference] if report else []
    return [
        annotated_source(
            f"difference-{one.program}",
            word(
                "{program}: with the card (-) and without it (+)",
                program=as_value(program_word(one.program)),
            ),
            "\n".join(one.difference),
            language="diff",
            folded=False,
        )
        for one in differing
    ]


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
