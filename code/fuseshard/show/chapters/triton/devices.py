"""What changes from one GPU to another, in one program's source and in its machine code."""

from __future__ import annotations

from collections.abc import Sequence

from fuseshard.compiler.described.targets import TARGETS
from fuseshard.compiler.gpu_study.records import DeviceKernel, DeviceReport
from fuseshard.show.chapters.triton.names import program_word, target_name
from fuseshard.show.chapters.triton.tiles import limit_word
from fuseshard.show.chapters.triton.widths import configured, load_counts
from fuseshard.show.charts.variants import as_value, listed
from fuseshard.show.numbers import number
from fuseshard.show.records import Source, Table
from fuseshard.show.sources import annotated_source
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, plain, word


def device_table(reports: Sequence[DeviceReport]) -> Table:
    """Show a program of one kernel on several GPUs, one column a GPU.

    Args:
        reports: of one program, with one kernel on each GPU.

    Raises:
        ValueError: a GPU has another number of kernels.
    """
    rows = _facts(reports)
    caption = word(
        "{program} on {n} GPUs: what Inductor and the compilers make of the same graph.",
        program=as_value(program_word(reports[0].program)),
        n=len(reports),
    )
    table = TableBuilder(f"devices-{reports[0].program}", caption)
    table.texts(word("What"), [name for name, _ in rows])
    for index, report in enumerate(reports):
        table.texts(plain(target_name(report.target)), [cells[index] for _, cells in rows])
    return table.build()


def _facts(reports: Sequence[DeviceReport]) -> list[tuple[Text, list[Text]]]:
    """List each fact with a cell for each GPU."""
    gpus = [TARGETS[report.target] for report in reports]
    kernels = [_only_kernel(report) for report in reports]
    found = [kernel.resources for kernel in kernels]
    return [
        (word("multiprocessors"), [plain(gpu.num_multiprocessors) for gpu in gpus]),
        (word("threads in a warp"), [plain(gpu.warp_size) for gpu in gpus]),
        (word("lines of Triton that differ"), [plain(_changes(report)) for report in reports]),
        (word("candidates"), [plain(len(kernel.configurations)) for kernel in kernels]),
        (
            word("the first of them"),
            [plain(configured(kernel.configurations[0])) for kernel in kernels],
        ),
        (word("registers a thread"), [plain(one.registers) for one in found]),
        (word("spilled registers"), [plain(one.spills) for one in found]),
        (word("loads"), [plain(load_counts(one)) for one in found]),
        (word("exchanges between threads"), [plain(one.shuffles) for one in found]),
        (word("instructions"), [plain(one.instructions) for one in found]),
        (word("occupancy"), [plain(_percent(one.occupancy)) for one in found]),
        (word("limited by"), [limit_word(one.limited_by) for one in found]),
    ]


def summary_table(reports: Sequence[DeviceReport]) -> Table:
    """Show programs on several GPUs: kernels, library calls, and lines that differ.

    Args:
        reports: of several programs.
    """
    caption = word("How many kernels each GPU gets, and how many of their lines differ.")
    table = TableBuilder("device-summary", caption)
    table.texts(word("Program"), [program_word(report.program) for report in reports])
    table.texts(word("GPU"), [plain(target_name(report.target)) for report in reports])
    table.counts(word("Kernels"), [len(report.kernels) for report in reports])
    table.counts(word("Lines that differ"), [_changes(report) for report in reports])
    table.counts(
        word("Candidates"), [sum(len(k.configurations) for k in r.kernels) for r in reports]
    )
    calls = [", ".join(_short(op) for op in report.library_calls) for report in reports]
    table.code(word("Library calls"), [call or "—" for call in calls])
    return table.build()


def changes_source(report: DeviceReport) -> Source:
    """Show the lines by which a GPU's kernels differ from the first GPU's.

    Args:
        report: of a GPU for which some line differs.
    """
    caption = word(
        "{program}, from the first GPU to the {gpu}: {n} lines differ",
        program=as_value(program_word(report.program)),
        gpu=target_name(report.target),
        n=_changes(report),
    )
    name = f"changes-{report.program}-{report.target}"
    return annotated_source(name, caption, "\n".join(report.changed), language="diff", folded=False)


def device_finding(reports: Sequence[DeviceReport]) -> Word:
    """Say in a clause whose Triton code is the first GPU's, and what the compilers make of it.

    Args:
        reports: of one program, with one kernel on each GPU.
    """
    first, *others = reports
    return listed([_against(other, first) for other in others])


def _against(other: DeviceReport, first: DeviceReport) -> Word:
    names = {"gpu": target_name(other.target), "first": target_name(first.target)}
    registers = {
        "registers": _only_kernel(other).resources.registers,
        "before": _only_kernel(first).resources.registers,
    }
    if not other.changed:
        return word(
            "the {gpu} gets the lines of the {first}, and {registers} registers a thread instead "
            "of {before}",
            **names,
            **registers,
        )
    return word(
        "for the {gpu} {lines} lines differ, and a thread takes {registers} registers instead of "
        "the {first}'s {before}",
        lines=_changes(other),
        **names,
        **registers,
    )


def _only_kernel(report: DeviceReport) -> DeviceKernel:
    if len(report.kernels) != 1:
        raise ValueError(
            f"device_table: {report.program} has {len(report.kernels)} kernels on "
            f"{report.target}, must have 1 (a cell holds one kernel's number); use summary_table."
        )
    return report.kernels[0]


def _changes(report: DeviceReport) -> int:
    """Count the lines that this GPU's kernels have and the first one's don't."""
    return sum(line.startswith("+ ") for line in report.changed)


def _short(op: str) -> str:
    """Name an operator without its namespace and overload."""
    return op.removesuffix(".default").rpartition(".")[2]


def _percent(share: float) -> str:
    return f"{number(100 * share)} %"
