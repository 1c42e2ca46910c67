"""One built site and one browser for all tests of the site; each test gets a page of its own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Page,
    Request,
    Route,
    expect,
    sync_playwright,
)

from tests.site.site import BUILD, Site, is_up_to_date, jb_build, served

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
LEFT = "net::ERR_ABORTED"
"""what becomes of a request, such as that for the icon, when the next page is opened meanwhile"""

PAGE_TIMEOUT_MS = 90_000
"""far above what any page takes, so that a slow machine doesn't fail a right site"""

expect.set_options(timeout=PAGE_TIMEOUT_MS)
WEIGHTS = pytest.StashKey[dict[str, int]]()


@dataclass
class Visit:
    """A browser page at the served site, and what went wrong on it."""

    page: Page
    root: str
    complaints: list[str] = field(default_factory=list)
    """console errors, uncaught exceptions, failed and forbidden requests"""

    def open(self, path: str) -> Page:
        """Go to a page of the site and wait until it has loaded."""
        self.page.goto(self.root + path, wait_until="load")
        return self.page


@pytest.fixture(scope="session")
def site() -> Site:
    """The built site; built first where it is missing or older than its sources."""
    if not is_up_to_date():
        done = jb_build()
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-8000:]
    return Site(BUILD)


@pytest.fixture(scope="session")
def root(site: Site) -> Iterator[str]:
    """The address of the site's root, with a path, as on GitHub Pages."""
    with served(site.html) as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's Chromium where it is installed, Playwright's own otherwise."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=ARGUMENTS
        )
        yield chromium
        chromium.close()


@pytest.fixture
def visit(browser: Browser, root: str) -> Iterator[Visit]:
    """A fresh page in a window of a desktop's size."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    yield watched(context, root)
    context.close()


def watched(context: BrowserContext, root: str) -> Visit:
    """Open a page whose errors and requests are noted; what leaves the machine is stopped."""
    context.set_default_timeout(PAGE_TIMEOUT_MS)
    visit = Visit(context.new_page(), root)
    host = urlsplit(root).netloc

    def guard(route: Route) -> None:
        address = route.request.url
        if urlsplit(address).netloc == host or address.startswith(("data:", "blob:")):
            route.continue_()
        else:
            visit.complaints.append(f"request off the machine: {address}")
            route.abort()

    context.route("**/*", guard)
    page = visit.page
    page.on("console", lambda m: m.type == "error" and visit.complaints.append(m.text))
    page.on("pageerror", lambda error: visit.complaints.append(str(error)))
    page.on("requestfailed", lambda r: r.failure != LEFT and visit.complaints.append(failed(r)))
    page.on(
        "response", lambda r: r.status >= 400 and visit.complaints.append(f"{r.status} {r.url}")
    )
    return visit


def failed(request: Request) -> str:
    """Say which request failed and how."""
    return f"{request.url}: {request.failure}"


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    weights = config.stash.get(WEIGHTS, {})
    if weights:
        terminalreporter.section("page weight on first load, gzipped")
    for path, size in sorted(weights.items()):
        terminalreporter.write_line(f"{size / 1000:8.0f} kB  {path}")
