"""What holds for the whole suite: no test is skipped unless tests/allowed_skips.txt names it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
ALLOWED_SKIPS = TESTS / "allowed_skips.txt"


def allowed_skips(text: str) -> set[str]:
    """Read the ids of the tests that may be skipped."""
    rows = (line.split("  ")[0].strip() for line in text.splitlines())
    return {row for row in rows if row and not row.startswith("#")}


def refused_skips(skipped: list[str], allowed: set[str]) -> list[str]:
    """List the skipped tests that nobody allowed."""
    return [test for test in skipped if test not in allowed]


class SkipRecorder:
    """Collects the skipped tests, and fails the run for those that nobody allowed."""

    def __init__(self) -> None:
        self.skipped: list[str] = []

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            self.skipped.append(report.nodeid)

    @pytest.hookimpl
    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self.skipped.append(report.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        if self._refused() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        return (yield)

    @pytest.hookimpl
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for test in self._refused():
            terminalreporter.write_line(
                f"{test} was skipped; a skipped test checks nothing: make it run, or name it in "
                f"tests/{ALLOWED_SKIPS.name} with the reason",
                red=True,
            )

    def _refused(self) -> list[str]:
        return refused_skips(self.skipped, allowed_skips(ALLOWED_SKIPS.read_text("utf-8")))


def pytest_configure(config: pytest.Config) -> None:
    # `make test RECORDINGS=FILE` builds a book with a reader's results; the tests bring their own.
    os.environ.pop("RECORDINGS", None)
    config.pluginmanager.register(SkipRecorder(), "skip-recorder")
