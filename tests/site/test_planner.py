"""A planner in a real browser. Oracle: Python's own plan for the same sizes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from fuseshard.book.assets import STATIC
from fuseshard.book.catalog import Catalog, load
from fuseshard.book.config import PACKAGE
from fuseshard.book.draw.parts import Voice
from fuseshard.book.draw.planner import planner_html
from fuseshard.distributed.planner import Survey, survey
from fuseshard.distributed.planning.presets import (
    MODELS,
    cluster_preset,
    model_preset,
)
from fuseshard.distributed.planning.records import Cluster, ModelShape
from fuseshard.show.html import cell_text
from fuseshard.show.planner.layouts import MOST_ROWS, binding, layout_table, tally
from fuseshard.show.planner.widget import planner_widget
from tests.distributed.planning.shapes import random_case

pytestmark = [pytest.mark.browser]

SCRIPTS = ("planner-model.js", "planner.js")
# In a frame of its own, so that a page has nothing but the planner and the book's style.
PAGE = """<!doctype html><html lang="{language}" data-theme="{theme}"><meta charset="utf-8">
<title>Plan</title><style>{style}</style><main class="bd-article">{planner}</main></html>"""


def spanish() -> Catalog:
    return Catalog("es", load(PACKAGE / "locale", "es").entries, Path("locale"))


def show(page: Page, language: str = "en", theme: str = "light") -> Page:
    """Put a planner on an empty page, with its scripts, and no network."""
    record = planner_widget("plan", model="llama3-70b", cluster="h200x8", num_nodes=4).to_json()
    catalog = spanish() if language == "es" else Catalog("en", None, Path("locale"))
    planner = planner_html(record, Voice(catalog, "page.md:7"))
    style = (STATIC / "fuseshard" / "book.css").read_text("utf-8")
    page.set_content(PAGE.format(language=language, theme=theme, style=style, planner=planner))
    for script in SCRIPTS:
        page.add_script_tag(path=STATIC / "fuseshard" / script)
    return page


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that may load nothing; at the end, nothing may have gone wrong on it."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda m: m.type == "error" and complaints.append(m.text))
    page.on("request", lambda request: complaints.append(request.url))
    yield page
    context.close()
    assert complaints == []


def planned(page: Page, model: ModelShape, cluster: Cluster) -> dict[str, Any]:
    """What the page's arithmetic makes of a model and a cluster."""
    found: dict[str, Any] = page.evaluate(
        "([model, cluster]) => fuseshardPlanner.survey(model, cluster)",
        [asdict(model), asdict(cluster)],
    )
    return found


def cases() -> list[tuple[ModelShape, Cluster]]:
    """Presets, and sizes drawn at random, the same ones each time."""
    known = [(MODELS[name].shape, cluster_preset("h100x8", num_nodes=8)) for name in MODELS]
    number = random.Random(11)
    return known + [random_case(number) for _ in range(25)]


def test_the_pages_arithmetic_is_pythons_to_the_last_digits(page: Page) -> None:
    show(page)
    compared = 0
    for model, cluster in cases():
        ours, theirs = survey(model, cluster), planned(page, model, cluster)
        assert theirs["obstacles"] == ours.obstacles
        assert len(theirs["tooLarge"]) == len(ours.too_large)
        assert len(theirs["feasible"]) == len(ours.feasible)
        for layout, shown in zip(ours.feasible, theirs["feasible"], strict=True):
            assert shown["degrees"] == layout.degrees._asdict()
            assert shown["step"] == pytest.approx(layout.step_s, rel=1e-12)
            assert shown["memory"] == pytest.approx(layout.memory.total_bytes, rel=1e-12)
            assert shown["limit"] == layout.limit
            blocked = layout.blocked and layout.blocked.degrees._asdict()
            assert (shown["blocked"] and shown["blocked"]["degrees"]) == blocked
            compared += 1
    assert compared > 1000


def test_the_comparison_sees_another_formula(page: Page) -> None:
    model, cluster = cases()[0]
    show(page)
    best = survey(model, cluster).feasible[0]
    other = planned(page, replace(model, has_dropout=True), cluster)["feasible"]
    same = next(shown for shown in other if shown["degrees"] == best.degrees._asdict())
    assert same["memory"] != pytest.approx(best.memory.total_bytes, rel=1e-12)


def expect_plan(page: Page, found: Survey, cluster: Cluster, catalog: Catalog) -> None:
    """Compare every word and number that the page shows with what Python writes."""
    expect(page.locator(".fs-tally")).to_have_text(catalog.render(tally(found).to_json()))
    expect(page.locator(".fs-binding")).to_have_text(
        catalog.render(binding(found, cluster).to_json())
    )
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(min(len(found.feasible), MOST_ROWS))
    if not found.feasible:
        return
    table = layout_table(found.feasible[:MOST_ROWS]).to_json()
    wanted = [
        [catalog.render(cell) if "msgid" in cell else cell_text(cell) for cell in row]
        for row in table["rows"]
    ]
    shown = page.locator("tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"
    )
    assert shown == wanted


@pytest.mark.parametrize("language", ["en", "es"])
@pytest.mark.parametrize(("model", "cluster"), [("gpt3-175b", "h100x8"), ("minigpt", "a100x8")])
def test_presets_show_pythons_plan(page: Page, language: str, model: str, cluster: str) -> None:
    catalog = spanish() if language == "es" else Catalog("en", None, Path("locale"))
    show(page, language)
    page.locator("[data-preset=model]").select_option(model)
    page.locator("[data-preset=cluster]").select_option(cluster)
    page.locator("[data-size=num_nodes]").fill("16")
    machines = cluster_preset(cluster, num_nodes=16)
    expect_plan(page, survey(model_preset(model), machines), machines, catalog)


