"""How long each page took, executed and rendered, in both editions."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from docutils import nodes
from sphinx.application import Sphinx

from fuseshard.book.config import book_config
from fuseshard.book.messages import LOGGER

REPORT = "timings.json"
"""in the build folder, beside html/; what the benchmark reads"""


@dataclass
class PageTime:
    """Seconds of one page in one edition."""

    execution: str = ""
    """"run" in this build, "cached", or "" where another edition's run is shown"""
    execution_s: float = 0.0
    """of the run that made the outputs, whichever build that was"""
    rendering_s: float = 0.0
    """reading and writing, without templates; 0 if the page was up to date"""


@dataclass
class Timings:
    """All pages of the edition that this process builds."""

    started: float = field(default_factory=time.perf_counter)
    pages: dict[str, PageTime] = field(default_factory=dict)
    marks: dict[str, float] = field(default_factory=dict)
    others: dict[str, dict[str, Any]] = field(default_factory=dict)
    """language -> what the process of that edition reported"""

    def page(self, name: str) -> PageTime:
        """Return a page's entry."""
        return self.pages.setdefault(name, PageTime())

    def executed(self, name: str, seconds: float) -> None:
        """Note that this build ran the page's cells."""
        self.pages[name] = PageTime("run", seconds)

    def cached(self, name: str, seconds: float | None) -> None:
        """Note what the cache says, unless this build ran the page."""
        page = self.page(name)
        if page.execution != "run":
            page.execution, page.execution_s = "cached", seconds or 0.0

    def start(self, name: str) -> None:
        """Start the clock of a page's reading or writing."""
        self.marks[name] = time.perf_counter()

    def stop(self, name: str) -> None:
        """Add what passed since `start` to the page's rendering."""
        if name in self.marks:
            self.page(name).rendering_s += time.perf_counter() - self.marks.pop(name)

    def report(self) -> dict[str, Any]:
        """Return the timings as JSON data; the total leaves out other editions."""
        others = sum(report["total_s"] for report in self.others.values())
        return {
            "total_s": time.perf_counter() - self.started - others,
            "pages": {name: asdict(page) for name, page in self.pages.items()},
        }


_TIMINGS: WeakKeyDictionary[Sphinx, Timings] = WeakKeyDictionary()


def timings(app: Sphinx) -> Timings:
    """Return the timings of this build."""
    return _TIMINGS.setdefault(app, Timings())


def setup_timing(app: Sphinx) -> None:
    """Time the reading and writing of each page, and sum up at the end."""
    timings(app)
    app.connect("source-read", lambda app, name, _: timings(app).start(name))  # event 6
    app.connect("doctree-read", _stop_reading)  # event 8
    app.connect("doctree-resolved", _start_writing, priority=1)  # event 15
    app.connect("html-page-context", _stop_writing, priority=999)  # event 16
    app.connect("build-finished", report, priority=950)  # event 17, after the other editions


def report(app: Sphinx, exception: Exception | None) -> None:
    """Write this edition's timings, and in the root edition print all of them."""
    if exception:
        return
    options = book_config(app.config)
    own = timings(app).report()
    if not options.is_root:
        if options.report:
            Path(options.report).write_text(json.dumps(own), "utf-8")
        return
    everything = {str(app.config.language): own, **timings(app).others}
    path = Path(app.outdir).parent / REPORT
    path.write_text(json.dumps(everything, indent=1), "utf-8")
    for line in summary(everything):
        LOGGER.info(line)


def summary(editions: dict[str, dict[str, Any]]) -> list[str]:
    """Return the lines of the table that ends a build.

    Args:
        editions: language -> report, the root edition first.
    """
    root = next(iter(editions.values()))
    names = [name for name, page in root["pages"].items() if page["execution"]]
    width = max([len("page"), *map(len, names)])
    heads = "".join(f"{f'render {language}':>12}" for language in editions)
    lines = ["", f"{'page':<{width}}{'execution':>12}{'':>8}{heads}"]
    for name in names:
        made = root["pages"][name]
        times = [
            report["pages"].get(name, {}).get("rendering_s", 0.0) for report in editions.values()
        ]
        shown = "".join(f"{f'{t:.2f} s' if t else 'up to date':>12}" for t in times)
        run = f"{made['execution_s']:.1f} s"
        lines.append(f"{name:<{width}}{run:>12}{made['execution']:>8}{shown}")
    totals = ", ".join(f"{language} {r['total_s']:.1f} s" for language, r in editions.items())
    return [*lines, f"whole editions: {totals}"]


def _stop_reading(app: Sphinx, doctree: nodes.document) -> None:
    timings(app).stop(app.env.docname)


def _start_writing(app: Sphinx, doctree: nodes.document, name: str) -> None:
    timings(app).start(name)


def _stop_writing(app: Sphinx, name: str, *_: object) -> None:
    timings(app).stop(name)
