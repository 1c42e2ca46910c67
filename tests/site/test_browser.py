"""The built site as a reader meets it, in a real browser. Oracle: what the browser shows."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.site.conftest import WEIGHTS, Visit, watched
from tests.site.site import Site

# Most of these visit every page of both editions.
pytestmark = [pytest.mark.build, pytest.mark.browser, pytest.mark.timeout(900)]

FIGURE = "figure.fs-figure"
CHOICE = ".fs-choice"
# Picks the option in which a figure stands, if it stands in one, as a reader would.
PICK = """figure => {
  // A choice may be an option of another one: all of them have to show it.
  let option = figure.closest('.fs-option');
  while (option) {
    const choice = option.parentElement;
    const options = [...choice.querySelectorAll(':scope > .fs-option')];
    const control = choice.querySelector(':scope > .fs-control :is(select, input)');
    control.value = String(options.indexOf(option));
    control.dispatchEvent(new Event('input'));
    option = choice.closest('.fs-option');
  }
}"""
# How many traces a drawn figure has, and how many of them left a mark in its SVG.
MARKS = """plot => {
  // A type that the bundle lacks is silently taken for another one.
  const known = (trace, i) => trace.type === (plot.data[i].type || 'scatter');
  const shown = plot._fullData.filter((t, i) => t.visible === true && known(t, i));
  const groups = [...plot.querySelectorAll('.cartesianlayer .trace, .cartesianlayer .hm')];
  const marks = groups.filter(group => {
    const box = group.getBoundingClientRect();
    return box.width + box.height > 0;
  });
  return [plot.data.filter(trace => trace.visible !== false).length, shown.length, marks.length];
}"""
COLOURS = """figure => [...figure.querySelectorAll('.cartesianlayer path, svg text')]
  .map(mark => mark.style.stroke + mark.style.fill)"""


def draw(page: Page, figure: Locator, theme: str = "light") -> Locator:
    """Scroll to a figure and wait until it is drawn in a theme; returns its plot."""
    figure.evaluate(PICK)
    figure.scroll_into_view_if_needed()
    expect(figure).to_have_attribute("data-drawn", theme)
    return figure.locator(".js-plotly-plot")


def test_every_figure_of_both_editions_draws_what_it_holds(visit: Visit, site: Site) -> None:
    count = 0
    for _, path in site.pages:
        page = visit.open(path)
        for figure in page.locator(FIGURE).all():
            wanted, known, marked = draw(page, figure).evaluate(MARKS)
            assert (path, known) == (path, wanted)
            assert (path, marked >= wanted > 0) == (path, True)
            count += 1
    assert count >= len(site.names)
    assert visit.complaints == []


def test_a_trace_that_the_bundle_lacks_would_be_noticed(visit: Visit, site: Site) -> None:
    page = visit.open(site.path(figure_page(site), "en"))
    figure = page.locator(FIGURE).first
    plot = draw(page, figure)
    plot.evaluate("plot => Plotly.react(plot, [{type: 'scatter3d', x: [1], y: [1], z: [1]}], {})")
    wanted, known, _ = plot.evaluate(MARKS)
    assert (wanted, known) == (1, 0)


def figure_page(site: Site) -> str:
    """A chapter with a figure, as Sphinx names it."""
    return next(n for n in site.names if site.soup(f"{n}.html").select(FIGURE))


def test_no_page_asks_another_machine_or_writes_an_error(visit: Visit, site: Site) -> None:
    for _, path in site.pages:
        page = visit.open(path)
        page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
        page.wait_for_load_state("networkidle")
    for path in ("search.html?q=gradient", "es/search.html?q=gradiente"):
        visit.open(path).wait_for_load_state("networkidle")
    assert visit.complaints == []


def test_the_watch_on_requests_and_errors_sees_them(visit: Visit) -> None:
    page = visit.open("index.html")
    page.evaluate("fetch('https://elsewhere.example/x').catch(() => console.error('lost'))")
    page.evaluate("setTimeout(() => { throw new Error('thrown') })")
    page.evaluate("fetch('no-such-file.js')")
    page.wait_for_timeout(300)
    said = "\n".join(visit.complaints)
    assert f"404 {visit.root}no-such-file.js" in said
    assert "request off the machine: https://elsewhere.example/x" in said
    assert "lost" in said
    assert "thrown" in said


def test_the_language_switch_leads_to_the_same_page_and_back(visit: Visit, site: Site) -> None:
    for name in site.names:
        page = visit.open(f"{name}.html")
        title = page.locator("h1").inner_text()
        page.locator("a.fs-language:visible").first.click()
        page.wait_for_url(f"**/es/{name}.html")
        expect(page.locator("html")).to_have_attribute("lang", "es")
        page.locator("a.fs-language:visible").first.click()
        page.wait_for_url(f"{visit.root}{name}.html")
        assert page.locator("h1").inner_text() == title


def test_figures_follow_the_theme_when_it_is_switched(visit: Visit, site: Site) -> None:
    page = visit.open(site.path(figure_page(site), "en"))
    figure = page.locator(FIGURE).first
    draw(page, figure)
    light = figure.evaluate(COLOURS)
    assert light
    switch = page.locator(".theme-switch-button:visible").first
    for _ in range(3):
        if page.locator("html").get_attribute("data-theme") == "dark":
            break
        switch.click()
    draw(page, figure, "dark")
    dark = figure.evaluate(COLOURS)
    assert len(dark) == len(light)
    assert dark != light
    assert visit.complaints == []


def test_a_reader_who_prefers_dark_gets_it_at_once(browser: Browser, root: str, site: Site) -> None:
    context = browser.new_context(color_scheme="dark")
    visit = watched(context, root)
    page = visit.open(site.path(figure_page(site), "es"))
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    draw(page, page.locator(FIGURE).first, "dark")
    assert visit.complaints == []
    context.close()


def test_the_first_tab_offers_to_skip_to_the_content(visit: Visit, site: Site) -> None:
    for _, path in site.pages:
        page = visit.open(path)
        page.keyboard.press("Tab")
        focused = page.locator(":focus")
        assert (path, focused.get_attribute("href")) == (path, "#main-content")
        page.keyboard.press("Enter")
        page.wait_for_url(re.compile("#main-content$"))
        expect(page.locator("#main-content")).to_have_count(1)


def test_the_keyboard_reaches_the_language_switch(visit: Visit) -> None:
    page = visit.open("index.html")
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.locator("a.fs-language:focus").count():
            break
    assert page.locator("a.fs-language:focus").count() == 1
    page.keyboard.press("Enter")
    page.wait_for_url("**/es/index.html")


def test_enter_unfolds_what_is_folded(visit: Visit, site: Site) -> None:
    unfolded = 0
    for name in site.names:
        page = visit.open(f"{name}.html")
        # What a choice hides until it is picked can take no focus, and so no key either.
        folded = page.locator("main details:not([open])").locator("visible=true")
        # Elements, not locators: one that is unfolded is no longer among the folded ones.
        for handle in folded.element_handles()[:3]:
            summary = handle.query_selector(":scope > summary")
            assert summary is not None
            summary.focus()
            page.keyboard.press("Enter")
            assert handle.evaluate("details => details.open")
            unfolded += 1
    assert unfolded > 0


def test_the_keyboard_picks_an_option_and_the_page_shows_it(visit: Visit, site: Site) -> None:
    picked = 0
    for _, path in site.pages:
        page = visit.open(path)
        for choice in page.locator(CHOICE).all():
            if not choice.is_visible():
                continue  # an option of another choice, which shows it when it is picked
            control = choice.locator("> .fs-control").locator("select, input")
            options = choice.locator("> .fs-option")
            start = int(control.input_value())
            expect(choice.locator("> .fs-option:visible")).to_have_count(1)
            expect(options.nth(start)).to_be_visible()
            control.focus()
            key, now = ("ArrowLeft", start - 1) if start else ("ArrowRight", 1)
            page.keyboard.press(key)
            expect(options.nth(now)).to_be_visible()
            expect(options.nth(start)).to_be_hidden()
            if choice.locator("> .fs-control .fs-picked").count():
                label = options.nth(now).get_attribute("data-label") or ""
                expect(choice.locator("> .fs-control .fs-picked")).to_have_text(label)
                expect(control).to_have_attribute("aria-valuetext", label)
            picked += 1
    assert picked > 0


def test_a_phone_never_scrolls_a_page_sideways(browser: Browser, root: str, site: Site) -> None:
    context = browser.new_context(viewport={"width": 360, "height": 740}, is_mobile=True)
    visit = watched(context, root)
    for _, path in site.pages:
        page = visit.open(path)
        for figure in page.locator(FIGURE).all():
            draw(page, figure)
        page.locator("main details").evaluate_all("all => all.forEach(d => { d.open = true })")
        width = page.evaluate("document.documentElement.scrollWidth")
        assert (path, width) == (path, 360)
    page.evaluate("document.querySelector('article').style.width = '500px'")
    assert page.evaluate("document.documentElement.scrollWidth") > 360  # the measure can fail
    context.close()


def test_without_scripts_tables_stand_for_figures(browser: Browser, root: str, site: Site) -> None:
    context = browser.new_context(java_script_enabled=False)
    visit = watched(context, root)
    seen = 0
    for _, path in site.pages:
        page = visit.open(path)
        for figure in page.locator(FIGURE).all():
            expect(figure.locator("table")).to_be_visible()
            expect(figure.locator("figcaption")).to_be_visible()
            seen += 1
        for option in page.locator(f"{CHOICE} > .fs-option").all():
            expect(option).to_be_visible()
        expect(page.locator("a.fs-language").first).to_be_attached()
    assert seen > 0
    assert not [c for c in visit.complaints if "off the machine" in c]
    context.close()


def test_what_a_first_visit_transfers_is_reported(
    browser: Browser, root: str, site: Site, request: pytest.FixtureRequest
) -> None:
    """A report for the end of the run: its size is no assertion, that it is known is one."""
    weights = {}
    for _, path in site.pages:
        context = browser.new_context()
        page = watched(context, root).open(path)
        entries = page.evaluate(
            "[...performance.getEntriesByType('navigation'), "
            "...performance.getEntriesByType('resource')].map(e => [e.name, e.transferSize])"
        )
        weights[path] = sum(size for _, size in entries)
        context.close()
    request.config.stash[WEIGHTS] = weights
    assert all(size > 0 for size in weights.values())
