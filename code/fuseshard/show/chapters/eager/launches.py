"""What launching a kernel costs on a GPU, from a recording."""

from __future__ import annotations

from fuseshard.compiler.modes.records import LaunchReport, LaunchRun
from fuseshard.show.beside.draw import beside
from fuseshard.show.cards import origin_line
from fuseshard.show.choices import Choice
from fuseshard.show.numbers import duration, factor
from fuseshard.show.recorded import HasResult, nothing_recorded
from fuseshard.show.records import Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Word, word


def launches_table(outcome: HasResult[LaunchReport]) -> Table | Choice | Word:
    """Show eager mode's launches on a GPU: the host's time for one beside the device's.

    Args:
        outcome: of the experiment, called on any machine.
    """
    return beside(outcome, _launches_table)


def _launches_table(report: LaunchReport) -> Table:
    runs = eager_runs(report)
    labels = {
        "pointwise": word("additions and multiplications"),
        "products": word("small matrix products and additions"),
    }
    table = TableBuilder("launches", word("Eager mode on a GPU: launching takes the time."))
    table.texts(word("Program"), [labels[name] for name in runs])
    table.counts(word("Kernels"), [run.trace.kernels for run in runs.values()])
    table.seconds(
        word("Host, per launch"), [run.host_s / run.trace.launches for run in runs.values()]
    )
    table.seconds(
        word("Device, per kernel"), [run.trace.busy_s / run.trace.kernels for run in runs.values()]
    )
    return table.build(origin=origin_line(report.origin))


def eager_runs(report: LaunchReport) -> dict[str, LaunchRun]:
    """Pick eager mode's run of each program."""
    return {
        program.name: next(run for run in program.runs if run.way == "eager")
        for program in report.programs
    }


def launches_finding(report: LaunchReport | None) -> Word:
    """Say in a clause how the host's time for a launch compares with the device's for a kernel.

    Args:
        report: recorded; None if it isn't yet.
    """
    if report is None:
        return nothing_recorded()
    run = eager_runs(report)["pointwise"]
    host_s = run.host_s / run.trace.launches
    device_s = run.trace.busy_s / run.trace.kernels
    return word(
        "the host needs {host} to launch a kernel that keeps the device busy for {device}, "
        "{ratio} as long",
        host=duration(host_s),
        device=duration(device_s),
        ratio=factor(host_s / device_s, 2),
    )