def test_the_page_starts_with_what_python_computed(page: Page) -> None:
    show(page)
    machines = cluster_preset("h200x8", num_nodes=4)
    found = survey(model_preset("llama3-70b"), machines)
    expect_plan(page, found, machines, Catalog("en", None, Path("locale")))


def test_sizes_of_ones_own_are_planned_and_leave_the_preset(page: Page) -> None:
    show(page)
    page.locator(".fs-sizes summary").click()
    page.locator("[data-size=memory_bytes]").fill("282.5")
    page.locator("[data-size=efficiency]").fill("37")
    page.locator("[data-size=sequence]").fill("4096")
    machines = replace(
        cluster_preset("h200x8", num_nodes=4), memory_bytes=282.5 * 2**30, efficiency=0.37
    )
    model = model_preset("llama3-70b", sequence=4096)
    english = Catalog("en", None, Path("locale"))
    expect_plan(page, survey(model, machines), machines, english)
    for preset in ("model", "cluster"):
        expect(page.locator(f"[data-preset={preset}] option:checked")).to_have_text(
            "your own sizes"
        )
    page.locator("[data-preset=cluster]").select_option("h200x8")
    expect(page.locator("[data-size=memory_bytes]")).to_have_value("141")
    machines = cluster_preset("h200x8", num_nodes=4)
    expect_plan(page, survey(model, machines), machines, english)


def test_nothing_that_fits_and_no_mesh_are_said(page: Page) -> None:
    show(page)
    english = Catalog("en", None, Path("locale"))
    for nodes in (1, 3):
        page.locator("[data-size=num_nodes]").fill(str(nodes))
        machines = cluster_preset("h200x8", num_nodes=nodes)
        found = survey(model_preset("llama3-70b"), machines)
        assert found.feasible == ()
        expect_plan(page, found, machines, english)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("num_nodes", "0", "Nodes: must be a whole number from 1 to 16\u202f777\u202f216."),
        ("num_nodes", "", "Nodes: must be a whole number from 1 to 16\u202f777\u202f216."),
        (
            "sequence",
            "1.5",
            "Tokens in a sequence: must be a whole number from 1 to ",
        ),
        ("global_batch", "1e15", "Sequences in a step: must be a whole number from 1 to "),
        ("between_bytes_per_s", "-3", "Link between nodes: must be a number above 0."),
        ("usable_memory", "101", "Usable part of the memory: must be above 0 and at most 100 %."),
        ("width", "8200", "Width: must be a multiple of Heads."),
        ("num_kv_heads", "7", "Heads: must be a multiple of Heads of keys and values."),
        ("num_nodes", "4000", "32\u202f000 GPUs are more than this page plans for, "),
    ],
)
def test_a_wrong_size_is_named_and_the_old_plan_disappears(
    page: Page, name: str, value: str, message: str
) -> None:
    show(page)
    page.locator(".fs-sizes summary").click()
    page.locator(f"[data-size={name}]").fill(value)
    expect(page.locator(".fs-wrong")).to_contain_text(message)
    expect(page.locator(".fs-planner table")).to_be_hidden()
    page.locator("[data-preset=model]").select_option("llama3-8b")
    page.locator("[data-preset=cluster]").select_option("h200x8")
    page.locator("[data-size=num_nodes]").fill("2")
    expect(page.locator(".fs-wrong")).to_have_text("")
    expect(page.locator(".fs-planner table")).to_be_visible()


def test_the_keyboard_reaches_and_changes_everything(page: Page) -> None:
    show(page)
    page.locator("[data-preset=model]").focus()
    page.keyboard.press("ArrowUp")
    expect(page.locator("[data-preset=model]")).to_have_value("llama3-8b")
    page.keyboard.press("Tab")
    expect(page.locator("[data-preset=cluster]")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.locator("[data-size=num_nodes]")).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.locator("[data-size=num_nodes]")).to_have_value("5")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    for _ in range(15):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.dataset.size") is not None
    page.keyboard.press("Tab")
    expect(page.locator(".fs-scroll")).to_be_focused()
    page.locator("[data-size=num_nodes]").fill("3")
    machines = cluster_preset("h200x8", num_nodes=3)
    found = survey(model_preset("llama3-8b"), machines)
    expect_plan(page, found, machines, Catalog("en", None, Path("locale")))


CONTRAST = """root => {
  const level = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map(v => v / 255)
      .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const numbers = colour => colour.match(/[0-9.]+/g).slice(0, 3).map(Number);
  return [...root.querySelectorAll('input, select')].map(control => {
    const style = getComputedStyle(control);
    const levels = [style.color, style.backgroundColor].map(numbers).map(level);
    return (Math.max(...levels) + 0.05) / (Math.min(...levels) + 0.05);
  });
}"""


@pytest.mark.parametrize(("theme", "ink"), [("light", "#24292f"), ("dark", "#dfe3e8")])
def test_controls_can_be_read_in_both_themes(page: Page, theme: str, ink: str) -> None:
    show(page, theme=theme)
    page.add_style_tag(content=f"main {{ color: {ink}; }}")
    ratios = page.locator(".fs-planner").evaluate(CONTRAST)
    assert len(ratios) == 18
    assert min(ratios) >= 4.5


def test_a_phone_needs_no_sideways_scrolling_of_the_page(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 780})
    show(page)
    page.locator(".fs-sizes summary").click()
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 360
